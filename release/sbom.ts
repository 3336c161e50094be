/** The bill of materials from the lock file, in npm's own words. */

import { createHash } from "node:crypto";

/** What is changed of CycloneDX 1.5. */
interface CycloneDx {
  readonly serialNumber?: string;
  readonly metadata: { readonly component: object };
  readonly components: readonly { readonly "bom-ref": string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

export interface About {
  readonly name: string;
  /** Of the commit. */
  readonly time: string;
  /** name@version of what is shipped: npm 11 with --omit=dev leaves out what a tool for development needs, too. */
  readonly shipped: ReadonlySet<string>;
}

/**
 * The same bytes for the same commit. `printed` by `npm sbom --sbom-format cyclonedx`, which makes up a number, asks the
 * clock, and names the program after its folder.
 */
export function reproducibleSbom(printed: string, { name, time, shipped }: About): string {
  const sbom: CycloneDx = JSON.parse(printed);
  const [root] = sbom.dependencies;
  const isShipped = (ref: string): boolean => ref === root?.ref || shipped.has(ref);
  const bom = {
    ...sbom,
    metadata: {
      ...sbom.metadata,
      timestamp: new Date(time).toISOString(),
      component: { ...sbom.metadata.component, type: "application", name },
    },
    components: sbom.components.filter((component) => isShipped(component["bom-ref"])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => isShipped(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isShipped) })),
  };
  const hash = createHash("sha256")
    .update(JSON.stringify({ ...bom, serialNumber: undefined }))
    .digest("hex");
  return `${JSON.stringify({ ...bom, serialNumber: `urn:uuid:${uuid(hash)}` }, undefined, 2)}\n`;
}

/** RFC 9562, version 8: whatever one likes, here a hash. */
function uuid(hash: string): string {
  const variant = ((parseInt(hash.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `${variant}${hash.slice(18, 20)}`,
    hash.slice(20, 32),
  ].join("-");
}
