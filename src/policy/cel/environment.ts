/** The functions that expressions can call: CEL's own with metering, and those of HookPolicy. */

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
import { COMPILE_STEPS, meter, meterFunctions, READ_STEPS, WORK_STEPS } from "./meter.ts";
import { textFunctions } from "./cel-text.ts";
import { timeFunctions } from "./cel-time.ts";
import { versionFunctions } from "./cel-version.ts";

/** The cost of a call in addition to one step per part of an expression. */
type Cost = (values: readonly CelValue[]) => void;

const byLength: Cost = (values) => {
  for (const value of values) {
    if (typeof value === "string" || value instanceof Uint8Array) meter.chargeText(value);
    // To choose an overload, the library asks again and again for the type of a message.
    else if (isReflectMessage(value)) meter.charge(READ_STEPS);
  }
};
const bySearch: Cost = ([text, part]) => {
  if (typeof text === "string" && typeof part === "string") meter.chargeSearch(text, part);
};
const byContents: Cost = (values) => {
  for (const value of values) meter.chargeValue(value);
};

/** By function name; other functions cost as much as the length of their text arguments. */
const COSTS: Readonly<Record<string, Cost>> = {
  "_==_": byContents,
  "_!=_": byContents,
  // A map finds a key without reading the others.
  "@in": ([item, container]) => byContents(isCelList(container) ? [item ?? null, container] : [item ?? null]),
  contains: bySearch,
  indexOf: bySearch,
  lastIndexOf: bySearch,
  join: ([list, separator]) => {
    byContents([list ?? null]);
    if (isCelList(list) && typeof separator === "string")
      meter.chargeText({ length: list.size * separator.length });
  },
  // Numbers are formatted by Intl, which supports every language and is slow.
  format: ([text, list]) => {
    byContents([text ?? null, list ?? null]);
    if (typeof text === "string") meter.charge((text.split("%").length - 1) * 2 * COMPILE_STEPS);
  },
};

const LIST = listType(CelScalar.DYN);

function metered(func: CelFunc): CelFunc {
  const { name, target } = func;
  const cost = COSTS[name] ?? byLength;
  const call = (self: CelValue | undefined, args: CelValue[]): CelInput => {
    cost(self === undefined ? args : [self, ...args]);
    const result = func.call(0, self, args);
    if (result === undefined || isCelError(result)) {
      // It makes several Errors.
      meter.charge(WORK_STEPS);
      // Thrown, so that the library adds the position of the call.
      throw new Error(result === undefined ? "no such overload" : result.message);
    }
    // A protobuf message is costly to create.
    if (isReflectMessage(result)) meter.charge(WORK_STEPS);
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
    // The library's version is a chain of lists, which becomes slower with each link.
    celFunc("_+_", [LIST, LIST], LIST, (a, b) => {
      meter.charge(a.size + b.size);
      return celList([...a, ...b]);
    }),
    ...textFunctions,
    ...timeFunctions,
    ...versionFunctions,
  ],
});

/** Shared by all expressions, as its only state is the count of steps. */
export const environment: CelEnv = celEnv({
  funcs: [...Array.from(unmetered.funcs, metered), ...meterFunctions()],
});

export const functions: readonly CelFunc[] = [...unmetered.funcs];
