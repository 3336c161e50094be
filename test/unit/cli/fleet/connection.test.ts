/** kubectl's flags of the connection, as they are repeated in printed commands. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { addConnectionFlags, connectionWords } from "../../../../src/cli/fleet/connection.ts";

const wordsOf = (typed: readonly string[]): string => {
  const command = addConnectionFlags(new Command().exitOverride()).parse(typed, { from: "user" });
  return connectionWords(command.opts());
};

const cases: readonly [typed: readonly string[], words: string][] = [
  [[], ""],
  [["--context", "prod"], " --context prod"],
  [
    ["-s", "https://host:6443", "--insecure-skip-tls-verify"],
    " --server https://host:6443 --insecure-skip-tls-verify",
  ],
  [["--as", "it's me", "--as-group=a", "--as-group=b"], ` --as 'it'\\''s me' --as-group a --as-group b`],
  [["--request-timeout", "5"], " --request-timeout 5000ms"],
  [["--request-timeout=1m30s"], " --request-timeout 90000ms"],
  [["--token", "s3cr3t", "--username", "jane", "--password", "s3cr3t"], " --username jane"],
];

for (const [typed, words] of cases)
  test(`${typed.join(" ") || "nothing"} is repeated as${words || " nothing"}`, () => {
    assert.equal(wordsOf(typed), words);
    assert.equal(wordsOf([]), "");
  });
