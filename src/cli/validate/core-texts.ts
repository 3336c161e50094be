/** Numbers and booleans in templates of Kubernetes' own kinds where the API server takes only texts: `data: { port: 8080 }`. */

import { fieldsOf, isFields, listOf } from "../../lib/fields.ts";
import { placesIn } from "../../policy/tasks/template.ts";
import { wrongType } from "../../policy/validation/field-message.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { groupOf } from "../fleet/kinds.ts";

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
    return isText ? [{ path, message: wrongType(value, "string") }] : [];
  const inMap = isFields(value) && TEXT_MAPS.includes(nameOf(path));
  return placesIn(value, path, []).flatMap((place) => {
    const isItem = Array.isArray(value);
    const below = isItem ? isText : inMap || TEXTS.includes(place.fields[0] ?? "");
    return errorsIn(place.value, place.path, below);
  });
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}
