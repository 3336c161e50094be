/** `hookpolicy test --mutate`: would the suites notice a mistake in the policies? */

import { servedHooks } from "../../../api/hook-catalog.ts";
import { CommandError, FAILED } from "../../command.ts";
import { policyKind, type RawObject } from "../../fleet/kinds.ts";
import { colourFor } from "../../terminal/colour.ts";
import { stderr, stdout } from "../../terminal/output.ts";
import { Progress } from "../../terminal/progress-line.ts";
import { DEFAULT_CAPI_MINOR } from "../begin.ts";
import type { Suite } from "../suite.ts";
import { runSuite } from "../run-suite.ts";
import { mutatedPolicies, type Mutant, type MutatedPolicy } from "./mutants.ts";
import { mutationJson, mutationLines, type MutationResult, scoreOf } from "./report.ts";

interface MutationFlags {
  readonly output: string;
  readonly failUnder?: number;
  readonly timeout: number;
  readonly color: boolean;
}

export async function testMutants(suites: readonly Suite[], flags: MutationFlags): Promise<void> {
  const end = performance.now() + flags.timeout;
  const progress = new Progress();
  const result = await runMutants(mutatedPolicies(suites, servedHooks(DEFAULT_CAPI_MINOR)), {
    hasTime: () => performance.now() < end,
    onProgress: (done, of) => progress.tell(() => `${done} of ${of} changes of policies`),
  });
  progress.end();
  if (flags.output === "json") stdout.json(mutationJson(result));
  else stdout.lines(mutationLines(result, colourFor(process.stdout, flags)));
  const { failUnder } = flags;
  // An unknown score misses the target.
  if (failUnder === undefined || (result.run === result.mutants && (scoreOf(result) ?? -1) >= failUnder))
    return;
  stderr.line(`--fail-under ${failUnder}: ${result.noticed} of ${result.mutants} mutants were noticed`);
  throw new CommandError(FAILED);
}

interface MutationOptions {
  /** Whether there is time for another mutant. */
  readonly hasTime: () => boolean;
  readonly onProgress: (done: number, of: number) => void;
}

/** Every suite must pass with the policies as they are. */
export async function runMutants(
  policies: readonly MutatedPolicy[],
  { hasTime, onProgress }: MutationOptions,
): Promise<MutationResult> {
  const survivors: Mutant[] = [];
  let run = 0;
  for (const { mutant, object, text, suites } of policies) {
    if (!hasTime()) break;
    let isNoticed = false;
    for (const suite of suites) isNoticed ||= await notices(suite, text, object);
    if (!isNoticed) survivors.push(mutant);
    run += 1;
    onProgress(run, policies.length);
  }
  return { mutants: policies.length, run, noticed: run - survivors.length, survivors };
}

async function notices(suite: Suite, text: string, mutant: RawObject): Promise<boolean> {
  const replace = (objects: readonly RawObject[]): readonly RawObject[] =>
    objects.map((object) =>
      policyKind(object) !== undefined && JSON.stringify(object) === text ? mutant : object,
    );
  const changed = { ...suite, objects: replace(suite.objects), created: suite.created.map(replace) };
  const { name, source } = suite;
  return (await runSuite({ name, source, suite: changed, problems: [] })).status !== "passed";
}
