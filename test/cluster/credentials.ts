/** The certificates, keys and kubeconfigs of a cluster's parts, as kubeadm would make them. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type CertificateAuthority,
  type CertificateRequest,
  serviceAccountKey,
} from "../controlplane/certificates.ts";
import { ADMIN_TOKEN } from "../controlplane/control-plane.ts";
import { API_SERVER, API_SERVER_IP, API_SERVER_IPV6, nodeIp } from "./addresses.ts";

const SERVICE_NAMES = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/** Into a folder that every node sees. */
export async function writeCredentials(
  folder: string,
  authority: CertificateAuthority,
  nodes: number,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const secret = async (name: string, content: string): Promise<void> =>
    await writeFile(join(folder, name), content, { mode: 0o600 });
  await secret("ca.crt", authority.certificate);
  await secret("ca.key", authority.key);
  await secret("sa.key", serviceAccountKey());
  await secret("tokens.csv", `${ADMIN_TOKEN},admin,admin,system:masters\n`);
  const names = [API_SERVER_IP, API_SERVER_IPV6, "10.96.0.1", "127.0.0.1", "localhost", ...SERVICE_NAMES];
  for (const [name, request] of requests(names, nodes)) {
    const { certificate, key } = await authority.issue(request);
    await secret(`${name}.crt`, certificate);
    await secret(`${name}.key`, key);
    await secret(`${name}.kubeconfig`, kubeconfig(folder, name));
  }
}

function requests(serverNames: readonly string[], nodes: number): (readonly [string, CertificateRequest])[] {
  const nodeRequests = Array.from({ length: nodes }, (_, index) => {
    const name = `n${index + 1}`;
    const organizations = ["system:nodes"];
    const names = [nodeIp(index + 1), name];
    return [name, { commonName: `system:node:${name}`, organizations, names }] as const;
  });
  return [
    ["apiserver", { commonName: "kube-apiserver", names: serverNames }],
    ["admin", { commonName: "admin", organizations: ["system:masters"] }],
    ["controller-manager", { commonName: "system:kube-controller-manager" }],
    ["scheduler", { commonName: "system:kube-scheduler" }],
    ["proxy", { commonName: "system:kube-proxy" }],
    ...nodeRequests,
  ];
}

/** JSON is YAML. */
function kubeconfig(folder: string, name: string): string {
  const file = (suffix: string): string => join(folder, `${name}.${suffix}`);
  const cluster = { server: API_SERVER, "certificate-authority": join(folder, "ca.crt") };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "test", cluster }],
    users: [{ name, user: { "client-certificate": file("crt"), "client-key": file("key") } }],
    contexts: [{ name: "test", context: { cluster: "test", user: name } }],
  });
}
