/** Statuses against the schemas of their CRDs, as the API server checks them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { parse } from "yaml";
import type { CrdSchema } from "../../../src/api/crd-schema.ts";
import { GROUP } from "../../../src/api/hook-policy.ts";
import type { Resource } from "../../../src/kube/resource.ts";

/** Why the API server would not store the status as it is, by dropping a field of it or at all; empty: it would. */
export function statusChecker({ plural }: Pick<Resource, "plural">): (status: object) => string[] {
  const path = join(import.meta.dirname, `../../../crds/${GROUP}_${plural}.yaml`);
  const { openAPIV3Schema } = parse(readFileSync(path, "utf8")).spec.versions[0].schema;
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  const fits = ajv.compile(closed(openAPIV3Schema.properties.status));
  return (status) => {
    fits(JSON.parse(JSON.stringify(status)));
    return (fits.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  };
}

/** Knows no other fields. */
function closed(schema: CrdSchema): object {
  const { properties, items } = schema;
  return {
    ...schema,
    ...(items !== undefined && { items: closed(items) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, closed(each)])),
      additionalProperties: false,
    }),
  };
}
