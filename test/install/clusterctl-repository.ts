/** Local repositories of clusterctl: one folder per provider and version, as docs/install.md has it. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";

export class ClusterctlRepository {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(provider: string, version: string, files: Readonly<Record<string, string>>): Promise<void> {
    const folder = join(this.#folder, "repository", provider, version);
    await mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  }

  /** Nothing but its namespace: what init would install is there already. */
  async writeCore(version: string): Promise<object> {
    const core = { apiVersion: "v1", kind: "Namespace", metadata: { name: "capi-system" } };
    const [, major, minor] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
    const series = [{ major: Number(major), minor: Number(minor), contract: "v1beta2" }];
    await this.write("cluster-api", version, {
      "core-components.yaml": stringify(core),
      "metadata.yaml": stringify({
        apiVersion: "clusterctl.cluster.x-k8s.io/v1alpha3",
        kind: "Metadata",
        releaseSeries: series,
      }),
    });
    return { name: "cluster-api", type: "CoreProvider", url: this.url("cluster-api", version, "core") };
  }

  url(provider: string, version: string, type: string): string {
    return `file://${join(this.#folder, "repository", provider, version)}/${type}-components.yaml`;
  }

  /** Gives the path of clusterctl's configuration. */
  async writeConfig(providers: readonly object[]): Promise<string> {
    const file = join(this.#folder, "clusterctl.yaml");
    const never = { url: `file://${this.#folder}/no-cert-manager.yaml`, version: "v1.0.0" };
    await writeFile(file, stringify({ providers, "cert-manager": never }));
    return file;
  }
}
