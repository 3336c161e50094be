/** metav1.LabelSelector, compiled once per policy generation. */

import type { LabelSelector, LabelSelectorRequirement, StoredNamespace } from "./meta.ts";

export type Labels = Readonly<Record<string, string>> | undefined;
export type LabelMatcher = (labels: Labels) => boolean;

/** Own properties only: a label named "constructor" must not match every object. */
export function lookup(map: Labels, key: string): string | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** It reads no labels, so it also selects objects of which the labels are unknown. */
export const SELECTS_ALL: LabelMatcher = () => true;

/** An absent or empty selector matches everything (apimachinery: metav1.LabelSelectorAsSelector of `{}`). */
export function compileSelector(selector: LabelSelector | undefined): LabelMatcher {
  const equals = Object.entries(selector?.matchLabels ?? {});
  const requirements = (selector?.matchExpressions ?? []).map(compileRequirement);
  if (equals.length + requirements.length === 0) return SELECTS_ALL;
  return (labels) =>
    equals.every(([key, value]) => lookup(labels, key) === value) &&
    requirements.every((matches) => matches(labels));
}

export type Selected = "yes" | "no" | "unknown";

export function selected(selects: LabelMatcher, labels: Labels | "unknown"): Selected {
  if (labels === "unknown") return selects === SELECTS_ALL ? "yes" : "unknown";
  return selects(labels) ? "yes" : "no";
}

export function labelsOfNamespace(namespace: StoredNamespace | undefined): Labels | "unknown" {
  if (namespace === undefined) return "unknown";
  return namespace.tooLarge === true ? (namespace.knownLabels ?? "unknown") : namespace.metadata.labels;
}

function compileRequirement({ key, operator, values }: LabelSelectorRequirement): LabelMatcher {
  const wanted = new Set<string | undefined>(values);
  switch (operator) {
    case "In":
      return (labels) => wanted.has(lookup(labels, key));
    case "NotIn":
      // An object without the label matches, as in Kubernetes.
      return (labels) => !wanted.has(lookup(labels, key));
    case "Exists":
      return (labels) => lookup(labels, key) !== undefined;
    case "DoesNotExist":
      return (labels) => lookup(labels, key) === undefined;
  }
}

/** "env=staging, tier in (a, b), !canary": as `kubectl get -l` takes it; "" selects everything. */
export function describeSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equals = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...equals, ...matchExpressions.map(describeRequirement)].join(", ");
}

function describeRequirement({ key, operator, values = [] }: LabelSelectorRequirement): string {
  switch (operator) {
    case "In":
      return `${key} in (${values.join(", ")})`;
    case "NotIn":
      return `${key} notin (${values.join(", ")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
  }
}
