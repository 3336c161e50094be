/** `hookpolicy test --mutate`: would the suites notice a mistake in the policies? */

import { servedHooks } from "../../../api/hook-catalog.ts";
import { CommandError, FAILED } from "../../command.ts";
import { colourFor } from "../../terminal/colour.ts";
import { stderr, stdout } from "../../terminal/output.ts";
import { Progress } from "../../terminal/progress-line.ts";
import { DEFAULT_CAPI_MINOR } from "../begin.ts";
import type { Flags } from "../flags.ts";
import type { Suite } from "../suite.ts";
import { mutatedPolicies } from "./mutants.ts";
import { type MutationResult, runMutants, scoreOf } from "./mutation.ts";
import { mutationJson, mutationLines } from "./report.ts";

export async function testMutants(suites: readonly Suite[], flags: Flags): Promise<void> {
  const end = performance.now() + flags.timeout;
  const progress = new Progress();
  const result = await runMutants(mutatedPolicies(suites, servedHooks(DEFAULT_CAPI_MINOR)), {
    hasTime: () => performance.now() < end,
    onProgress: (done, of) => progress.tell(() => `${done} of ${of} changes of policies`),
  });
  progress.end();
  if (flags.output === "json") stdout.json(mutationJson(result));
  else stdout.lines(mutationLines(result, colourFor(process.stdout, flags)));
  const missed = missedTarget(result, flags.failUnder);
  if (missed === undefined) return;
  stderr.line(missed);
  throw new CommandError(FAILED);
}

/** An unknown score misses the target. */
function missedTarget(result: MutationResult, failUnder: number | undefined): string | undefined {
  if (failUnder === undefined) return undefined;
  const score = scoreOf(result);
  if (score === undefined) return `--fail-under ${failUnder}: no mutant was run`;
  if (result.run < result.mutants)
    return `--fail-under ${failUnder}: the time was up before every mutant was run`;
  return score < failUnder ? `--fail-under ${failUnder}: the score is ${score}` : undefined;
}
