import assert from "node:assert/strict";
import test from "node:test";
import { codeOf } from "../../../src/lib/thrown.ts";

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
