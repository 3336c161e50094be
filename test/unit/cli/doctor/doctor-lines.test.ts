import assert from "node:assert/strict";
import { test } from "node:test";
import { doctorLines } from "../../../../src/cli/doctor/report.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { printed } from "../printed.ts";

test("for people: a line for each check, one more for its remedy, and a sum", () => {
  const checks = [
    { name: "a", state: "ok", detail: "fine" },
    { name: "b", state: "error", detail: "bad", remedy: "cure it" },
    {
      name: "c",
      state: "error",
      detail: "2 worse",
      remedy: "cure d",
      problems: [
        { detail: "d", remedy: "cure d" },
        { detail: "e", remedy: "cure e" },
      ],
    },
  ] as const;
  const text = `STATE   CHECK   FOUND
ok      a       fine
error   b       bad
                → cure it
error   c       2 worse
                d
                → cure d
                e
                → cure e

1 ok, 2 errors
`;
  assert.equal(printed(doctorLines(checks, PLAIN)), text);
});
