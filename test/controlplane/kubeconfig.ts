import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface KubeconfigContent {
  readonly server: string;
  readonly caFile: string;
  readonly token: string;
  readonly namespace?: string;
}

let written = 0;

/** Every call writes a new file, so that two holders of a ServiceAccount's tokens do not share one. */
export async function writeKubeconfig(
  folder: string,
  user: string,
  content: KubeconfigContent,
): Promise<string> {
  const { server, caFile, token, namespace = "default" } = content;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "local",
    clusters: [{ name: "local", cluster: { server, "certificate-authority": caFile } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: "local", context: { cluster: "local", user, namespace } }],
  };
  const file = join(folder, `${user}-${++written}.kubeconfig`);
  await writeFile(file, JSON.stringify(config, undefined, 2), { mode: 0o600 }); // JSON is YAML
  return file;
}
