/** Recognizes macros that loop in the parser's expansion. */

import { callOf, children, type Comprehension, type Expr } from "./syntax.ts";

export interface Loop {
  /** Must be a bool. */
  readonly test: Expr | undefined;
  /** The items that map() and filter() collect; absent: the loop returns a bool. */
  readonly item: Expr | undefined;
}

export function readLoop({ accuInit, loopStep }: Comprehension): Loop {
  const choice = callOf(loopStep, "_?_:_")?.args;
  // map() and filter(): acc + [item], or test ? acc + [item] : acc.
  if (accuInit?.exprKind.case === "listExpr") {
    return { test: choice?.[0], item: appended(choice === undefined ? loopStep : choice[1]) };
  }
  // exists_one(): test ? acc + 1 : acc. exists() and all(): acc || test, acc && test.
  const test = choice?.[0] ?? (callOf(loopStep, "_||_") ?? callOf(loopStep, "_&&_"))?.args[1];
  return { test, item: undefined };
}

function appended(sum: Expr | undefined): Expr | undefined {
  const added = callOf(sum, "_+_")?.args[1];
  return added === undefined ? undefined : children(added)[0];
}
