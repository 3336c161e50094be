/** Checks the names of objects, and finds what YAML reads as another type than text, and the API server accepts only as text: version: 1.34, ring: 1. */

import { DNS_LABEL, DNS_SUBDOMAIN, LABEL_LETTERS } from "../../lib/dns-names.ts";
import { fieldsOf, isFields } from "../../lib/fields.ts";
import { found } from "../../lib/quoted-value.ts";
import { wrongType } from "../../policy/validation/field-message.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { RENDER_FIRST } from "../files/yaml-mistake.ts";
import { isCluster, isNamespace, type RawObject } from "./kinds.ts";

const TEXT = { type: "string" };

const METADATA = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
] as const;

/** Of the metadata, and of the topology of a Cluster. */
export function textErrors(object: RawObject): readonly FieldError[] {
  const metadata = fieldsOf(object["metadata"]);
  const topology = fieldsOf(fieldsOf(object["spec"])["topology"]);
  return [
    ...(isCluster(object) || isNamespace(object) ? misplaced(object) : []),
    ...METADATA.flatMap((field) => textError(`metadata.${field}`, metadata[field])),
    ...["labels", "annotations"].flatMap((field) => mapErrors(`metadata.${field}`, metadata[field])),
    ...(isCluster(object)
      ? [
          ...["version", "class"].flatMap((field) => textError(`spec.topology.${field}`, topology[field])),
          ...textError("spec.topology.classRef.name", fieldsOf(topology["classRef"])["name"]),
        ]
      : []),
  ];
}

/** The API server drops them, and no selector sees them. */
function misplaced(object: RawObject): readonly FieldError[] {
  return ["labels", "annotations"]
    .filter((field) => object[field] !== undefined)
    .map((field) => ({ path: field, message: `unknown field "${field}": it belongs in metadata` }));
}

function textError(path: string, value: unknown): readonly FieldError[] {
  const isText = typeof value === "string" || value === undefined || value === null;
  return isText ? [] : [{ path, message: wrongType(value, TEXT) }];
}

function mapErrors(path: string, values: unknown): readonly FieldError[] {
  if (values === undefined || values === null) return [];
  if (!isFields(values)) return [{ path, message: `found ${found(values)}, expected an object` }];
  return Object.entries(values).flatMap(([key, value]) => textError(`${path}[${key}]`, value));
}

/** `of`: "a namespace". Names of namespaces have no dots. */
export function nameProblem(name: unknown, of: string, maxLength: number): string | undefined {
  const pattern = maxLength > LABEL_LETTERS ? DNS_SUBDOMAIN : DNS_LABEL;
  const dots = maxLength > LABEL_LETTERS ? ", '.'" : "";
  if (typeof name !== "string") return templateProblem(name) ?? wrongType(name, TEXT);
  if (pattern.test(name) && name.length <= maxLength) return undefined;
  const expected = `expected the name of ${of}: lower-case letters, digits${dots} and '-', at most ${maxLength}`;
  return templateProblem(name) ?? `found ${found(name)}, ${expected}`;
}

/** `undefined`: it is not a template. */
export function templateProblem(value: unknown): string | undefined {
  if (typeof value === "string" && /\{\{|\$\{|\$\(|<[^>]*>/.test(value))
    return `found ${found(value)}, which is a template: ${RENDER_FIRST}`;
  return isTemplate(value) ? `found {{ … }}, which is a template: ${RENDER_FIRST}` : undefined;
}

/** YAML reads {{ .Values.team }} as a map whose key is a map. */
export function isTemplate(value: unknown): boolean {
  return (
    isFields(value) && Object.keys(value).some((key) => key.startsWith("{") || key === "[object Object]")
  );
}
