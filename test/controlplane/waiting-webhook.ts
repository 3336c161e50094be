/** A webhook in which a test makes the API server wait before it stores updates of Clusters. */

import { createServer } from "node:https";
import { json } from "node:stream/consumers";
import type { KubeObject } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { CLUSTER_API } from "./lab-kinds.ts";
import { portOf } from "./ports.ts";

export interface WaitingWebhook {
  readonly stop: () => Promise<void>;
}

/** For the Clusters of one namespace. `wait` has to end within 30 s; whether it rejects does not matter. */
export async function startWaitingWebhook(
  cp: ControlPlane,
  namespace: string,
  wait: (before: KubeObject, now: KubeObject) => Promise<unknown>,
): Promise<WaitingWebhook> {
  const { certificate, key } = await cp.authority.issue({ commonName: "waiting", names: ["127.0.0.1"] });
  const server = createServer({ cert: certificate, key }, (req, res) => {
    void json(req)
      .then(async (review) => {
        const { apiVersion, kind, request } = review as KubeObject;
        const { uid, oldObject, object } = request;
        await wait(oldObject, object).catch(() => undefined);
        return { apiVersion, kind, response: { uid, allowed: true } };
      })
      .then(
        (answer) => res.end(JSON.stringify(answer)),
        () => res.destroy(),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const [group = "", version = ""] = CLUSTER_API.split("/");
  const ref = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    name: `waiting-${namespace}`,
  };
  await cp.apply({
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    metadata: { name: ref.name },
    webhooks: [
      {
        name: "waiting.example.com",
        admissionReviewVersions: ["v1"],
        clientConfig: {
          url: `https://127.0.0.1:${portOf(server)}/`,
          caBundle: Buffer.from(cp.authority.certificate).toString("base64"),
        },
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
        rules: [
          { apiGroups: [group], apiVersions: [version], operations: ["UPDATE"], resources: ["clusters"] },
        ],
        sideEffects: "None",
        timeoutSeconds: 30,
      },
    ],
  });
  return {
    stop: async () => {
      await cp.delete(ref);
      server.close();
      server.closeAllConnections();
    },
  };
}
