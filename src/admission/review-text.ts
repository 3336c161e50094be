/** Limits of the texts for the user who applies a policy. */

import { printable } from "../lib/printable.ts";
import { truncate } from "../policy/message.ts";
import type { FieldError } from "../policy/validation/schema.ts";

/** The API server truncates longer warnings, and drops all after 4096 bytes (apiserver: endpoints/filters/warning.go). */
const MAX_WARNING = 256;
const MAX_WARNINGS = 4000;

/** Makes warnings short enough for the API server to pass on, and printable, because they go into HTTP headers. */
export function joinWarnings(warnings: readonly string[]): string[] {
  const shown: string[] = [];
  let left = MAX_WARNINGS - MAX_WARNING;
  for (const [index, raw] of [...new Set(warnings)].entries()) {
    const warning = truncate(printable(raw), MAX_WARNING);
    left -= warning.length;
    if (left < 0) return [...shown, `and ${warnings.length - index} more warnings`];
    shown.push(warning);
  }
  return shown;
}

/** The id of a warning is never truncated. */
export function describe({ path, message, id }: FieldError): string {
  const text = path === "" ? message : `${path}: ${message}`;
  const name = id === undefined ? "" : ` [${id}]`;
  return `${name === "" ? text : truncate(text, MAX_WARNING - name.length)}${name}`;
}
