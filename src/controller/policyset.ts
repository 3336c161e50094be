/** The policies in memory, in stable order, and which Clusters each of them matches. */

import type { ClusterHookPolicy, DecisionRow, HookPolicy, RecentResult } from "../api/hookpolicy.ts";
import { type CompiledPolicy, demandsOf, mergeDemands, type ObjectDemand } from "../policy/policy.ts";
import type { HeldRow } from "../operations/rows.ts";
import { RecordedResults } from "./recorded.ts";
import { type Known, NOTHING_KNOWN } from "./known.ts";
import { type PolicyKind, policyName, type PolicyRef } from "../policy/policyref.ts";

export type PolicyObject = HookPolicy | ClusterHookPolicy;

/** Work queue key: "HookPolicy/team-a/protect" or "ClusterHookPolicy//freeze". */
export function policyKey(kind: PolicyKind, namespace: string | undefined, name: string): string {
  return `${kind}/${namespace ?? ""}/${name}`;
}

export function parsePolicyKey(key: string): { kind: PolicyKind; namespace?: string; name: string } {
  const [kind, namespace = "", name = ""] = key.split("/");
  return {
    kind: kind === "HookPolicy" ? "HookPolicy" : "ClusterHookPolicy",
    ...(namespace !== "" && { namespace }),
    name,
  };
}

export interface PolicyEntry {
  readonly key: string;
  object: PolicyObject;
  compiled: CompiledPolicy;
  /** When memory learnt of its spec, on a clock that never jumps, in milliseconds; before everything was read: never. */
  editedAt: number;
  /** Keys of the Clusters that it matches. */
  readonly matched: Set<string>;
  /** Keys of Clusters that it has still to be asked about. */
  rest: string[];
  /** Keys of Clusters that have still to be compared with its selectors. */
  unmatched: string[];
  /** Rows of its status that have still to be adopted. */
  rows: DecisionRow[];
  /** Rows in `held` whose forecast has still to be made, by askKey. */
  readonly unforeseen: Set<string>;
  /** Since when there have been any, on the clock of `editedAt`. */
  unforeseenSince: number;
  /** The kinds of objects that its gates look at, by objectKindKey. */
  demands: ReadonlyMap<string, ObjectDemand>;
  /** What it holds, would hold or cannot evaluate, by askKey. */
  readonly held: Map<string, HeldRow>;
  /** Operations that it has held and that have not ended, by askKey: who was told of a hold is told of its end. */
  readonly hasHeld: Set<string>;
  /** What this replica knew when it last computed the status. */
  known: Known;
  /** The last results, for the status; merging them again changes nothing. */
  recent: readonly RecentResult[];
  readonly recorded: RecordedResults;
  /** The step that each running deadline has passed, 0 before the first: by askKey, then rule. */
  readonly deadlines: Map<string, ReadonlyMap<string, DeadlineStep | 0>>;
  /** Whether each window was open at the last look, by rule and gate. */
  windows: ReadonlyMap<string, WindowLook>;
}

/** Per cent of a deadline's time. */
export type DeadlineStep = 50 | 80 | 100;

export interface WindowLook {
  readonly rule: string;
  readonly gate: string;
  readonly open: boolean;
  /** Absent: never again. */
  readonly changesAt?: Date;
}

export interface Candidates {
  readonly entries: readonly PolicyEntry[];
  /** The same policies in the same order, as decide() takes them. */
  readonly compiled: readonly CompiledPolicy[];
}

function candidatesOf(entries: readonly PolicyEntry[]): Candidates {
  return { entries, compiled: entries.map(({ compiled }) => compiled) };
}

/** Anyone who reaches the port can invent namespaces. */
const MAX_CACHED_NAMESPACES = 10_000;

export class PolicySet {
  readonly #entries = new Map<string, PolicyEntry>();
  #haveExpressions = false;
  /** By namespace; forgotten when a policy changes that is among them: the same arrays are the same policies. */
  readonly #candidates = new Map<string, Candidates>();

  get(key: string): PolicyEntry | undefined {
    return this.#entries.get(key);
  }

  /** Expressions can look at all of a Cluster. */
  get haveExpressions(): boolean {
    return this.#haveExpressions;
  }

  entries(): Iterable<PolicyEntry> {
    return this.#entries.values();
  }

  /** Same uid: keeps what is known about its Clusters. */
  set(key: string, object: PolicyObject, compiled: CompiledPolicy): PolicyEntry {
    const before = this.#entries.get(key);
    if (before?.compiled !== compiled) this.#forgetCandidates(compiled.ref);
    const demands = before?.compiled === compiled ? before.demands : mergeDemands(demandsOf(compiled));
    // Stays true: to look once too often does no harm.
    this.#haveExpressions ||= compiled.hasExpressions;
    if (before !== undefined && before.compiled.uid === compiled.uid) {
      before.object = object;
      before.compiled = compiled;
      before.demands = demands;
      return before;
    }
    const entry: PolicyEntry = {
      key,
      object,
      compiled,
      editedAt: -Infinity,
      matched: new Set(),
      rest: [],
      unmatched: [],
      rows: [],
      unforeseen: new Set(),
      unforeseenSince: -Infinity,
      demands,
      held: new Map(),
      hasHeld: new Set(),
      known: NOTHING_KNOWN,
      recent: [],
      recorded: new RecordedResults(),
      deadlines: new Map(),
      windows: new Map(),
    };
    this.#entries.set(key, entry);
    return entry;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry !== undefined) this.#forgetCandidates(entry.compiled.ref);
  }

  /** Those of other namespaces are the same as before. */
  #forgetCandidates({ namespace }: PolicyRef): void {
    if (namespace === undefined) this.#candidates.clear();
    else this.#candidates.delete(namespace);
  }

  /** Those that share their steps with the policy, so that none of them can be evaluated without the others. */
  sharers(entry: PolicyEntry): Candidates {
    const { ref } = entry.compiled;
    if (ref.namespace === undefined) return candidatesOf([entry]);
    return candidatesOf(
      this.candidates(ref.namespace).entries.filter(({ compiled }) => compiled.ref.kind === "HookPolicy"),
    );
  }

  /** Every policy that could match a Cluster of this namespace, sorted by name. */
  candidates(namespace: string): Candidates {
    const cached = this.#candidates.get(namespace);
    if (cached !== undefined) return cached;
    const named: (readonly [name: string, entry: PolicyEntry])[] = [];
    for (const entry of this.#entries.values()) {
      const { ref } = entry.compiled;
      if (ref.kind === "ClusterHookPolicy" || ref.namespace === namespace)
        named.push([policyName(ref), entry]);
    }
    const entries = named.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
    if (this.#candidates.size >= MAX_CACHED_NAMESPACES) this.#candidates.clear();
    const candidates = candidatesOf(entries);
    this.#candidates.set(namespace, candidates);
    return candidates;
  }
}
