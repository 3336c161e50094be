/** The policies in memory, in stable order. */

import { isDeepStrictEqual } from "node:util";
import type { HookRollout } from "../api/hook-policy.ts";
import { type CompiledPolicy, mergeDemands, type ObjectDemand } from "../policy/policy.ts";
import { type PolicyKind, policyName, type PolicyRef } from "../policy/policy-ref.ts";
import { markReaders } from "../policy/mark-readers.ts";
import { MAX_KINDS } from "../policy/watched-objects.ts";
import type { MarkReaders } from "../policy/mark.ts";
import { PolicyEntry } from "./policy-entry.ts";
import { byText } from "../lib/compare-text.ts";
import { LARGEST_FLEET } from "../lib/kept.ts";

export type PolicyObject = PolicyEntry["object"];

/** Work queue key: "HookPolicy/team-a/protect" or "ClusterHookPolicy//freeze". */
export function policyKey(kind: PolicyKind, namespace: string | undefined, name: string): string {
  return `${kind}/${namespace ?? ""}/${name}`;
}

/** No namespace is called like a kind. */
export function isPolicyKey(key: string): boolean {
  return key.startsWith("HookPolicy/") || key.startsWith("ClusterHookPolicy/");
}

export function parsePolicyKey(key: string): { kind: PolicyKind; namespace?: string; name: string } {
  const [kind, namespace = "", name = ""] = key.split("/");
  return {
    kind: kind === "HookPolicy" ? "HookPolicy" : "ClusterHookPolicy",
    ...(namespace !== "" && { namespace }),
    name,
  };
}

export interface Candidates {
  readonly entries: readonly PolicyEntry[];
  /** The same policies in the same order, as decide() takes them. */
  readonly compiled: readonly CompiledPolicy[];
}

/**
 * Of HookPolicies that are too large, one represents all: each says the same about every Cluster of the namespace, and
 * evaluating thousands would take long. One that only audits represents others that only audit, and one that may have tasks
 * others that may.
 */
function representatives(): (entry: PolicyEntry) => boolean {
  const represented = new Set<string>();
  return ({ compiled: { ref, tooLarge, mode, rules } }) => {
    if (tooLarge !== true || ref.kind !== "HookPolicy") return true;
    const says = `${mode} ${rules[0]?.admission} ${rules[0]?.hooks.size}`;
    if (represented.has(says)) return false;
    represented.add(says);
    return true;
  };
}

function candidatesOf(entries: readonly PolicyEntry[]): Candidates {
  return { entries, compiled: entries.map(({ compiled }) => compiled) };
}

export class PolicySet {
  readonly #entries = new Map<string, PolicyEntry>();
  #readStatus = false;
  /** By namespace; forgotten when one of its policies changes, so identical arrays are identical policies. */
  readonly #candidates = new Map<string, Candidates>();

  /** The specs of the rollouts. */
  readonly #rollouts = new Map<string, HookRollout["spec"]>();
  #readers: MarkReaders | undefined;

  get(key: string): PolicyEntry | undefined {
    return this.#entries.get(key);
  }

  compiledOf({ kind, namespace, name }: PolicyRef): CompiledPolicy | undefined {
    return this.get(policyKey(kind, namespace, name))?.compiled;
  }

  /** Whether a policy may read the status of Clusters. */
  get readStatus(): boolean {
    return this.#readStatus;
  }

  entries(): Iterable<PolicyEntry> {
    return this.#entries.values();
  }

  /** What the platform team's policies and rollouts read; ExtensionConfigs select by labels, too. */
  get readers(): MarkReaders {
    if (this.#readers !== undefined) return this.#readers;
    const policies = [...this.#entries.values()].filter(({ compiled }) => compiled.ref.kind !== "HookPolicy");
    this.#readers = markReaders([
      ...policies.map(({ compiled, object: { spec } }) => ({ name: policyName(compiled.ref), spec })),
      ...[...this.#rollouts].map(([name, spec]) => ({
        name: policyName({ kind: "HookRollout", name }),
        spec,
      })),
    ]);
    return this.#readers;
  }

  hasRollout(name: string): boolean {
    return this.#rollouts.has(name);
  }

  /** Only for `readers` and hasRollout(). */
  rolloutChanged(name: string, object: HookRollout | undefined): void {
    if (isDeepStrictEqual(this.#rollouts.get(name), object?.spec)) return;
    if (object === undefined) this.#rollouts.delete(name);
    else this.#rollouts.set(name, object.spec);
    this.#readers = undefined;
  }

  /** All rollouts, as in rolloutChanged(). */
  setRollouts(objects: readonly HookRollout[]): void {
    this.#rollouts.clear();
    for (const { metadata, spec } of objects) this.#rollouts.set(metadata.name, spec);
    this.#readers = undefined;
  }

  /** Keeps what is known about the policy's Clusters, unless another policy has its name now. */
  set(key: string, object: PolicyObject, compiled: CompiledPolicy): PolicyEntry {
    const before = this.#entries.get(key);
    if (before?.compiled !== compiled) this.#forgetCandidates(compiled.ref);
    // Stays true, which only makes more changes of Clusters count.
    this.#readStatus ||= compiled.readsStatus;
    if (before !== undefined && before.compiled.uid === compiled.uid) {
      before.replace(object, compiled);
      return before;
    }
    const entry = new PolicyEntry(key, object, compiled);
    this.#entries.set(key, entry);
    return entry;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry !== undefined) this.#forgetCandidates(entry.compiled.ref);
  }

  /** The candidates of other namespaces stay the same. */
  #forgetCandidates({ namespace }: PolicyRef): void {
    if (namespace === undefined) {
      this.#candidates.clear();
      this.#readers = undefined;
    } else this.#candidates.delete(namespace);
  }

  /** The policies that share a budget of steps with this one: none of them can be evaluated without the others. */
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
    const entries = [...this.#entries.values()]
      .filter(({ compiled: { ref } }) => ref.kind === "ClusterHookPolicy" || ref.namespace === namespace)
      .map((entry) => ({ entry, name: policyName(entry.compiled.ref) }))
      .toSorted(byText(({ name }) => name))
      .map(({ entry }) => entry)
      .filter(representatives());
    // Any caller can invent namespaces.
    if (this.#candidates.size >= LARGEST_FLEET) this.#candidates.clear();
    const candidates = candidatesOf(entries);
    this.#candidates.set(namespace, candidates);
    return candidates;
  }
}

/** How many of the places are reserved for ClusterHookPolicies. */
const CLUSTER_KINDS = MAX_KINDS / 2;

/**
 * The kinds to watch, the most important first: there may be too many, and no tenant can take all places. The kinds of
 * ClusterHookPolicies come first, up to their share. Then each namespace gets one kind in turn, beginning with the namespace
 * of the oldest policy; ClusterHookPolicies take part with what their share leaves out. Within a namespace the oldest policy
 * comes first. Every replica computes the same order.
 */
export function demandsInTurns(policies: Iterable<PolicyEntry>): ObjectDemand[] {
  const byAge = [...policies]
    .filter(({ demands }) => demands.size > 0)
    .map((entry) => ({ entry, rank: `${entry.object.metadata.creationTimestamp ?? ""} ${entry.key}` }))
    .toSorted(byText(({ rank }) => rank))
    .map(({ entry }) => entry);
  const byOwner = Map.groupBy(byAge, ({ compiled }) => compiled.ref.namespace ?? "");
  const demands = new Map([...byOwner].map(([owner, entries]) => [owner, kindsOf(entries)]));
  const platform = demands.get("") ?? [];
  demands.delete("");
  const ordered = platform.slice(0, CLUSTER_KINDS);
  const owners = [...demands.values(), platform.slice(CLUSTER_KINDS)];
  const rounds = Math.max(0, ...owners.map(({ length }) => length));
  for (let round = 0; round < rounds; round += 1)
    ordered.push(...owners.flatMap((kinds) => kinds[round] ?? []));
  return ordered;
}

function kindsOf(entries: readonly PolicyEntry[]): ObjectDemand[] {
  const demands = entries.flatMap((entry) => [...entry.demands.values()]);
  return [...mergeDemands(demands).values()];
}
