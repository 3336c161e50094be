/**
 * Reasons for which something is not evaluable and holds whatever the failurePolicy: the authors of data, who can use up
 * steps and memory, must not be able to cause a release, and neither must an older operator.
 */

import { TOO_LARGE } from "../views/too-large.ts";

/** The steps of a decision are used up. */
export const BUDGET_EXHAUSTED = "BudgetExhausted";
/** A field that only a newer version knows. */
export const UNKNOWN_FIELD = "UnknownField" as const;
/** Which HookTasks there are is not known. */
export const TASKS_UNKNOWN = "TasksUnknown";
/** Of the command line: its files do not tell which objects the API server would have. */
export const OBJECTS_UNCLEAR = "ObjectsUnclear";

const STRICT = [BUDGET_EXHAUSTED, TOO_LARGE, UNKNOWN_FIELD, TASKS_UNKNOWN, OBJECTS_UNCLEAR];

export function holdsAnyway(reason: string): boolean {
  return STRICT.includes(reason);
}

/** The one that decides of several that are not evaluable. */
export function strictestOf<T extends { readonly reason: string }>(found: readonly T[]): T | undefined {
  return found.find(({ reason }) => holdsAnyway(reason)) ?? found[0];
}
