/** HookPolicy and what it needs on a control plane without nodes, so that `hookpolicy doctor` finds nothing wrong. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type KubeObject, objectsOf } from "../controlplane/client.ts";
import { FEATURE_GATES, localized } from "../controlplane/cluster-api.ts";
import { clusterWebhook } from "../controlplane/cluster-webhook.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { MANAGER, managerDeployment, OPERATOR, setAvailable } from "../controlplane/deployments.ts";
import { type ExtensionHandler, registerExtension } from "../controlplane/extension.ts";
import { NAMESPACE, type Operator } from "../controlplane/operator.ts";

const MANIFESTS = join(import.meta.dirname, "../../manifests");
const SECRET = "hookpolicy-webhook-service-cert";

/** The operator's serving certificate, where the shipped installation keeps it. */
export async function keepCertificate(cp: ControlPlane, { certDir }: Operator): Promise<void> {
  const read = async (file: string): Promise<string> => await readFile(join(certDir, file), "utf8");
  await cp.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: NAMESPACE, name: SECRET },
    type: "kubernetes.io/tls",
    stringData: {
      "ca.crt": cp.authority.certificate,
      "tls.crt": await read("tls.crt"),
      "tls.key": await read("tls.key"),
    },
  });
}

/**
 * Both webhooks, by URL, because kube-apiserver reaches no Service here; and the Deployments that others read, with one
 * replica each, as there is one process each.
 */
export async function installTheRest(
  cp: ControlPlane,
  { ports }: Operator,
  clusterApi: string,
): Promise<void> {
  const shipped = objectsOf(await cp.kubectl("kustomize", MANIFESTS));
  const ofKind = (wanted: string): KubeObject[] => shipped.filter(({ kind }) => kind === wanted);
  const { caBundle } = cp.authority;
  await cp.apply([
    ...localized(ofKind("ValidatingWebhookConfiguration"), ports.admission, caBundle),
    await clusterWebhook(ports.admission, caBundle),
    ...ofKind(OPERATOR.kind).map((each) => ({ ...each, spec: { ...each["spec"], replicas: 1 } })),
    managerDeployment(clusterApi, FEATURE_GATES),
  ]);
  for (const ref of [OPERATOR, MANAGER]) await setAvailable(cp, ref, 1);
}

/** Cluster API copies the authority from the Secret, as it does for the shipped ExtensionConfig. */
export async function register(cp: ControlPlane, { url }: Operator): Promise<readonly ExtensionHandler[]> {
  const annotations = { "runtime.cluster.x-k8s.io/inject-ca-from-secret": `${NAMESPACE}/${SECRET}` };
  return await registerExtension(cp, { name: "hookpolicy", url, annotations });
}
