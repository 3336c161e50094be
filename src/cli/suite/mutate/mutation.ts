/** `hookpolicy test --mutate`: would the suites notice a mistake in the policies? */

import { CommandError, FAILED } from "../../command.ts";
import { policyKind, type RawObject } from "../../fleet/kinds.ts";
import { type Colour, colourFor } from "../../terminal/colour.ts";
import { stderr, stdout } from "../../terminal/output.ts";
import { Progress } from "../../terminal/progress-line.ts";
import { paragraphs } from "../../terminal/tree.ts";
import { suiteOptions } from "../begin.ts";
import type { Suite } from "../suite.ts";
import { runSuite } from "../run-suite.ts";
import { mutatedPolicies, type Mutant, type MutatedPolicy } from "./mutants.ts";

interface MutationFlags {
  readonly output: string;
  readonly failUnder?: number;
  readonly timeout: number;
  readonly color: boolean;
}

export async function testMutants(suites: readonly Suite[], flags: MutationFlags): Promise<void> {
  const end = performance.now() + flags.timeout;
  const hasTime = (): boolean => performance.now() < end;
  const progress = new Progress();
  const result = await runMutants(
    mutatedPolicies(suites, suiteOptions().served, hasTime),
    hasTime,
    (done, of) => progress.tell(() => `${done} of ${of} changes of policies`),
  );
  progress.end();
  if (flags.output === "json") stdout.json(result);
  else stdout.lines(mutationLines(result, colourFor(process.stdout, flags)));
  const { failUnder } = flags;
  const { mutants, run, noticed, score = -1 } = result;
  // An unknown score misses the target.
  if (failUnder === undefined || (run === mutants && score >= failUnder)) return;
  stderr.line(`--fail-under ${failUnder}: ${noticed} of ${mutants} mutants were noticed`);
  throw new CommandError(FAILED);
}

/** Schema: schemas/output/testmutants.json. */
interface MutationResult {
  readonly mutants: number;
  /** Mutants that the suites were run against; fewer if the time was up. */
  readonly run: number;
  readonly noticed: number;
  /** In percent, rounded down: 100 means that every mutant was noticed. Absent: there is none. */
  readonly score?: number;
  readonly survivors: readonly Mutant[];
}

/** Every suite must pass with the policies as they are. `hasTime`: for another mutant. */
export async function runMutants(
  policies: readonly MutatedPolicy[],
  hasTime: () => boolean,
  onProgress: (done: number, of: number) => void,
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
  const noticed = run - survivors.length;
  const score = run > 0 && { score: Math.floor((noticed / run) * 100) };
  return { mutants: policies.length, run, noticed, ...score, survivors };
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

function mutationLines(result: MutationResult, colour: Colour): string[] {
  const { survivors } = result;
  return paragraphs([
    survivors.length === 0 ? [] : [colour.bold("No suite noticed:")],
    ...survivors.map((mutant) => survivorLines(mutant, colour)),
    totalLines(result, colour),
  ]);
}

function survivorLines(mutant: Mutant, colour: Colour): string[] {
  const { file, line, column, policy, path, before, after } = mutant;
  const change =
    after === undefined ? " is removed" : `: ${colour.red(before ?? "none")} → ${colour.green(after)}`;
  return [`${policy}  ${colour.dim(`${file}:${line}:${column}`)}`, `  ${path}${change}`];
}

function totalLines(result: MutationResult, colour: Colour): string[] {
  const { mutants, run, noticed, score, survivors } = result;
  const text = `${noticed} of ${run} mutants noticed${score === undefined ? "" : `: ${score} %`}`;
  const left = mutants - run;
  return [
    (survivors.length === 0 ? colour.green : colour.red)(text),
    ...(left > 0
      ? [colour.red(`the time was up: no suite was run against at least ${left} more (--timeout)`)]
      : []),
  ];
}
