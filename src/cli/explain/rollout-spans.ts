/** What rollouts hold while every policy releases it, in the verdicts over time. */

import type { Span } from "../../operations/timeline.ts";
import { earliest } from "../../policy/instant.ts";
import type { Situation } from "../../policy/world.ts";
import { gateEdges } from "../../rollouts/promotion.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { explainRollouts, soakEnds } from "./rollout-hold.ts";

interface Ahead {
  readonly spans: readonly Span[];
  /** Between two looks at an expression that reads the clock. */
  readonly sampleMs: number;
  /** As in StatusTime. */
  readonly asOf: Date;
  readonly live: boolean;
}

/** Slots and the queue are as the statuses have them now; a stage that soaks passes when its soak ends. */
export function underRollouts(
  fleet: Fleet,
  operation: Omit<Situation, "now">,
  { spans, sampleMs, asOf, live }: Ahead,
): readonly Span[] {
  const soaked = soakEnds(fleet.rollouts, asOf);
  const all = spans.flatMap((span) => {
    if (HOLDS.has(span.verdict)) return [span];
    const pieces: Span[] = [];
    for (let from = span.from; from < span.to; from = pieces.at(-1)?.to ?? span.to) {
      const holds = explainRollouts(fleet, { ...operation, now: from }, { asOf, live }).some(
        (each) => each.holds,
      );
      const gates = fleet.rollouts.flatMap(({ compiled }) => gateEdges(compiled, from, sampleMs));
      const edges = [...soaked, ...gates];
      const next = earliest([span.to, ...edges.filter((edge) => edge > from)]);
      const to = next instanceof Date ? next : span.to;
      pieces.push({ ...span, from, to, ...(holds && { verdict: "Blocked" }) });
    }
    return pieces;
  });
  return all.reduce<Span[]>((merged, span) => {
    const last = merged.at(-1);
    if (last?.verdict !== span.verdict) return [...merged, span];
    return [...merged.slice(0, -1), { ...last, to: span.to }];
  }, []);
}

/** NotEvaluable may proceed, and is shown as it is. */
const HOLDS: ReadonlySet<Span["verdict"]> = new Set(["Blocked", "NotEvaluable"]);
