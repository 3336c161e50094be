/** Explains in words why a policy does not match a Cluster. */

import { isFields, withoutNulls } from "../../lib/fields.ts";
import type { LabelSelector, LabelSelectorRequirement } from "../../api/meta.ts";
import { compileSelector, type Labels, lookup } from "../../policy/selector.ts";
import type { World } from "../../policy/world.ts";
import type { RawObject } from "../fleet/kinds.ts";

/** The parts of the selectors that the Cluster or its Namespace does not match. */
export function mismatchOf(policy: RawObject | undefined, { cluster, namespace }: World): readonly string[] {
  const spec = isFields(policy?.["spec"]) ? withoutNulls(policy["spec"]) : {};
  const onCluster = unfulfilled(spec["clusterSelector"], cluster.metadata.labels);
  const onNamespace = unfulfilled(spec["namespaceSelector"], namespace?.metadata.labels);
  return [
    ...onCluster.map((text) => `clusterSelector wants ${text}`),
    ...onNamespace.map((text) => `namespaceSelector wants ${text}`),
  ];
}

function unfulfilled(selector: unknown, labels: Labels): string[] {
  if (!isFields(selector)) return [];
  const { matchLabels = {}, matchExpressions = [] }: LabelSelector = selector;
  const requirements = [
    ...Object.entries(matchLabels).map(([key, value]) => ({
      key,
      text: `label ${key}=${value}`,
      matches: compileSelector({ matchLabels: { [key]: value } }),
    })),
    ...matchExpressions.map((expression) => ({
      key: expression.key,
      text: requirementText(expression),
      matches: compileSelector({ matchExpressions: [expression] }),
    })),
  ];
  return requirements
    .filter(({ matches }) => !matches(labels))
    .map(({ key, text }) => {
      const found = lookup(labels, key);
      return `${text}, and finds ${found === undefined ? `no label ${key}` : `${key}=${found}`}`;
    });
}

function requirementText({ key, operator, values = [] }: LabelSelectorRequirement): string {
  switch (operator) {
    case "In":
      return `label ${key} in (${values.join(", ")})`;
    case "NotIn":
      return `label ${key} not in (${values.join(", ")})`;
    case "Exists":
      return `a label ${key}`;
    case "DoesNotExist":
      return `no label ${key}`;
  }
}
