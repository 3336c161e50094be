/** What a handler of calls is given, in a process that has loaded everything. */

import type { DecisionSource, HandlerDeps } from "../../../src/hooks/hook-handler.ts";
import { NOW } from "../builders.ts";
import { silent } from "../memory/fixtures.ts";

type Source = Pick<DecisionSource, "ask" | "confirm"> & Partial<DecisionSource>;

/** Nothing is known, stored, counted or logged but by what `over` gives. */
export function handlerDeps(source: Source, over: Partial<Omit<HandlerDeps, "source">> = {}): HandlerDeps {
  return {
    source: {
      loaded: () => true,
      known: () => undefined,
      mayHaveTasks: () => true,
      storeTasks: async () => await Promise.resolve(false),
      inTurn: (_, work) => work(),
      validity: () => undefined,
      ...source,
    },
    metrics: { answered: () => undefined, unconfirmed: () => undefined, discovered: () => undefined },
    answers: { record: () => undefined, repeat: () => undefined, forget: () => undefined },
    log: silent,
    warnRateLimited: () => undefined,
    now: () => NOW,
    ...over,
  };
}
