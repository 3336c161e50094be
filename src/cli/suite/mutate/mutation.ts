/** Runs the suites against each mutant of their policies, and counts those that they notice. */

import { policyKind, type RawObject } from "../../fleet/kinds.ts";
import type { LoadedSuite, Suite } from "../suite.ts";
import { runSuite } from "../run-suite.ts";
import type { Mutant, MutatedPolicy } from "./mutants.ts";

export interface MutationResult {
  /** If the time was up: an upper limit, because some of the rest may be invalid. */
  readonly mutants: number;
  /** Mutants that the suites were run against; fewer if the time was up. */
  readonly run: number;
  readonly noticed: number;
  /** Those that no suite noticed. */
  readonly survivors: readonly Mutant[];
}

export interface MutationOptions {
  /** Whether there is time for another mutant. */
  readonly hasTime: () => boolean;
  readonly onProgress: (done: number, of: number) => void;
}

/** Every suite must pass with the policies as they are. */
export async function runMutants(
  policies: readonly MutatedPolicy[],
  { hasTime, onProgress }: MutationOptions,
): Promise<MutationResult> {
  const all = policies.flatMap(({ edits, ...policy }) => edits.map((edit) => ({ ...policy, edit })));
  const survivors: Mutant[] = [];
  let [run, left] = [0, all.length];
  for (const { text, suites, edit, mutantOf } of all) {
    if (!hasTime()) break;
    left -= 1;
    const mutant = mutantOf(edit);
    if (mutant === undefined) continue;
    run += 1;
    if (!(await anyNotices(suites, text, mutant))) survivors.push(mutant);
    onProgress(all.length - left, all.length);
  }
  return { mutants: run + left, run, noticed: run - survivors.length, survivors };
}

async function anyNotices(suites: readonly Suite[], text: string, mutant: Mutant): Promise<boolean> {
  for (const suite of suites) if (await notices(suite, text, mutant)) return true;
  return false;
}

async function notices(suite: Suite, text: string, { object: mutant }: Mutant): Promise<boolean> {
  const replace = (objects: readonly RawObject[]): readonly RawObject[] =>
    objects.map((object) =>
      policyKind(object) !== undefined && JSON.stringify(object) === text ? mutant : object,
    );
  const changed = { ...suite, objects: replace(suite.objects), created: suite.created.map(replace) };
  const { name, source } = suite;
  const loaded: LoadedSuite = { name, source, suite: changed, problems: [] };
  return (await runSuite(loaded)).status !== "passed";
}

/** In percent, rounded down: 100 means that every mutant was noticed. `undefined`: there is none. */
export function scoreOf({ run, noticed }: MutationResult): number | undefined {
  return run === 0 ? undefined : Math.floor((noticed / run) * 100);
}
