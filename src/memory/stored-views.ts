/**
 * Stored objects as memory keeps them: policies without labels, annotations, managedFields and other fields that it does not
 * use, and Clusters with compressed variables. Objects that are too large for their namespace's share leave a stub.
 */

import { deflateRawSync, inflateRawSync } from "node:zlib";
import {
  type ClusterHookPolicy,
  GROUP,
  type HookOverride,
  type HookPolicy,
  type HookRollout,
  type RuleSpec,
  CRD_VERSION,
} from "../api/hook-policy.ts";
import { isFields, listOf } from "../lib/fields.ts";
import type { Cluster } from "../api/meta.ts";
import { packedVariables, setPackedVariables, viewIdentity } from "../views/cluster.ts";
import { MAX_PATTERN_WEIGHT, patternWeight } from "../policy/cel/cel-text.ts";
import { namesAccount } from "../policy/tasks/compile-task.ts";
import { isExpressionField } from "../policy/tasks/template-text.ts";
import { stubMetadata } from "../views/too-large.ts";
import type { PolicyKind } from "../policy/policy-ref.ts";
import type { PolicyObject } from "./policy-set.ts";

/** As read, unchecked. */
export interface StoredObject {
  readonly metadata?: unknown;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export function storedPolicy(kind: PolicyKind, raw: StoredObject): PolicyObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compilePolicy checks the spec
  return view(kind, raw) as HookPolicy | ClusterHookPolicy;
}

export function storedRollout(raw: StoredObject): HookRollout {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileRollout checks the spec
  return view("HookRollout", raw) as HookRollout;
}

export function storedOverride(raw: StoredObject): HookOverride {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileOverride checks the spec
  return view("HookOverride", raw) as HookOverride;
}

function view(kind: string, { metadata, spec, status }: StoredObject): object {
  return { apiVersion: `${GROUP}/${CRD_VERSION}`, kind, metadata: viewIdentity(metadata), spec, status };
}

/**
 * Keeps what the policy says of itself: that it only audits, that it denies at admission, that it may have tasks, and its
 * conditions. Of its rows one is kept, so that a status that still shows rows is seen to differ.
 */
export function stubPolicy(policy: PolicyObject): PolicyObject {
  const { metadata, spec, status } = policy;
  const denies = listOf(isFields(spec) ? spec.rules : undefined).some(
    (rule) => isFields(rule) && !["Warn", "None", undefined, null].some((mild) => mild === rule["admission"]),
  );
  const { decisions, recent, ...rest } = status ?? {};
  const stub = {
    ...policy,
    tooLarge: true as const,
    metadata: stubMetadata(metadata),
    spec: {
      ...(isFields(spec) && spec.mode === "Audit" && { mode: spec.mode }),
      ...(namesAccount(spec) && { serviceAccountName: "" }),
      rules: denies ? [DENYING] : [],
    },
    ...(status !== undefined && {
      status: {
        ...rest,
        ...(decisions !== undefined && { decisions: decisions.slice(0, 1) }),
        ...(recent !== undefined && { recent: recent.slice(0, 1) }),
      },
    }),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compilePolicy knows stubs
  return stub as unknown as PolicyObject;
}

const DENYING: RuleSpec = { name: "", hooks: [], admission: "Deny" };

export function stubOverride(override: HookOverride): HookOverride {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileOverride knows stubs
  return { ...override, tooLarge: true, metadata: stubMetadata(override.metadata), spec: {} } as HookOverride;
}

/** Keeps that it only audits; the status is the rollout's memory of what runs. */
export function stubRollout(rollout: HookRollout): HookRollout {
  const { metadata, spec } = rollout;
  const operation = isFields(spec) ? spec.operation : undefined;
  const audits = isFields(spec) && spec.mode === "Audit" && { mode: spec.mode };
  const kept = { ...(operation !== undefined && { operation }), ...audits };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileRollout knows stubs
  return {
    ...rollout,
    tooLarge: true,
    metadata: stubMetadata(metadata),
    spec: kept,
  } as unknown as HookRollout;
}

/** In characters; compressing less gains nothing. */
const MIN_LENGTH = 512;
/** One buffer for all Clusters. Thousands of short-lived ones would leave holes that the C library does not give back. */
const gathered = Buffer.allocUnsafeSlow(192 * 1024);
/** Enough for most Clusters; by default each takes 16 KiB for a moment. */
const PACKED_BYTES = 4096;
/**
 * A compression needs 96 KiB with this window (16 KiB) and this memory level, and 256 KiB by default, which take longer to get
 * from the kernel than the compression of 26 KB itself: twice as fast so, and no larger.
 */
const OPTIONS = { level: 1, windowBits: 14, memLevel: 6, chunkSize: PACKED_BYTES };

/** The same Cluster, whose variables are unpacked on each read. They take most of memory, and few policies look at one. */
export function compactCluster(cluster: Cluster): Cluster {
  if (cluster.topology === undefined || packedVariables(cluster.topology) !== undefined) return cluster;
  const { variables = "", ...topology } = cluster.topology;
  if (variables.length < MIN_LENGTH) return cluster;
  // A string, because the garbage collector scans all of memory once many buffers have come and gone.
  const packed = deflateRawSync(utf8(variables), OPTIONS).toString("latin1");
  const compact = {
    ...topology,
    get variables(): string {
      return inflateRawSync(Buffer.from(packed, "latin1")).toString();
    },
  };
  // Not enumerable: a comparison of two Clusters covers the properties that both have.
  Object.defineProperty(compact, "variablesLength", { value: variables.length });
  setPackedVariables(compact, packed);
  return { ...cluster, topology: compact };
}

/** Valid until the next call. A character takes three bytes at most. */
function utf8(text: string): Buffer {
  if (3 * text.length > gathered.length) return Buffer.from(text);
  return gathered.subarray(0, gathered.write(text));
}

/** Measured: the plan of an expression, by its characters and by the parts of its patterns (RE2). */
const [BYTES_PER_LETTER, BYTES_PER_PART] = [350, 450];
/** A pattern can be written so that its text does not show its parts. */
const ESCAPE = /\\[xXuU0-7]/;

/** Estimates what the expressions of a spec, valid or not, take in addition to it once they are compiled. */
export function expressionBytes(spec: unknown, name = ""): number {
  if (typeof spec === "string") return isExpressionField(name, spec) ? planBytes(spec) : 0;
  if (typeof spec !== "object" || spec === null) return 0;
  return Object.entries(spec).reduce((sum, [key, value]) => sum + expressionBytes(value, key), 0);
}

function planBytes(source: string): number {
  const bytes = source.length * BYTES_PER_LETTER;
  if (!source.includes("matches")) return bytes;
  const weight = ESCAPE.test(source) ? MAX_PATTERN_WEIGHT : patternWeight(source);
  return bytes + Math.min(weight, MAX_PATTERN_WEIGHT) * BYTES_PER_PART;
}
