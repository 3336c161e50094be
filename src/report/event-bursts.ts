/**
 * Limits Events: ten thousand Clusters can approach the same deadline at once. For each cause (a policy or an override), the
 * first Events of half a minute are written one by one, and the rest become a single Event with a count.
 */

import { entryOf } from "../lib/entry-of.ts";
import { SHOWN } from "../lib/first-names.ts";
import { namespacedName } from "../lib/keys.ts";
import type { EventText } from "../api/event-text.ts";

export interface DatedText {
  readonly text: EventText;
  readonly at: Date;
}

interface Burst {
  readonly from: Date;
  admitted: number;
  /** The first about each object that is named. */
  readonly others: EventText[];
  count: number;
  unnamed: number;
}

const LENGTH_MS = 30_000;
const ONE_BY_ONE = 20;

export class EventBursts {
  readonly #bursts = new Map<string, Burst>();

  /** Whether the Event is written as its own; otherwise it is counted. */
  admit({ text, at }: DatedText): boolean {
    const key = `${text.reason} ${(text.related ?? text.regarding).uid}`;
    const burst = entryOf(this.#bursts, key, () => ({
      from: at,
      admitted: 0,
      others: [],
      count: 0,
      unnamed: 0,
    }));
    if (burst.admitted < ONE_BY_ONE) {
      burst.admitted += 1;
      return true;
    }
    burst.count += 1;
    if (burst.others.some(({ regarding }) => regarding.uid === text.regarding.uid)) return false;
    if (burst.others.length < SHOWN) burst.others.push(text);
    else burst.unnamed += 1;
    return false;
  }

  /** Returns the counted Events of bursts that are over. */
  ended(now: Date): EventText[] {
    const over = [...this.#bursts].filter(([, { from }]) => now.getTime() - from.getTime() >= LENGTH_MS);
    for (const [key] of over) this.#bursts.delete(key);
    return over.flatMap(([, burst]) => describeBurst(burst, now));
  }
}

function describeBurst({ from, others, count, unnamed }: Burst, now: Date): EventText[] {
  const [first] = others;
  if (first === undefined) return [];
  const { type, reason, action, related, regarding } = first;
  const named = others.map(({ regarding: each }) => namespacedName(each)).join(", ");
  const rest = unnamed > 0 ? ` and ${unnamed} more` : "";
  // Events about windows are about the policy itself.
  const which = related === undefined ? "" : `: ${named}${rest}`;
  return [
    {
      // Replicas see the same burst within seconds of each other.
      identity: [(related ?? regarding).uid, "burst", Math.floor(from.getTime() / LENGTH_MS)].join(" "),
      type,
      reason,
      action,
      note: `${count} more at about the same time${which}`,
      regarding: related ?? regarding,
      ...(count > 1 && { series: { count, lastObservedTime: now } }),
    },
  ];
}
