/** The Clusters that are asked about: when each may be released, and the copies of it that callers have. */

import type { KubeObject } from "../../test/controlplane/client.ts";
import { FIRST_VERSION, NEXT_VERSION } from "../../test/controlplane/lab.ts";
import { requestOf } from "../fleet/requests.ts";
import { type Facts, mayGo, Timeline } from "./expectation.ts";

export interface Subject {
  readonly namespace: string;
  readonly name: string;
  readonly timeline: Timeline;
  facts: Facts;
  /** Request bodies: of the newest copy, and of the one before, which Cluster API's cache may still have. */
  bodies: readonly [newest: string, older: string];
}

export function newSubject(object: KubeObject, facts: Facts): Subject {
  const { namespace = "", name } = object.metadata;
  const body = bodyOf(object);
  const subject: Subject = { namespace, name, timeline: new Timeline(), facts, bodies: [body, body] };
  assume([subject], facts);
  return subject;
}

/** These facts are true from now on. */
export function assume(subjects: readonly Subject[], facts: Partial<Facts>): void {
  const at = performance.now();
  for (const subject of subjects) {
    subject.facts = { ...subject.facts, ...facts };
    subject.timeline.set(at, mayGo(subject.facts));
  }
}

/** The body has what the requests of all hooks need. */
export function bodyOf(cluster: KubeObject): string {
  return requestOf(cluster, {
    fromKubernetesVersion: FIRST_VERSION,
    toKubernetesVersion: NEXT_VERSION,
    kubernetesVersion: NEXT_VERSION,
  });
}
