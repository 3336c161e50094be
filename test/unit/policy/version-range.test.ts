import assert from "node:assert/strict";
import test from "node:test";
import { compileRange, prereleaseHint, rangeProblem } from "../../../src/policy/version-range.ts";

type Verdict = "inside" | "outside" | "no version";

const VERDICTS: readonly (readonly [range: string, version: string, verdict: Verdict])[] = [
  [">=1.31.0", "v1.31.0", "inside"],
  [">=1.31.0", "1.31.0", "inside"],
  [">=1.31", "v1.31.0+k3s1", "inside"],
  [">=1.31.0", "v1.30.9", "outside"],
  [">=v1.30.0 <v1.32.0", "v1.31.4", "inside"],
  [">=1.30.0 <1.32.0", "v1.32.0", "outside"],
  ["1.30.0 - 1.31.0", "v1.30.7", "inside"],
  ["1.30.x || 1.32.x", "v1.31.0", "outside"],
  ["~1.31.0", "v1.31.9", "inside"],
  ["*", "v1.31.0", "inside"],
  // A pre-release is not yet the version, and only a range that names it lets it in.
  [">=1.31.0", "v1.32.0-rc.1", "outside"],
  [">=1.31.0", "v1.31.0-rc.1", "outside"],
  ["<1.31.0", "v1.31.0-rc.1", "outside"],
  ["*", "v1.31.0-rc.1", "outside"],
  [">=1.31.0-rc.0", "v1.31.0-rc.1", "inside"],
  [">=1.31.0-rc.0", "v1.32.0-rc.1", "outside"],
  // Bounds that end with -0 let in what vendors and Helm's users call a version.
  [">=1.34.0-0 <1.36.0-0", "v1.34.2-k0s.0", "inside"],
  [">=1.34.0-0 <1.36.0-0", "v1.34.4-eks-1-34-9", "inside"],
  [">=1.34.0-0 <1.36.0-0", "v1.35.0", "inside"],
  [">=1.34.0-0 <1.36.0-0", "v1.36.0-rc.1", "outside"],
  [">=1.34.0-0 <1.36.0-0", "v1.33.9-k0s.0", "outside"],
  ["~1.34.0", "v1.34.2-k0s.0", "outside"],
  [">=1.31.0", "1.31", "no version"],
  [">=1.31.0", "", "no version"],
  [">=1.31.0", "stable", "no version"],
  [">=1.31.0", "v1.31.0.1", "no version"],
  [">=1.31.0", "99999999999999999999.0.0", "no version"],
];

const PROBLEMS: Readonly<Record<string, RegExp>> = {
  ">= 1.29, < 1.31": /write a space instead of the comma/,
  "": /has every version/,
  " ": /has every version/,
  ">=1.30.0 ||": /has every version/,
  "||": /has every version/,
  "1.30.0-1.31.0": /spaces around the hyphen/,
  "v1.30.0-v1.31.0": /spaces around the hyphen/,
  latest: /expected a range of versions/,
  "=>1.30": /expected a range of versions/,
  ">=1.30 and <1.31": /expected a range of versions/,
  "1.30.0.0": /expected a range of versions/,
};

for (const [range, version, verdict] of VERDICTS) {
  test(`${version === "" ? "nothing" : version} and ${range}: ${verdict}`, () => {
    assert.equal(rangeProblem(range), undefined);
    const inside = compileRange(range)(version);
    assert.equal(inside === undefined ? "no version" : inside ? "inside" : "outside", verdict);
  });
}

for (const [range, problem] of Object.entries(PROBLEMS)) {
  test(`the range ${JSON.stringify(range)} is refused with a hint`, () => {
    assert.match(rangeProblem(range) ?? "", problem);
    assert.throws(() => compileRange(range), problem);
  });
}

test("a message says how a version gets in that only its pre-release keeps out", () => {
  assert.match(prereleaseHint(">=1.34.0 <1.36.0", "v1.34.2-k0s.0") ?? "", /end with -0 let it in/);
  for (const version of ["v1.34.2", "v1.36.0-rc.1", "v1.33.0-k0s.0", "stable"])
    assert.equal(prereleaseHint(">=1.34.0 <1.36.0", version), undefined, version);
  assert.equal(prereleaseHint(">=1.34.0-0 <1.36.0-0", "v1.33.0-k0s.0"), undefined);
});
