/** The bill of materials from the lock file, in npm's own words. */

import { createHash } from "node:crypto";

interface CycloneDx {
  readonly serialNumber?: string;
  readonly metadata: { readonly component: object };
}

/**
 * The same bytes for the same commit. `printed` by `npm sbom --sbom-format cyclonedx`, which makes up a number, asks the
 * clock, and names the program after its folder.
 */
export function reproducibleSbom(printed: string, name: string, committedAt: string): string {
  const sbom: CycloneDx = JSON.parse(printed);
  const component = { ...sbom.metadata.component, type: "application", name };
  const metadata = { ...sbom.metadata, timestamp: new Date(committedAt).toISOString(), component };
  const dated = { ...sbom, metadata };
  const hash = createHash("sha256")
    .update(JSON.stringify({ ...dated, serialNumber: undefined }))
    .digest("hex");
  return `${JSON.stringify({ ...dated, serialNumber: `urn:uuid:${uuid(hash)}` }, undefined, 2)}\n`;
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
