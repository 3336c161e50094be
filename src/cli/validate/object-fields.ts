/** Checks fields outside the spec, as the API server does for kubectl (fieldValidation=Strict). */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { isFields } from "../../lib/fields.ts";
import { CRD_SCHEMAS } from "../../api/schemas.gen.ts";
import { didYouMean, found } from "../../policy/validation/field-message.ts";
import { type FieldError, placesIn } from "../../policy/validation/schema.ts";
import type { Place } from "../../policy/validation/schema-rules.ts";
import type { OwnKind, RawObject } from "../fleet/kinds.ts";

/** The fields of ObjectMeta (apimachinery, meta/v1). An operator that is older than a field must not reject it. */
const METADATA = [
  "name",
  "generateName",
  "namespace",
  "selfLink",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "ownerReferences",
  "finalizers",
  "managedFields",
];

export function metadataErrors({ metadata }: RawObject): readonly FieldError[] {
  if (!isFields(metadata)) return [];
  const texts = ["labels", "annotations"].flatMap((field) =>
    textErrors(`metadata.${field}`, metadata[field]),
  );
  return [...unknownFields("metadata", Object.keys(metadata), METADATA), ...texts];
}

function textErrors(path: string, values: unknown): readonly FieldError[] {
  if (values === undefined || values === null) return [];
  if (!isFields(values)) return [{ path, message: `found ${found(values)}, expected an object` }];
  return Object.entries(values)
    .filter(([, value]) => typeof value !== "string" && value !== null)
    .map(([key, value]) => ({
      path: `${path}[${key}]`,
      message: `found ${found(value)}, expected a string: write it in quotes, "${String(value)}"`,
    }));
}

/** Reports unknown fields only, because the operator writes the values. */
export function statusErrors(kind: OwnKind, { status }: RawObject): readonly FieldError[] {
  const schema: CrdSchema | undefined = CRD_SCHEMAS[kind].properties?.["status"];
  return schema === undefined ? [] : unknownWithin({ schema, value: status, path: "status" });
}

function unknownWithin(place: Place): readonly FieldError[] {
  const { schema, value, path } = place;
  const isKnown = isFields(value) && schema.properties !== undefined;
  const unknown = isKnown ? unknownFields(path, Object.keys(value), Object.keys(schema.properties)) : [];
  return [...unknown, ...placesIn(place).flatMap(unknownWithin)];
}

function unknownFields(
  path: string,
  given: readonly string[],
  known: readonly string[],
): readonly FieldError[] {
  return given
    .filter((field) => !known.includes(field))
    .map((field) => ({ path: `${path}.${field}`, message: `unknown field${didYouMean(field, known)}` }));
}
