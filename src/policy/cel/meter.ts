/**
 * Counts the work of an evaluation and stops it after a fixed number of steps. It counts instead of reading a clock, because the verdict must
 * be the same on a busy machine.
 */

import {
  celFunc,
  type CelFunc,
  type CelInput,
  celList,
  type CelList,
  CelScalar,
  type CelValue,
  isCelList,
  isCelMap,
  listType,
} from "@bufbuild/cel";
import { children, type Comprehension, countNodes, type Expr, findNode, readLoop } from "./syntax.ts";

/**
 * The budget of one decision for all HookPolicies of a namespace together, and for each ClusterHookPolicy: at worst
 * about ten milliseconds, as the most expensive steps take 0.15 µs, and twice that in a process that has just started.
 * A usual policy needs some hundred steps.
 */
export const MAX_STEPS = 50_000;
/** Deeper values come only from hostile input, and comparing them recurses. */
const MAX_VALUE_DEPTH = 64;
/** The scale of what work costs besides its length: what is read, what is made or evaluated, and what Intl or semver compile. */
export const READ_STEPS = 5;
export const WORK_STEPS = 20;
export const COMPILE_STEPS = 100;
const LETTERS_PER_STEP = 10;
/** For JSON, because numbers and keys take longer to parse than text. */
const PARSED_LETTERS_PER_STEP = 5;

/** The message for users. */
export const STEPS_EXCEEDED = `more than ${MAX_STEPS} steps are needed`;

export type ExpressionResult<T = unknown> =
  /** A bool or a string, or any JSON for a value in a template. */
  | { readonly ok: true; readonly value: T }
  /** `exhausted`: the steps ran out. */
  | { readonly ok: false; readonly problem: string; readonly exhausted?: true };

export const TOO_MANY_STEPS: ExpressionResult<never> = {
  ok: false,
  problem: STEPS_EXCEEDED,
  exhausted: true,
};

export class StepsExceeded extends Error {
  override readonly message = STEPS_EXCEEDED;
}

/** The remaining steps, which also count against the budget of the surrounding work. A used-up budget stays used up. */
export class Budget {
  readonly #outer: Budget | undefined;
  readonly #paid = new Set<object>();
  #left: number;

  constructor(steps = MAX_STEPS, outer?: Budget) {
    this.#left = steps;
    this.#outer = outer;
  }

  get exhausted(): boolean {
    return this.#left < 0 || this.#outer?.exhausted === true;
  }

  spend(steps: number): void {
    this.#left -= steps;
    this.#outer?.spend(steps);
  }

  /** Whether this object must be paid for; true once per object. */
  owes(made: object): boolean {
    if (this.#paid.has(made)) return false;
    this.#paid.add(made);
    return true;
  }
}

/** Evaluation is synchronous, so one count at a time is enough. */
export class Meter {
  /** Budget of the surrounding work. */
  #shared: Budget | undefined;
  /** Budget of the current evaluation. */
  #budget = new Budget();
  #decisions = 0;
  #made: { readonly from: object; readonly value: unknown } | undefined;

  /** Whether the steps of the current work, or of the last evaluation, are used up. */
  get exhausted(): boolean {
    return this.#budget.exhausted;
  }

  /** A budget for within(); its steps also count against the surrounding budget. */
  budget(steps = MAX_STEPS): Budget {
    return new Budget(steps, this.#shared);
  }

  /** Charges everything that is evaluated in `work` to `budget`. */
  within<T>(budget: Budget, work: () => T): T {
    const [shared, present] = [this.#shared, this.#budget];
    this.#shared = budget;
    this.#budget = budget;
    try {
      return work();
    } finally {
      this.#shared = shared;
      this.#budget = present;
    }
  }

  /** Makes objects that are costly only once during `work`. */
  decision<T>(work: () => T): T {
    this.#decisions += 1;
    try {
      return work();
    } finally {
      this.#decisions -= 1;
      if (this.#decisions === 0) this.#made = undefined;
    }
  }

  /** An evaluation outside of a decision has the budget of a decision. */
  start(): void {
    this.#budget = this.#shared ?? new Budget();
  }

  /** Throws once the steps are used up, and at every later call, so that no later part does more work. */
  charge(steps: number): void {
    this.#budget.spend(steps);
    if (this.#budget.exhausted) throw new StepsExceeded();
  }

  /** False once the steps are used up. */
  afford(steps: number): boolean {
    this.#budget.spend(steps);
    return !this.#budget.exhausted;
  }

  affordText(letters: number): boolean {
    return this.afford(Math.ceil(letters / LETTERS_PER_STEP));
  }

  /** Charges an object once per budget. */
  affordOnce(made: object, steps: () => number): boolean {
    return !this.#budget.owes(made) || this.afford(steps());
  }

  /** Makes the object once per decision but charges each budget, so that no budget depends on what others have read. */
  once<T extends object>(from: object, length: number, make: () => T): T {
    if (this.#budget.owes(from)) this.charge(Math.ceil(length / PARSED_LETTERS_PER_STEP));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by the same function from the same object
    if (this.#made?.from === from) return this.#made.value as T;
    const value = make();
    if (this.#decisions > 0) this.#made = { from, value };
    return value;
  }

  chargeText(...texts: readonly { readonly length: number }[]): void {
    for (const { length } of texts) this.charge(Math.ceil(length / LETTERS_PER_STEP));
  }

  /** Charges a search for a text within another one. */
  chargeSearch(text: string, part: string): void {
    this.charge(Math.ceil(text.length / LETTERS_PER_STEP) * (1 + Math.ceil(part.length / LETTERS_PER_STEP)));
  }

  /** Charges a value with everything in it, step by step: shared parts can make it larger than memory. */
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

export const meter = new Meter();

/** The cost of a turn of a loop, in addition to its parts: even one part that is an error costs as much as several. */
const TURN_STEPS = 4;

/** Users cannot write it, because a name in CEL cannot start with "@". */
const STEP = "@step";
const RANGE = "@range";
const NEW_LIST = "@list";
const APPEND = "@append";
const LIST = listType(CelScalar.DYN);

/** The functions that instrument() calls. */
export function meterFunctions(): CelFunc[] {
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
 * Returns the same expression with counting loops: each iteration costs as many steps as the loop has parts. The lists
 * that map() and filter() build grow in place, because the library's lists take time quadratic in their length.
 */
export function instrument(expr: Expr): Expr {
  if (findNode(expr, ({ exprKind }) => exprKind.case === "comprehensionExpr") === undefined) return expr;
  const copy = structuredClone(expr);
  instrumentLoops(copy);
  return copy;
}

/** A loop before those within it, so that it counts its parts as they were written. */
function instrumentLoops(expr: Expr): void {
  const { id, exprKind } = expr;
  if (exprKind.case === "comprehensionExpr") exprKind.value = instrumentLoop(id, exprKind.value);
  for (const child of children(expr)) instrumentLoops(child);
}

function instrumentLoop(id: bigint, loop: Comprehension): Comprehension {
  const { iterRange, loopCondition, loopStep, accuVar } = loop;
  if (iterRange === undefined || loopCondition === undefined || loopStep === undefined) return loop;
  const nodes = TURN_STEPS + countNodes(loopStep) + countNodes(loopCondition);
  const counting = {
    ...loop,
    iterRange: call(id, RANGE, [iterRange]),
    loopCondition: call(id, STEP, [loopCondition, integer(id, nodes)]),
  };
  const { test, item } = readLoop(loop);
  if (item === undefined) return counting;
  const list = variable(loopStep.id, accuVar);
  const longer = call(loopStep.id, APPEND, [list, item]);
  return {
    ...counting,
    accuInit: call(id, NEW_LIST, []),
    loopStep: test === undefined ? longer : call(loopStep.id, "_?_:_", [test, longer, list]),
  };
}

function variable(id: bigint, name: string): Expr {
  const value = { $typeName: "cel.expr.Expr.Ident" as const, name };
  return { $typeName: "cel.expr.Expr", id, exprKind: { case: "identExpr", value } };
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
