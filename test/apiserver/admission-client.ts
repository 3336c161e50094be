/** The client certificate that the API server shows to webhooks, as docs/certificates.md has it configured. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificateAuthority } from "../controlplane/certificates.ts";

export interface AdmissionClient {
  /** For kube-apiserver. */
  readonly apiServerArgs: readonly string[];
  /** For `hookpolicy run`. */
  readonly flags: Readonly<Record<string, string>>;
  readonly remove: () => Promise<void>;
}

const COMMON_NAME = "kube-apiserver";

export async function createAdmissionClient(): Promise<AdmissionClient> {
  const folder = await mkdtemp(join(tmpdir(), "hookpolicy-admission-"));
  const put = async (name: string, content: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  };
  const authority = await createCertificateAuthority("webhook clients");
  const pair = await authority.issue({ commonName: COMMON_NAME });
  const [certificate, key, ca] = [
    await put("tls.crt", pair.certificate),
    await put("tls.key", pair.key),
    await put("ca.crt", authority.certificate),
  ];
  const user = { "client-certificate": certificate, "client-key": key };
  const kubeconfig = await put(
    "kubeconfig.json",
    JSON.stringify({ apiVersion: "v1", kind: "Config", users: [{ name: "*", user }] }),
  );
  const configuration = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "WebhookAdmissionConfiguration",
    kubeConfigFile: kubeconfig,
  };
  const plugins = [{ name: "ValidatingAdmissionWebhook", configuration }];
  const config = await put(
    "admission.json",
    JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration", plugins }),
  );
  return {
    apiServerArgs: [`--admission-control-config-file=${config}`],
    flags: { "admission-client-ca-file": ca, "admission-client-cn": COMMON_NAME },
    remove: async () => await rm(folder, { recursive: true, force: true }),
  };
}
