/**
 * Limits Events: ten thousand Clusters can approach the same deadline at once. For each cause (a policy or an override), the
 * first Events of half a minute are written one by one, and the rest become a single Event with a count.
 */

import type { EventText, ObjectReference } from "../api/event-text.ts";
import { entryOf } from "../lib/entry-of.ts";
import { policyName } from "../policy/policy-ref.ts";

export interface DatedText {
  readonly text: EventText;
  readonly at: Date;
}

interface Burst {
  readonly from: Date;
  admitted: number;
  readonly others: DatedText[];
  count: number;
}

const LENGTH_MS = 30_000;
const ONE_BY_ONE = 20;
const NAMED = 5;
/** Causes at the same time for the Clusters of one namespace; further causes share one burst. */
const MAX_BURSTS = 100;

export class EventBursts {
  /** By namespace of the regarded object, and by cause; of a namespace, the oldest first. */
  readonly #bursts = new Map<string, Map<string, Burst>>();

  /** Whether the Event is written as its own; otherwise it is counted. */
  admit({ text, at }: DatedText): boolean {
    const { reason, related, regarding } = text;
    const { namespace = "" } = regarding;
    const bursts = entryOf(this.#bursts, namespace, () => new Map<string, Burst>());
    const cause = `${reason} ${(related ?? regarding).uid}`;
    const key = bursts.has(cause) || bursts.size < MAX_BURSTS ? cause : `${reason} in ${namespace}`;
    const burst = entryOf(bursts, key, () => ({ from: at, admitted: 0, others: [], count: 0 }));
    if (burst.admitted < ONE_BY_ONE) {
      burst.admitted += 1;
      return true;
    }
    burst.count += 1;
    if (burst.others.length < NAMED) burst.others.push({ text, at });
    return false;
  }

  /** Returns the counted Events of bursts that are over. */
  ended(now: Date): EventText[] {
    const over: Burst[] = [];
    for (const [namespace, bursts] of this.#bursts) {
      for (const [key, burst] of bursts) {
        if (now.getTime() - burst.from.getTime() < LENGTH_MS) continue;
        bursts.delete(key);
        over.push(burst);
      }
      if (bursts.size === 0) this.#bursts.delete(namespace);
    }
    return over.flatMap((burst) => describeBurst(burst, now));
  }

  /** Milliseconds until the next burst is over; `undefined`: there is none. */
  untilNext(now: Date): number | undefined {
    const oldest = [...this.#bursts.values()].flatMap((bursts) => bursts.values().take(1).toArray());
    if (oldest.length === 0) return undefined;
    const from = Math.min(...oldest.map((burst) => burst.from.getTime()));
    return Math.max(0, from + LENGTH_MS - now.getTime());
  }
}

function describeBurst({ from, others, count }: Burst, now: Date): EventText[] {
  const [first] = others;
  if (first === undefined) return [];
  const { type, reason, action, related, regarding } = first.text;
  const named = others.map(({ text }) => nameOf(text.regarding)).join(", ");
  const rest = count > others.length ? ` and ${count - others.length} more` : "";
  return [
    {
      // Replicas see the same burst within seconds of each other.
      identity: [(related ?? regarding).uid, "burst", Math.floor(from.getTime() / LENGTH_MS)].join(" "),
      type,
      reason,
      action,
      note: `${count} more at about the same time: ${named}${rest}`,
      regarding: related ?? regarding,
      ...(count > 1 && { series: { count, lastObservedTime: now } }),
    },
  ];
}

function nameOf({ kind, namespace, name }: ObjectReference): string {
  return kind === "HookPolicy" || kind === "ClusterHookPolicy"
    ? policyName({ kind, name, ...(namespace !== undefined && { namespace }) })
    : [namespace, name].filter((part) => part !== undefined).join("/");
}
