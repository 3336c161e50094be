/** The Clusters that are asked about, and what is known of each: when it may go on, and the copies that callers have. */

import type { HookName } from "../../src/api/runtimehooks.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { FIRST_VERSION, NEXT_VERSION } from "../../test/controlplane/lab.ts";
import { requestOf } from "../fleet/requests.ts";
import { type Facts, mayGo, Timeline } from "./expectation.ts";

export interface Subject {
  readonly namespace: string;
  readonly name: string;
  readonly timeline: Timeline;
  facts: Facts;
  /** Bodies of requests: of the newest copy, and of the one before, which Cluster API's cache may still have. */
  bodies: readonly [newest: string, older: string];
}

export function newSubject(object: KubeObject, facts: Facts): Subject {
  const { namespace = "", name } = object.metadata;
  const body = bodyOf(object);
  const subject: Subject = { namespace, name, timeline: new Timeline(), facts, bodies: [body, body] };
  assume([subject], facts);
  return subject;
}

/** From now on these facts are so. */
export function assume(subjects: readonly Subject[], facts: Partial<Facts>): void {
  const at = performance.now();
  for (const subject of subjects) {
    subject.facts = { ...subject.facts, ...facts };
    subject.timeline.set(at, mayGo(subject.facts));
  }
}

export function uncertain(facts: Partial<Facts>): Partial<Facts> {
  return Object.fromEntries(Object.keys(facts).map((fact) => [fact, "Maybe"]));
}

export function seen(subject: Subject, object: KubeObject): void {
  subject.bodies = [bodyOf(object), subject.bodies[0]];
}

/** Good for every hook. */
function bodyOf(cluster: KubeObject): string {
  return requestOf(cluster, {
    fromKubernetesVersion: FIRST_VERSION,
    toKubernetesVersion: NEXT_VERSION,
    kubernetesVersion: NEXT_VERSION,
  });
}

export const DEFAULT_HOOK: HookName = "BeforeClusterUpgrade";
