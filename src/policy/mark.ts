/**
 * Whether a command may set the mark that a gate waits for. A tenant writes the gate and an administrator runs the
 * command: what tenants write must not choose what administrators write.
 */

import type { ObjectMeta } from "../api/meta.ts";
import { shellQuote } from "../lib/shell-quote.ts";
import type { PolicyKind } from "./policy-ref.ts";

export type MetadataField = "annotation" | "label";

export interface MarkPlace {
  readonly on: "Cluster" | "Namespace";
  readonly field: MetadataField;
  readonly key: string;
}

/** An annotation or a label, with the value that the gate waits for. */
export interface Mark extends MarkPlace {
  readonly value: string;
}

/** "Cluster label env". */
export function placeOf({ on, field, key }: Readonly<Record<"on" | "field" | "key", string>>): string {
  return [on, field, key].join(" ");
}

/** What else reads marks: the names of the readers, by placeOf(). */
export interface MarkReaders {
  /** ClusterHookPolicies and HookRollouts with a gate or an expression that reads the mark. */
  readonly gates: ReadonlyMap<string, string>;
  /** These and ExtensionConfigs, with a selector that reads the label. */
  readonly selectors: ReadonlyMap<string, string>;
  /** Whether these are all; otherwise no command sets a label for a HookPolicy. */
  readonly complete: boolean;
}

export interface Unsettable {
  readonly why: string;
  /** Whether it may be set after all if an administrator names it. */
  readonly unlessNamed: boolean;
}

/** Domains whose keys Kubernetes, its components and Cluster API act on, and HookPolicy's own; with all below them. */
const RESERVED = ["kubernetes.io", "k8s.io", "x-k8s.io", "hookpolicy.dev"];

/** `undefined`: a command may set it for a gate of a policy of this kind. */
export function whyNotSettable(
  mark: Mark,
  kind: PolicyKind,
  readers: MarkReaders | undefined,
): Unsettable | undefined {
  const reserved = reservedDomain(mark.key);
  if (reserved !== undefined) {
    return never(`keys of ${reserved} belong to Kubernetes, Cluster API or HookPolicy`);
  }
  const selecting = mark.field === "label" ? readers?.selectors.get(placeOf(mark)) : undefined;
  if (selecting !== undefined) {
    return never(`${selecting} selects by this label`);
  }
  // A ClusterHookPolicy belongs to the platform team.
  if (kind === "ClusterHookPolicy") return undefined;
  const waiting = readers?.gates.get(placeOf(mark));
  if (waiting !== undefined) {
    return never(`${waiting} waits for it, and a HookPolicy must not approve that`);
  }
  if (mark.on === "Cluster") return undefined;
  const why = `a HookPolicy names it, and other systems may act on it: if it is meant, ${namedBy(mark)}`;
  return { why, unlessNamed: true };
}

function never(why: string): Unsettable {
  return { why: `${why}: correct the policy`, unlessNamed: false };
}

/** The flag of `hookpolicy approve` that names the mark on a Namespace. */
export function namedBy({ key, value }: Mark): string {
  return `--namespace-mark ${shellQuote(`${key}=${value}`)}`;
}

function reservedDomain(key: string): string | undefined {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash).toLowerCase();
  const isReserved = RESERVED.some((name) => domain === name || domain.endsWith(`.${name}`));
  return isReserved ? domain : undefined;
}

/**
 * The command that asks before it sets the mark, and looks at what else reads it: where the program is at hand, and for a
 * mark about which too little is known here. `cluster`: namespace/name.
 */
export function approveCommand(cluster: string, hook: string): string {
  return `hookpolicy approve ${shellQuote(cluster)} --hook ${hook}`;
}

/** The command that sets the mark on the object with this metadata; `overwrite`: the key has another value now. */
export function commandToSet(
  { on, field, key, value, overwrite }: Mark & { readonly overwrite: boolean },
  { namespace = "", name }: Pick<ObjectMeta, "namespace" | "name">,
): string {
  const words = [
    field === "annotation" ? "annotate" : "label",
    ...(on === "Namespace" ? ["namespace"] : ["clusters.cluster.x-k8s.io", "-n", namespace]),
    name,
    `${key}=${value}`,
    ...(overwrite ? ["--overwrite"] : []),
  ];
  return ["kubectl", ...words].map(shellQuote).join(" ");
}
