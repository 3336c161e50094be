/** Formats the problem of a file for people. */

import type { FileProblem } from "../files/parsed.ts";

export function problemLine({ file, line, column, message }: FileProblem): string {
  const place = [file === "-" ? "standard input" : file, line, column].filter((part) => part !== undefined);
  return `error: ${place.join(":")}: ${message}`;
}
