/** The formats of the schemas, for ajv, with the meaning that Kubernetes and HookPolicy give them. */

import { RE2JS } from "@bufbuild/re2";
import { parseDuration } from "../../lib/duration.ts";
import { parseInstant } from "../window/moment.ts";

/** Ranges narrower than the formats' own are in the schemas. A format without an entry here does not compile. */
export const FORMATS = {
  int32: { type: "number", validate: (value: number) => Math.abs(value) < 2 ** 31 },
  "date-time": { type: "string", validate: (value: string) => parseInstant(value) !== undefined },
  duration: { type: "string", validate: (value: string) => parseDuration(value) !== undefined },
  regex: { type: "string", validate: isRegex },
} as const;

function isRegex(value: string): boolean {
  try {
    RE2JS.compile(value);
    return true;
  } catch {
    return false;
  }
}
