/**
 * YAML as kubectl reads it: version 1.1, without the parts that its parser omits (sigs.k8s.io/yaml, goyaml.v2
 * resolve.go).
 */

import { type Document, LineCounter, parseAllDocuments, type Tags, YAMLError } from "yaml";
import type { FileProblem, Parsed, ParsedDocument, Position } from "./parsed.ts";
import { offsetOf } from "./position.ts";

/** Limit for the expansion of aliases: more is an attack or a mistake. */
const MAX_ALIASES = 100;

/** Never throws. A file with an error has no documents, because the content after the error is unreliable. */
export function parseYaml(text: string): Parsed {
  const lines = new LineCounter();
  const documents: ParsedDocument[] = [];
  const problems: Omit<FileProblem, "file">[] = [];
  try {
    for (const [index, document] of composed(text, lines).entries()) {
      // One error causes further ones after it.
      const [error] = [...document.errors, ...document.warnings];
      if (error !== undefined) problems.push({ ...place(error.pos[0], lines), message: describe(error) });
      const value = error === undefined ? valueOf(document) : undefined;
      if (value === undefined || value === null) continue;
      const position: ParsedDocument["position"] = (path, of) => place(offsetOf(document, path, of), lines);
      documents.push({ document: index + 1, value, position });
    }
  } catch (error) {
    problems.push({ message: describe(error) });
  }
  return problems.length > 0 ? { documents: [], problems } : { documents, problems };
}

function composed(text: string, lineCounter: LineCounter): readonly Document.Parsed[] {
  const options = {
    version: "1.1",
    customTags: withoutTimes,
    prettyErrors: false,
    logLevel: "silent",
  } as const;
  return [...parseAllDocuments(text, { ...options, lineCounter })];
}

/** Removes dates and base-60 numbers: 22:30 is a string. */
function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) =>
      typeof tag === "string" ||
      (tag.tag !== "tag:yaml.org,2002:timestamp" && !("format" in tag && tag.format === "TIME")),
  );
}

function valueOf(document: Document.Parsed): unknown {
  return document.toJS({ maxAliasCount: MAX_ALIASES });
}

export const TOO_DEEP = "is nested too deeply";

function describe(error: unknown): string {
  // During parsing, the library reports it as an error in the text.
  if (error instanceof Error && error.message === "Maximum call stack size exceeded") return TOO_DEEP;
  if (error instanceof ReferenceError)
    return `aliases (*) expand to too much: more than ${MAX_ALIASES} values`;
  if (error instanceof YAMLError && error.code === "DUPLICATE_KEY") return "duplicate key in a mapping";
  return `is not YAML: ${error instanceof Error ? error.message : "unknown error"}`;
}

function place(offset: number, lines: LineCounter): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}
