/** Checks fields outside the spec, as the API server does for kubectl (fieldValidation=Strict). */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { isFields } from "../../lib/fields.ts";
import { CRD_SCHEMAS } from "../../api/crd-schemas.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { type FieldError, placesIn } from "../../policy/validation/schema.ts";
import type { FieldPlace } from "../../policy/validation/schema-rules.ts";
import type { OwnKind, RawObject } from "../fleet/kinds.ts";
import { textErrors } from "../fleet/text-fields.ts";

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

export function metadataErrors(object: RawObject): readonly FieldError[] {
  const { metadata } = object;
  if (!isFields(metadata)) return [];
  // The name of the namespace has a check of its own.
  const texts = textErrors(object).filter(({ path }) => path !== "metadata.namespace");
  return [...unknownFields("metadata", Object.keys(metadata), METADATA), ...texts];
}

/** Reports unknown fields only, because the operator writes the values. */
export function statusErrors(kind: OwnKind, { status }: RawObject): readonly FieldError[] {
  const schema: CrdSchema | undefined = CRD_SCHEMAS[kind].properties?.["status"];
  return schema === undefined ? [] : unknownWithin({ schema, value: status, path: "status" });
}

function unknownWithin(place: FieldPlace): readonly FieldError[] {
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
