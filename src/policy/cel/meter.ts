/**
 * Counts what an evaluation does and stops it after a fixed number of steps. A count, not a clock: the verdict
 * must be the same on a busy machine.
 */

import {
  celFunc,
  type CelInput,
  celList,
  type CelList,
  CelScalar,
  isCelList,
  isCelMap,
  listType,
} from "@bufbuild/cel";
import type { CelFunc, CelValue } from "@bufbuild/cel";
import { callOf, children, type Comprehension, countNodes, type Expr, identifier } from "./syntax.ts";

/** About ten milliseconds at the worst. A usual expression needs less than a hundred. */
export const MAX_STEPS = 50_000;
/** Deeper values come from hostile input only, and comparing them recurses. */
const MAX_VALUE_DEPTH = 64;
const LETTERS_PER_STEP = 10;

export class StepsExceeded extends Error {
  constructor() {
    super(`needs more than ${MAX_STEPS} steps`);
  }
}

/** Evaluation does not wait for anything, so that one count at a time is enough. */
export class Meter {
  #left = 0;
  #exceeded = false;
  /** Of the work that the evaluations are a part of. */
  #budget = Infinity;

  get exceeded(): boolean {
    return this.#exceeded;
  }

  /** The budget is used up, and not only what one evaluation may take of it. */
  get exhausted(): boolean {
    return this.#budget < 0;
  }

  /** All evaluations in `work` together have so many steps, and no more than what surrounds them. */
  within<T>(steps: number, work: () => T): T {
    const outer = this.#budget;
    const inner = Math.min(steps, outer);
    this.#budget = inner;
    try {
      return work();
    } finally {
      this.#budget = outer - (inner - this.#budget);
    }
  }

  start(): void {
    this.#left = Math.min(MAX_STEPS, this.#budget);
    this.#exceeded = false;
  }

  /** Throws once the steps are used up, and from then on: no later part may do more work. */
  charge(steps: number): void {
    this.#left -= steps;
    this.#budget -= steps;
    if (this.#left >= 0) return;
    this.#exceeded = true;
    throw new StepsExceeded();
  }

  chargeText(...texts: readonly { readonly length: number }[]): void {
    for (const { length } of texts) this.charge(Math.ceil(length / LETTERS_PER_STEP));
  }

  /** Looking for one text in another one. */
  chargeSearch(text: string, part: string): void {
    this.charge(Math.ceil(text.length / LETTERS_PER_STEP) * (1 + Math.ceil(part.length / LETTERS_PER_STEP)));
  }

  /** A value with all that is in it. Charged on the way: shared parts can make it larger than memory. */
  chargeValue(value: CelValue, depth = 0): void {
    this.charge(1);
    if (depth > MAX_VALUE_DEPTH) this.charge(MAX_STEPS);
    if (typeof value === "string" || value instanceof Uint8Array) this.chargeText(value);
    else if (isCelList(value)) for (const item of value) this.chargeValue(item, depth + 1);
    else if (isCelMap(value)) {
      for (const [key, item] of value) {
        this.chargeValue(key, depth + 1);
        this.chargeValue(item, depth + 1);
      }
    }
  }
}

/** Not to be written by users: "@" does not begin a name in CEL. */
const STEP = "@step";
const RANGE = "@range";
const NEW_LIST = "@list";
const APPEND = "@append";
const LIST = listType(CelScalar.DYN);

/** What instrument() calls. */
export function meterFunctions(meter: Meter): CelFunc[] {
  const { BOOL, DYN, INT } = CelScalar;
  const arrays = new WeakMap<CelList, CelInput[]>();
  return [
    celFunc(STEP, [BOOL, INT], BOOL, (goOn, nodes) => {
      meter.charge(Number(nodes));
      return goOn;
    }),
    celFunc(RANGE, [DYN], DYN, (range) => {
      if (isCelList(range) || isCelMap(range)) meter.charge(range.size);
      return range;
    }),
    celFunc(NEW_LIST, [], LIST, () => {
      const array: CelInput[] = [];
      const list = celList(array);
      arrays.set(list, array);
      return list;
    }),
    celFunc(APPEND, [LIST, DYN], LIST, (list, item) => {
      arrays.get(list)?.push(item);
      return list;
    }),
  ];
}

/**
 * The same expression, whose loops count: each turn costs as many steps as the loop has parts. The lists that
 * map() and filter() build grow in place, because the library's would take the square of their length.
 */
export function instrument(expr: Expr): Expr {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "selectExpr":
      return {
        ...expr,
        exprKind: { ...exprKind, value: { ...exprKind.value, ...operand(exprKind.value.operand) } },
      };
    case "callExpr": {
      const { target, args } = exprKind.value;
      const parts = {
        args: args.map(instrument),
        ...(target !== undefined && { target: instrument(target) }),
      };
      return { ...expr, exprKind: { ...exprKind, value: { ...exprKind.value, ...parts } } };
    }
    case "listExpr": {
      const elements = exprKind.value.elements.map(instrument);
      return { ...expr, exprKind: { ...exprKind, value: { ...exprKind.value, elements } } };
    }
    case "structExpr": {
      const entries = exprKind.value.entries.map((entry) => ({
        ...entry,
        ...(entry.keyKind.case === "mapKey" && {
          keyKind: { case: "mapKey" as const, value: instrument(entry.keyKind.value) },
        }),
        ...(entry.value !== undefined && { value: instrument(entry.value) }),
      }));
      return { ...expr, exprKind: { ...exprKind, value: { ...exprKind.value, entries } } };
    }
    case "comprehensionExpr":
      return { ...expr, exprKind: { ...exprKind, value: instrumentLoop(expr.id, exprKind.value) } };
    case "constExpr":
    case "identExpr":
    case undefined:
      return expr;
  }
}

function operand(expr: Expr | undefined): { operand?: Expr } {
  return expr === undefined ? {} : { operand: instrument(expr) };
}

function instrumentLoop(id: bigint, loop: Comprehension): Comprehension {
  const { iterRange, accuInit, loopCondition, loopStep, accuVar } = loop;
  if (
    iterRange === undefined ||
    accuInit === undefined ||
    loopCondition === undefined ||
    loopStep === undefined
  ) {
    return loop;
  }
  const nodes = countNodes(loopStep) + countNodes(loopCondition);
  const builds = accuInit.exprKind.case === "listExpr";
  return {
    ...loop,
    iterRange: call(id, RANGE, [instrument(iterRange)]),
    accuInit: builds ? call(id, NEW_LIST, []) : accuInit,
    loopCondition: call(id, STEP, [loopCondition, integer(id, nodes)]),
    loopStep: builds ? appending(loopStep, accuVar) : instrument(loopStep),
  };
}

/** The two forms of the macros: `acc + [item]`, and `test ? acc + [item] : acc`. */
function appending(step: Expr, accuVar: string): Expr {
  const choice = callOf(step, "_?_:_");
  if (choice !== undefined) {
    const [test, then, otherwise] = choice.args;
    if (test === undefined || then === undefined || otherwise === undefined) return instrument(step);
    return call(step.id, "_?_:_", [instrument(test), appending(then, accuVar), otherwise]);
  }
  const [list, added] = callOf(step, "_+_")?.args ?? [];
  const [item] = added === undefined ? [] : children(added);
  if (list === undefined || identifier(list) !== accuVar || item === undefined) return instrument(step);
  return call(step.id, APPEND, [list, instrument(item)]);
}

function call(id: bigint, name: string, args: Expr[]): Expr {
  const value = { $typeName: "cel.expr.Expr.Call" as const, function: name, args };
  return { $typeName: "cel.expr.Expr", id, exprKind: { case: "callExpr", value } };
}

function integer(id: bigint, value: number): Expr {
  const constantKind = { case: "int64Value" as const, value: BigInt(value) };
  const constant = { $typeName: "cel.expr.Constant" as const, constantKind };
  return { $typeName: "cel.expr.Expr", id, exprKind: { case: "constExpr", value: constant } };
}
