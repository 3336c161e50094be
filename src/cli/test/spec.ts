/** The fields of a HookPolicyTest; suiteschema.ts describes them. */

import type { HookCall } from "../../api/runtimehooks.ts";
import type { Verdict } from "../../policy/decision.ts";
import type { RawObject } from "../fleet/kinds.ts";

export const SECTIONS = ["policies", "clusters", "namespaces", "objects", "overrides"] as const;
export type Section = (typeof SECTIONS)[number];
/** Paths and inline objects. */
export type Sources = readonly (string | RawObject)[];

export interface SuiteObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: SuiteSpec;
}

export interface SuiteSpec extends Readonly<
  Partial<Record<Exclude<Section, "policies" | "clusters">, Sources>>
> {
  readonly capiVersion?: string;
  readonly at: string;
  readonly policies: Sources;
  readonly clusters: Sources;
  readonly asked?: readonly AskedSpec[];
  readonly steps: readonly StepSpec[];
}

export interface CallSpec extends HookCall {
  /** "namespace/name" */
  readonly cluster: string;
}

export interface AskedSpec extends CallSpec {
  readonly firstAsked: string;
  readonly timers?: readonly TimersSpec[];
}

export interface TimersSpec {
  readonly policy: string;
  readonly rule: string;
  readonly blockedSince?: string;
  readonly gatesMetSince?: string;
}

export interface StepSpec {
  readonly name?: string;
  readonly at?: string;
  readonly advance?: string;
  readonly create?: Sources;
  readonly patch?: readonly RawObject[];
  readonly delete?: readonly ObjectRefSpec[];
  readonly call?: CallSpec;
  readonly expect?: ExpectSpec;
  readonly timeline?: TimelineSpec;
}

export interface ObjectRefSpec {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface ExpectSpec {
  readonly verdict?: Verdict;
  readonly policy?: string;
  readonly rule?: string;
  readonly gate?: string;
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
  readonly message?: string;
  readonly nextChange?: string;
}

export interface TimelineSpec extends CallSpec {
  readonly to: string;
  readonly expect: readonly SpanSpec[];
}

export interface SpanSpec {
  readonly verdict: Verdict;
  readonly from?: string;
  readonly to?: string;
}
