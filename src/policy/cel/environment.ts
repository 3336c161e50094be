/** The functions that expressions can call: CEL's own, with their work counted, and those of HookPolicy. */

import {
  celEnv,
  type CelEnv,
  celFunc,
  type CelFunc,
  type CelInput,
  celList,
  celMethod,
  CelScalar,
  type CelValue,
  isCelError,
  isCelList,
  listType,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { isReflectMessage } from "@bufbuild/protobuf/reflect";
import { meter, meterFunctions } from "./meter.ts";
import { textFunctions } from "./celtext.ts";
import { timeFunctions } from "./celtime.ts";
import { versionFunctions } from "./celversion.ts";

/** What a call costs beyond the step that each part of an expression costs. */
type Cost = (values: readonly CelValue[]) => void;

const byLength: Cost = (values) => {
  for (const value of values)
    if (typeof value === "string" || value instanceof Uint8Array) meter.chargeText(value);
};
const bySearch: Cost = ([text, part]) => {
  if (typeof text === "string" && typeof part === "string") meter.chargeSearch(text, part);
};
const byContents: Cost = (values) => {
  for (const value of values) meter.chargeValue(value);
};

const NUMBER_STEPS = 200;
/** A message of protobuf is costly to make. */
const INSTANT_STEPS = 10;

/** By the name of the function; the others cost as much as the texts that they are given are long. */
const COSTS: Readonly<Record<string, Cost>> = {
  "_==_": byContents,
  "_!=_": byContents,
  // In a map a key is found without looking at the others.
  "@in": ([item, container]) => byContents(isCelList(container) ? [item ?? null, container] : [item ?? null]),
  contains: bySearch,
  indexOf: bySearch,
  lastIndexOf: bySearch,
  join: ([list, separator]) => {
    byContents([list ?? null]);
    if (isCelList(list) && typeof separator === "string")
      meter.chargeText({ length: list.size * separator.length });
  },
  // A number is formatted by what knows every language.
  format: ([text, list]) => {
    byContents([text ?? null, list ?? null]);
    if (typeof text === "string") meter.charge((text.split("%").length - 1) * NUMBER_STEPS);
  },
};

const LIST = listType(CelScalar.DYN);

const listFunctions: readonly CelFunc[] = [
  // The library's is a chain of lists, which takes the longer the more links it has.
  celFunc("_+_", [LIST, LIST], LIST, (a, b) => {
    meter.charge(a.size + b.size);
    return celList([...a, ...b]);
  }),
];

function metered(func: CelFunc): CelFunc {
  const { name, target } = func;
  const cost = COSTS[name] ?? byLength;
  const call = (self: CelValue | undefined, args: CelValue[]): CelInput => {
    cost(self === undefined ? args : [self, ...args]);
    const result = func.call(0, self, args);
    if (result === undefined) throw new Error("no such overload");
    // Thrown anew, so that the library adds which call it was.
    if (isCelError(result)) throw new Error(result.message);
    if (isReflectMessage(result)) meter.charge(INSTANT_STEPS);
    return result;
  };
  return target === undefined
    ? celFunc(name, func.arguments, func.result, (...args) => call(undefined, args))
    : celMethod(name, target, func.arguments, func.result, function (...args) {
        return call(this, args);
      });
}

const unmetered = celEnv({
  funcs: [
    ...strings,
    ...listFunctions,
    ...textFunctions(meter),
    ...timeFunctions(meter),
    ...versionFunctions(meter),
  ],
});

/** Used by every expression: it holds no state but the count of steps. */
export const environment: CelEnv = celEnv({
  funcs: [...Array.from(unmetered.funcs, metered), ...meterFunctions()],
});

/** What can be called by its name; operators are among them. */
export const functions: readonly CelFunc[] = [...unmetered.funcs];
