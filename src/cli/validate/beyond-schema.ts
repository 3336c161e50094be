/** Checks what the schemas of the CRDs do not cover: metadata, fields of the status, null, and the templates of tasks. */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { CRD_SCHEMAS } from "../../api/crd-schemas.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { fieldsOf, isFields, listOf } from "../../lib/fields.ts";
import { gatesIn } from "../../policy/gates/gates.ts";
import { placedValues } from "../../policy/tasks/template.ts";
import { wrongType } from "../../policy/validation/field-message.ts";
import { type FieldError, placesIn } from "../../policy/validation/schema.ts";
import type { FieldPlace } from "../../policy/validation/schema-rules.ts";
import type { Semantics } from "../../policy/validation/semantics.ts";
import { groupOf, type OwnKind, ownKind, type RawObject } from "../fleet/kinds.ts";
import { nameProblem, textErrors } from "../fleet/text-fields.ts";

const NAMESPACE = "metadata.namespace";

/** In a wrong namespace, a policy protects other Clusters, or none. */
export function namespaceFindings(object: RawObject): Semantics {
  const kind = ownKind(object);
  const metadata = object["metadata"];
  if (kind === undefined || !isFields(metadata)) return { errors: [], warnings: [] };
  const namespace = metadata["namespace"];
  if (namespace === undefined || namespace === null || namespace === "") {
    const missing = { path: NAMESPACE, id: "namespace-missing", message: MISSING };
    return { errors: [], warnings: kind === "HookPolicy" ? [missing] : [] };
  }
  const problem = nameProblem(namespace, "a namespace", 63);
  if (problem !== undefined) return { errors: [{ path: NAMESPACE, message: problem }], warnings: [] };
  const message = `a ${kind} has no namespace, and the API server drops it: it is about what its spec selects, in every namespace. Remove it`;
  const ignored = { path: NAMESPACE, id: "namespace-ignored", message };
  return { errors: [], warnings: kind === "HookPolicy" ? [] : [ignored] };
}

const MISSING =
  "is missing, so that kubectl chooses it (-n, or its context); here it is taken as default. Write the namespace whose Clusters are meant";

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
  const texts = textErrors(object).filter(({ path }) => path !== NAMESPACE);
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

/** `value: null` in a gate: the API server drops it, and any value is then an approval. */
export function nullValues({ spec }: RawObject): readonly FieldError[] {
  return gatesIn(spec).flatMap(({ value: gate, path }) =>
    Object.entries(fieldsOf(gate)).flatMap(([kind, settings]) =>
      ["value", "valueFrom"]
        .filter((field) => fieldsOf(settings)[field] === null)
        .map((field) => ({ path: `${path}.${kind}.${field}`, message: NULL_MESSAGE })),
    ),
  );
}

const NULL_MESSAGE =
  "found null, which means any value: write the value in quotes, or remove the field if every value is meant";

const GROUPS = ["", "apps", "batch", "networking.k8s.io", "rbac.authorization.k8s.io"];

/** Each value below is a text. */
export const TEXT_MAPS = `
  annotations binaryData data labels matchLabels nodeSelector selector options volumeAttributes
`
  .trim()
  .split(/\s+/);

/** The fields that are texts, or lists of texts, wherever these kinds have them. */
export const TEXTS = `
  args command containerName image imagePullPolicy name value workingDir claimName fsType key medium
  mountPath path secretName server subPath subPathExpr driver storageClassName volumeMode volumeName
  accessModes devicePath fieldPath resource action effect operator topologyKey whenUnsatisfiable
  namespace namespaces level completionMode concurrencyPolicy podReplacementPolicy schedule timeZone
  restartPolicy dnsPolicy host hostname nodeName priorityClassName runtimeClassName schedulerName
  serviceAccount serviceAccountName subdomain hostnames ip nameservers searches audience apiGroup
  apiGroups resourceNames resources verbs nonResourceURLs user role type clusterIP externalName
  protocol sessionAffinity cidr except policyTypes add drop
`
  .trim()
  .split(/\s+/);

/** Of rules that may have other errors. */
export function coreTextErrors(rules: readonly unknown[]): readonly FieldError[] {
  return rules.flatMap((rule, index) =>
    listOf(fieldsOf(rule)["tasks"]).flatMap((task, at) =>
      ["create", "apply"].flatMap((verb) => {
        const { metadata: _, ...template } = fieldsOf(fieldsOf(task)[verb]);
        const path = `spec.rules[${index}].tasks[${at}].${verb}`;
        return GROUPS.includes(groupOf(template)) ? errorsIn(template, path, false) : [];
      }),
    ),
  );
}

function errorsIn(value: unknown, path: string, isText: boolean): FieldError[] {
  if (typeof value === "number" || typeof value === "boolean")
    return isText ? [{ path, message: wrongType(value, { type: "string" }) }] : [];
  const inMap = isFields(value) && TEXT_MAPS.includes(nameOf(path));
  return placedValues(value, path, []).flatMap((place) => {
    const isItem = Array.isArray(value);
    const below = isItem ? isText : inMap || TEXTS.includes(place.fields[0] ?? "");
    return errorsIn(place.value, place.path, below);
  });
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}
