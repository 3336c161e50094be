/** Calls the validating webhook as an API server does that can reach it; here none can. */

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { request as post } from "node:https";
import { text } from "node:stream/consumers";
import { CLUSTER_ADMISSION_PATH } from "../../src/admission/cluster-handler.ts";
import { ADMISSION_PATH } from "../../src/admission/review-handler.ts";
import type { KubeObject } from "../controlplane/client.ts";
import type { Lab } from "./operator-lab.ts";

/** About the creation of a HookPolicy, or a Cluster, by a person without rights; returns the AdmissionReview. */
export async function askAdmission(
  { cp, operator }: Pick<Lab, "cp" | "operator">,
  object: KubeObject,
): Promise<string> {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata;
  const [group, version] = apiVersion.split("/");
  const [path, resource] =
    kind === "Cluster" ? [CLUSTER_ADMISSION_PATH, "clusters"] : [ADMISSION_PATH, "hookpolicies"];
  const request = {
    uid: randomUUID(),
    kind: { group, version, kind },
    resource: { group, version, resource },
    operation: "CREATE",
    namespace,
    name,
    userInfo: { username: "jane", groups: ["devs"] },
    object,
  };
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
  const url = `https://127.0.0.1:${operator.ports.admission}${path}`;
  const headers = { "content-type": "application/json" };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { method: "POST", ca: cp.authority.certificate, agent: false, headers };
    post(url, options, resolve).once("error", reject).end(body);
  });
  return await text(response);
}
