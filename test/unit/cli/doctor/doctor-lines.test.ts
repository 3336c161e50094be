import assert from "node:assert/strict";
import { test } from "node:test";
import { doctorLines } from "../../../../src/cli/doctor/report.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { printed } from "../printed.ts";

test("for people: a line for each check, one for each remedy, and a sum", () => {
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
        { detail: "e", remedy: "cure e and f" },
        { detail: "f", remedy: "cure e and f" },
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
                f
                → cure e and f

1 ok, 2 errors
`;
  assert.equal(printed(doctorLines(checks, { colour: PLAIN })), text);
});

test("on a narrow terminal, findings are wrapped in their column, and remedies stay one line to copy", () => {
  const detail = "Deployment team-a/op: 0 of 2 are available";
  const remedy = "kubectl describe pods -n team-a -l a=b";
  const lines = doctorLines([{ name: "a", state: "error", detail, remedy }], { colour: PLAIN, columns: 40 });
  assert.equal(
    printed(lines),
    `STATE   CHECK   FOUND
error   a       Deployment team-a/op: 0
                of 2 are available
                → kubectl describe pods -n team-a -l a=b

1 error
`,
  );
});
