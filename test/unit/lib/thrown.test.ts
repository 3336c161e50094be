import assert from "node:assert/strict";
import test from "node:test";
import { codeOf, despite } from "../../../src/lib/thrown.ts";

const CODES: Readonly<Record<string, { readonly thrown: unknown; readonly code: string }>> = {
  "a system error": { thrown: coded("ENOENT"), code: "ENOENT" },
  "an error with a number": { thrown: coded(20), code: "" },
  "an error whose code is undefined": { thrown: coded(undefined), code: "" },
  "an error without a code": { thrown: new Error("plain"), code: "" },
  "an object that is no error": { thrown: { code: "ENOENT" }, code: "" },
};
for (const [name, { thrown, code }] of Object.entries(CODES)) {
  test(`the code of ${name} is "${code}"`, () => assert.equal(codeOf(thrown), code));
}

function coded(code: unknown): Error {
  return Object.assign(new Error("failed"), { code });
}

test("work that fails with an expected error is repeated after a preparation, but not for ever", async () => {
  const conflict = new Error("conflict");
  let prepared = 0;
  const afterFailures = async (count: number, error = conflict): Promise<number> => {
    prepared = 0;
    return await despite(
      (thrown) => thrown === conflict,
      async () => (prepared < count ? await Promise.reject(error) : prepared),
      async () => void (prepared += 1),
    );
  };
  assert.equal(await afterFailures(2), 2);
  await assert.rejects(afterFailures(100), conflict);
  assert.equal(prepared, 5);
  await assert.rejects(afterFailures(1, new Error("forbidden")), /forbidden/);
  assert.equal(prepared, 0);
});
