/** What krew and Homebrew are told of the executables of a release. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { parse } from "yaml";
import { type Download, homebrewFormula, krewManifest, type Release } from "../../../release/downloads.ts";

const SHA256 = "0123456789abcdef".repeat(4);

function release(...platforms: readonly string[]): Release {
  const downloads = platforms.map((platform): Download => ({
    platform,
    url: `https://downloads.example.com/${platform}.tar.gz`,
    sha256: SHA256,
  }));
  const homepage = "https://downloads.example.com";
  return { name: "hookpolicy", version: "1.2.3", license: "Apache-2.0", homepage, downloads };
}

test("krew finds each platform by the names that Go has for it", () => {
  const { spec } = parse(krewManifest(release("linux-x64", "darwin-arm64", "win32-x64")));
  assert.equal(spec.version, "v1.2.3");
  assert.match(
    spec.caveats,
    /^ {2}ln -s "\$\(command -v kubectl-hookpolicy\)" .*\/kubectl_complete-hookpolicy"$/m,
  );
  assert.deepEqual(
    spec.platforms.map(({ selector, bin }: { selector: { matchLabels: object }; bin: string }) => ({
      ...selector.matchLabels,
      bin,
    })),
    [
      { os: "linux", arch: "amd64", bin: "hookpolicy" },
      { os: "darwin", arch: "arm64", bin: "hookpolicy" },
      { os: "windows", arch: "amd64", bin: "hookpolicy.exe" },
    ],
  );
  for (const { sha256, uri } of spec.platforms) {
    assert.equal(sha256, SHA256);
    assert.match(uri, /^https:\/\/downloads\.example\.com\/[-\w]+\.tar\.gz$/);
  }
});

test("a platform that krew has no name for is an error", () => {
  assert.throws(
    () => krewManifest(release("aix-ppc64")),
    /platform aix-ppc64: expected one such as linux-x64/,
  );
});

test("Homebrew gets a block for each system that has an executable, and is told where there is none", () => {
  const both = homebrewFormula(release("darwin-arm64", "linux-x64", "win32-x64"));
  assert.match(both, /on_macos do\n {4}on_arm do\n {6}url ".*darwin-arm64\.tar\.gz"/);
  assert.match(both, /on_linux do\n {4}on_intel do\n {6}url ".*linux-x64\.tar\.gz"/);
  assert.doesNotMatch(both, /win32|depends_on/);
  const linux = homebrewFormula(release("linux-x64"));
  assert.match(linux, /^ {2}depends_on :linux$/m);
  assert.doesNotMatch(linux, /on_macos/);
});

test("the formula is Ruby", (t) => {
  const { error, status, stderr } = spawnSync("ruby", ["-c"], {
    input: homebrewFormula(release("darwin-arm64", "linux-x64", "linux-arm64")),
    encoding: "utf8",
  });
  if (error !== undefined) t.skip("ruby is not installed");
  else assert.equal(status, 0, stderr);
});
