/** kubectl takes its flags before the command as well. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { hookpolicy } from "./program.ts";

const NOWHERE = { env: { KUBECONFIG: "/no/such/file" } };

const places: Readonly<Record<string, readonly [before: string, behind: string]>> = {
  "a flag with a value": ["--context local get -A", "get -A --context local"],
  "a value behind an equals sign": ["--context=get get", "get --context=get"],
  "a short flag": ["-n team-a explain prod-1", "explain prod-1 -n team-a"],
  "a kubeconfig that is missing": ["--kubeconfig x get -A", "get -A --kubeconfig x"],
  "a flag of the program, too": [
    "--no-color --as=jane rollout status",
    "rollout status --no-color --as=jane",
  ],
};

for (const [name, [before, behind]] of Object.entries(places))
  test(`${name} means the same before the command and behind it`, async () => {
    const outcome = await hookpolicy(before.split(" "), NOWHERE);
    assert.deepEqual(outcome, await hookpolicy(behind.split(" "), NOWHERE));
    assert.match(outcome.stderr, /^error: kubeconfig .*: no such file\n$/);
  });

const wrong: Readonly<Record<string, readonly [words: readonly string[], says: RegExp]>> = {
  "an unknown flag": [["--foo", "get"], /^error: unknown option '--foo'/],
  "a flag without a command": [["--context", "local"], /^error: unknown option '--context'/],
  "a flag of another command": [["--fail-on", "any", "get"], /^error: unknown option '--fail-on'/],
};

for (const [name, [words, says]] of Object.entries(wrong))
  test(`${name} is an error`, async () => {
    const { code, stderr } = await hookpolicy(words, NOWHERE);
    assert.equal(code, 2);
    assert.match(stderr, says);
  });
