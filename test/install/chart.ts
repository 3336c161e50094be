/** What the chart renders without a cluster, for the tests of it. */

import assert from "node:assert/strict";
import { type KubeObject, objectsOf } from "../controlplane/client.ts";
import { CHART, helm, NAMESPACE } from "./tools.ts";

export async function template(...args: readonly string[]): Promise<readonly KubeObject[]> {
  return objectsOf(await helm("template", "hookpolicy", CHART, "--namespace", NAMESPACE, ...args));
}

export const nameOf = ({ kind, metadata: { namespace = "", name } }: KubeObject): string =>
  `${kind} ${namespace}/${name}`;

export function deploymentOf(objects: readonly KubeObject[]): KubeObject {
  const found = objects.find(({ kind }) => kind === "Deployment");
  assert.ok(found);
  return found;
}
