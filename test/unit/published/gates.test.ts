/** What a release must not be: vulnerable, larger than it was meant to be, or made of code that no test runs. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { coverageOf, uncovered } from "../../../release/coverage.ts";
import { readAudit } from "../../../release/dependencies.ts";
import { overBudget } from "../../../release/size.ts";

describe("the audit", () => {
  const audit = (severity: string, fixAvailable: boolean): string =>
    JSON.stringify({
      vulnerabilities: { ajv: { severity, range: "<8.21.0", fixAvailable } },
      metadata: { vulnerabilities: { [severity]: 1 } },
    });

  test("fails on a vulnerability that is high or critical, and says whether there is a cure", () => {
    assert.deepEqual(readAudit(audit("high", true)), {
      problems: ["ajv <8.21.0: high vulnerability, see npm audit fix"],
    });
    assert.deepEqual(readAudit(audit("critical", false)), {
      problems: ["ajv <8.21.0: critical vulnerability, there is no version without it yet"],
    });
  });

  test("continues with lesser ones, and with none", () => {
    assert.deepEqual(readAudit(audit("moderate", true)), { problems: [] });
    assert.deepEqual(readAudit('{"metadata": {"vulnerabilities": {}}}'), { problems: [] });
  });

  test("says why nothing was checked where the registry does not answer", () => {
    const answers = {
      '{"message": "405 Method Not Allowed"}': "405 Method Not Allowed",
      "": "npm audit printed no JSON",
    };
    for (const [printed, notChecked] of Object.entries(answers))
      assert.deepEqual(readAudit(printed), { problems: [], notChecked });
  });
});

test("what is shipped may grow by at most a tenth", () => {
  const budget = { program: 1000, package: 1000, directDependencies: 10, dependencies: 100 };
  assert.deepEqual(overBudget({ ...budget, program: 1100, dependencies: 90 }, budget), []);
  assert.deepEqual(overBudget({ ...budget, program: 1101, directDependencies: 12 }, budget), [
    "program: 1101, of 1000 in release/budget.json",
    "directDependencies: 12, of 10 in release/budget.json",
  ]);
});

describe("the coverage", () => {
  const file = (path: string, lines: number, branches: number): string =>
    `TN:\nSF:${path}\nDA:1,1\nBRF:100\nBRH:${branches}\nLF:100\nLH:${lines}\nend_of_record\n`;

  test("is counted by folder, and of the pure core together", () => {
    const lcov =
      file("src/extension/a.ts", 90, 10) + file("src/policy/b.ts", 95, 99) + file("src/policy/a.ts", 100, 96);
    assert.deepEqual(coverageOf(lcov), [
      { folder: "src/extension", lines: 90, branches: 10 },
      { folder: "src/policy", lines: 97.5, branches: 97.5 },
      { folder: "the pure core", lines: 97.5, branches: 97.5 },
    ]);
  });

  test("of the pure core has to be 95 %, of lines as of branches", () => {
    const lcov = (lines: number, branches: number): string =>
      file("src/policy/cel/a.ts", lines, branches) +
      file("src/memory/a.ts", 96, 96) +
      file("src/extension/a.ts", 1, 1);
    assert.deepEqual(uncovered(coverageOf(lcov(94, 94))), []);
    for (const [lines, branches, text] of [
      [93, 98, "94.5 % of lines, 97 % of branches"],
      [98, 93, "97 % of lines, 94.5 % of branches"],
    ] as const) {
      assert.deepEqual(uncovered(coverageOf(lcov(lines, branches))), [`the pure core: ${text}`]);
    }
  });
});
