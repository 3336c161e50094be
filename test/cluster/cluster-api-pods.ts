/** Cluster API's own manifests on the nodes, with certificates of our own in place of cert-manager. */

import { clusterApiBinaries } from "../controlplane/binaries.ts";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { isRolledOut } from "./cluster.ts";
import { clusterApiImage } from "./images.ts";

const NAMESPACE = "capi-system";
const SERVICE = `capi-webhook-service.${NAMESPACE}.svc`;
const CERTIFICATE_KINDS = new Set(["Certificate", "Issuer"]);
/** As `clusterctl` fills them in; all others have defaults. */
const VARIABLES: Readonly<Record<string, string>> = { CLUSTER_TOPOLOGY: "true", EXP_RUNTIME_SDK: "true" };

/** Its images are on the nodes. On the first node, so that the second can be drained and cut. */
export async function installClusterApiPods(cluster: ControlPlane): Promise<void> {
  const { manifests } = await clusterApiBinaries();
  const { tag } = await clusterApiImage();
  const text = JSON.stringify(manifests).replaceAll(
    /\$\{(\w+):=([^}]*)\}/g,
    (_, name: string, fallback: string) => VARIABLES[name] ?? fallback,
  );
  const { certificate, key } = await cluster.authority.issue({ commonName: "capi", names: [SERVICE] });
  const objects = (JSON.parse(text) as readonly KubeObject[])
    .filter(({ kind }) => !CERTIFICATE_KINDS.has(kind))
    .map((object) => withAuthority(object, cluster.authority.caBundle))
    .map((object) => (object.kind === "Deployment" ? onFirstNode(object, tag) : object));
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { name: "capi-webhook-service-cert", namespace: NAMESPACE },
    stringData: { "tls.crt": certificate, "tls.key": key, "ca.crt": cluster.authority.certificate },
  };
  const first = (kind: string): KubeObject[] => objects.filter((object) => object.kind === kind);
  await cluster.apply(first("Namespace"));
  await cluster.createAll(first("CustomResourceDefinition"));
  await cluster.createAll([
    secret,
    ...objects.filter(({ kind }) => kind !== "Namespace" && kind !== "CustomResourceDefinition"),
  ]);
  await isRolledOut(cluster, NAMESPACE, "capi-controller-manager");
}

function withAuthority(object: KubeObject, caBundle: string): KubeObject {
  const copy = structuredClone(object);
  for (const webhook of copy["webhooks"] ?? []) webhook.clientConfig.caBundle = caBundle;
  const conversion = copy["spec"]?.conversion?.webhook;
  if (conversion !== undefined) conversion.clientConfig.caBundle = caBundle;
  return copy;
}

function onFirstNode(deployment: KubeObject, image: string): KubeObject {
  const copy = structuredClone(deployment);
  const { spec } = copy["spec"].template;
  const [container] = spec.containers;
  // On a busy machine kubelet would end it: its liveness is not what is tested here.
  Object.assign(container, { image, imagePullPolicy: "IfNotPresent", livenessProbe: undefined });
  spec.nodeSelector = { "kubernetes.io/hostname": "n1" };
  return copy;
}
