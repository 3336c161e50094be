/** Which functions convert a value whose type a call does not take. */

import { DYN, fits, isJson, type Signature, SIGNATURES, type Type } from "./cel-types.ts";
import type { Call } from "./syntax.ts";

/** For each function: the types that it converts, and the form that a text must have. */
export const CONVERSIONS: Readonly<
  Record<string, { readonly from: readonly string[]; readonly form?: string }>
> = {
  bool: { from: ["string"], form: '"true" or "false"' },
  double: { from: ["string", "int", "uint"], form: 'a number such as "0.5"' },
  duration: { from: ["string"], form: 'hours, minutes and seconds such as "168h" or "1h30m"' },
  int: { from: ["string", "uint"], form: 'an integer such as "3"' },
  semver: { from: ["string"], form: 'a version such as "v1.34.0"' },
  string: { from: ["int", "uint", "double", "bool", "timestamp", "duration"] },
  timestamp: { from: ["string"], form: 'a time such as "2026-11-21T12:00:00Z"' },
  uint: { from: ["string"], form: 'an integer such as "3"' },
};

/** The types of a call's target and arguments. */
export type GivenTypes = Pick<Signature, "target" | "args">;

export interface Misfit {
  readonly given: Type;
  readonly wanted: Type;
  readonly signature: GivenTypes;
}

/** The signatures in which only one value has a wrong type, the most useful first; none if a signature fits. */
export function misfits(
  signatures: readonly Signature[],
  given: GivenTypes,
  accepts = fits,
): readonly Misfit[] {
  const types = [given.target, ...given.args];
  const wrong = signatures.map((signature) =>
    [signature.target, ...signature.args].flatMap((wanted, index): Misfit[] => {
      const type = types[index];
      const isRight = wanted === undefined || type === undefined || accepts(type, wanted);
      return isRight ? [] : [{ given: type, wanted, signature }];
    }),
  );
  if (wrong.some(({ length }) => length === 0)) return [];
  // A text is most often meant as what stands beside it, or as a time.
  const usefulness = (misfit: Misfit): number =>
    4 * Number(misfit.given.kind === "string") +
    2 * Number(types.some((type) => type !== misfit.given && type?.kind === misfit.wanted.kind)) +
    Number(misfit.wanted.kind === "timestamp");
  return wrong
    .filter(({ length }) => length === 1)
    .flat()
    .toSorted((a, b) => usefulness(b) - usefulness(a));
}

/** What follows a message about the value; "" if no function converts it. */
export function conversionHint({ given, wanted }: Pick<Misfit, "given" | "wanted">): string {
  const converts = CONVERSIONS[wanted.kind]?.from.includes(isJson(given) ? "string" : given.kind) === true;
  return converts ? `: convert it with ${wanted.kind}(…)` : "";
}

/** The types that no value of an object has. */
const NOT_JSON: readonly string[] = ["timestamp", "duration", "semver", "bytes", "type"];

function mayFit(given: Type, taken: Type): boolean {
  return isJson(given) ? !NOT_JSON.includes(taken.kind) : fits(given, taken);
}

/** Why the call never has a result or, of a comparison, is never true. */
export function describeNeverJson({ function: name }: Call, given: GivenTypes): string | undefined {
  const alike = (SIGNATURES.get(name) ?? []).filter(
    ({ target, args }) =>
      (target === undefined) === (given.target === undefined) && args.length === given.args.length,
  );
  const [a = DYN, b = DYN] = given.args;
  const wrong =
    name === "_==_" || name === "_!=_"
      ? [
          { given: a, wanted: b },
          { given: b, wanted: a },
        ].filter((each) => !mayFit(each.given, each.wanted))
      : misfits(alike, given, mayFit);
  const [best] = wrong;
  if (best === undefined || !isJson(best.given)) return undefined;
  return `objects are JSON, which has no ${best.wanted.kind}${conversionHint(best)}`;
}
