/**
 * YAML as kubectl reads it: version 1.1, without the parts that its parser omits (sigs.k8s.io/yaml, goyaml.v2
 * resolve.go).
 */

import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type Tags,
  visit,
  YAMLError,
} from "yaml";
import type { Progress } from "../terminal/progress-line.ts";
import type { FileProblem, ParsedDocument, ParsedFile, Part } from "./parsed.ts";
import type { Position } from "../../policy/cel/syntax.ts";
import { stepsOf } from "../../lib/field-path.ts";
import { mistakeOf, whyUnreadable } from "./yaml-mistake.ts";

/** Limit for the expansion of aliases: more is an attack or a mistake. */
const MAX_ALIASES = 100;

type Problem = Omit<FileProblem, "file">;

/** Never throws. A file with an error has no documents, because the content after the error is unreliable. */
export function parseYaml(text: string, progress?: Progress): ParsedFile {
  const documents: ParsedDocument[] = [];
  const problems: Problem[] = [];
  for (const chunk of chunksOf(text)) {
    progress?.tell(() => `read ${chunk.firstLine} lines`);
    for (const result of parseChunk(chunk)) {
      if ("problem" in result) problems.push(result.problem);
      else if (result.value !== undefined && result.value !== null)
        documents.push({ text: chunk.text, ...result });
    }
  }
  return problems.length > 0 ? { documents: [], problems } : { documents, problems };
}

type Result = Pick<ParsedDocument, "value" | "position"> | { readonly problem: Problem };

function parseChunk(chunk: Chunk): readonly Result[] {
  try {
    const { documents, lines } = composed(chunk.text);
    return documents.map((document, index): Result => {
      // An error causes further ones after it. An unknown tag is only a warning, and may be the cause.
      const [error] = [...document.errors.slice(0, 1), ...document.warnings].toSorted(
        (a, b) => a.pos[0] - b.pos[0],
      );
      if (error !== undefined) return { problem: problemOf(error, lines, chunk) };
      return resultOf(document, { lines, chunk, index });
    });
  } catch (error) {
    return [{ problem: { line: chunk.firstLine, column: 1, message: describe(error, chunk) } }];
  }
}

interface Composed {
  readonly lines: LineCounter;
  readonly chunk: Chunk;
  readonly index: number;
}

function resultOf(document: Document.Parsed, { lines, chunk, index }: Composed): Result {
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { value, position: (path, of = "value") => positionIn(chunk, index, path, of) };
  } catch (error) {
    return { problem: { ...place(lostAlias(document), lines, chunk), message: describe(error, chunk) } };
  }
}

/** The offset of the first alias without an anchor; 0: there is none. */
function lostAlias(document: Document.Parsed): number {
  let offset = 0;
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return undefined;
      offset = startOf(alias, 0);
      return visit.BREAK;
    },
  });
  return offset;
}

function composed(text: string) {
  const lines = new LineCounter();
  const options = {
    version: "1.1",
    customTags: asKubectl,
    prettyErrors: false,
    logLevel: "silent",
    lineCounter: lines,
  } as const;
  return { documents: [...parseAllDocuments(text, options)], lines };
}

/** The last chunk with a known position: the trees of all documents of a large file would take a gigabyte. */
let last: (ReturnType<typeof composed> & { readonly chunk: Chunk }) | undefined;

function positionIn(chunk: Chunk, index: number, path: string, of: Part): Position {
  if (last?.chunk !== chunk) last = { chunk, ...composed(chunk.text) };
  const document = last.documents[index];
  const offset = document === undefined ? 0 : offsetOf(document, path, of);
  return place(offset, last.lines, chunk);
}

/** The library takes these for the number NaN. */
const WITHOUT_DIGIT = {
  tag: "tag:yaml.org,2002:str",
  default: true,
  test: /^[-+]?(?:[._]*[eE][-+]?[0-9]+|\.[._]*)$/,
  resolve: (text: string) => text,
} as const;

/** Removes dates, base-60 numbers and numbers without a digit: 22:30 and e1 are strings. */
function asKubectl(tags: Tags): Tags {
  const others = tags.filter(
    (tag) =>
      typeof tag === "string" ||
      (tag.tag !== "tag:yaml.org,2002:timestamp" && !("format" in tag && tag.format === "TIME")),
  );
  return [WITHOUT_DIGIT, ...others];
}

export const TOO_DEEP = "is nested too deeply";

function problemOf(error: YAMLError, lines: LineCounter, chunk: Chunk): Problem {
  const { offset, message } = (error.code === "DUPLICATE_KEY" ? undefined : whyUnreadable(chunk.text)) ??
    mistakeOf(error, chunk.text) ?? { offset: error.pos[0], message: describe(error, chunk) };
  return { ...place(offset, lines, chunk), message };
}

function describe(error: unknown, { text }: Chunk): string {
  // While it parses, the library reports this as an error in the text.
  if (error instanceof Error && error.message === "Maximum call stack size exceeded") return TOO_DEEP;
  if (error instanceof ReferenceError) {
    const [, name] = /^Unresolved alias .*: (.*)$/.exec(error.message) ?? [];
    return name === undefined
      ? `aliases (*) expand to too much: more than ${MAX_ALIASES} values`
      : `*${name} refers to an anchor (&${name}) that is nowhere: put the value in quotes`;
  }
  if (error instanceof YAMLError && error.code === "DUPLICATE_KEY") return duplicateKey(text, error.pos[0]);
  return `is not YAML: ${error instanceof Error ? error.message : "unknown error"}`;
}

const TOP_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata", "spec"];

function duplicateKey(text: string, offset: number): string {
  const [, quoted, plain] =
    /^(?:"([^"\n]*)"|'?([^\s:,{}[\]"']*))/.exec(text.slice(offset, offset + 200)) ?? [];
  const key = quoted ?? plain ?? "";
  const atTop = offset === 0 || text.charAt(offset - 1) === "\n";
  const hint = atTop && TOP_FIELDS.includes(plain ?? "") ? ": two documents without --- between them?" : "";
  return `duplicate key ${JSON.stringify(key)} in a mapping${hint}`;
}

function place(offset: number, lines: LineCounter, { firstLine }: Chunk): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1) + firstLine - 1, column: Math.max(col, 1) };
}

/** A document of a file, so that each can be parsed and dropped on its own. */
interface Chunk {
  readonly text: string;
  /** The line of the file at which it begins: 1 or more. */
  readonly firstLine: number;
}

/** A text with directives or an explicit end of a document is not cut: these concern more than one document. */
const NOT_CUT = /^(?:%|\.\.\.(?:\s|$))/m;
/** YAML reads --- at the start of a line as the start of a document, also within texts. */
const START = /^---(?=[ \t\r\n]|$)/gm;
const BLANK = /^(?:[ \t]*(?:#.*)?(?:\r?\n|$))*$/;

function* chunksOf(text: string): IteratorObject<Chunk, undefined> {
  if (NOT_CUT.test(text) || /\r(?!\n)/.test(text)) {
    yield { text, firstLine: 1 };
    return;
  }
  let from = 0;
  let firstLine = 1;
  for (const { index } of [...text.matchAll(START), { index: text.length }]) {
    const chunk = text.slice(from, index);
    const lines = countLines(chunk);
    // Comments and blank lines before the first document are no document of their own.
    if (from > 0 || !BLANK.test(chunk) || index === text.length) yield { text: chunk, firstLine };
    from = index;
    firstLine += lines;
  }
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Paths as in FieldError: spec.rules[0].hooks, metadata.labels[example.com/tier]. */
function offsetOf(document: Document.Parsed, path: string, of: Part): number {
  let node: unknown = document.contents;
  // Of the key, or of the item of a list.
  let start = startOf(node, 0);
  for (const step of stepsOf(path)) {
    const within = isAlias(node) ? node.resolve(document) : node;
    const pair = isMap(within) ? within.items.find(({ key }) => keyOf(key) === step) : undefined;
    const below = isSeq(within) ? within.items[Number(step)] : pair?.value;
    if (pair === undefined && below === undefined) return start;
    start = startOf(pair?.key ?? below, start);
    node = below;
  }
  return of === "value" && isScalar(node) ? startOf(node, start) : start;
}

function keyOf(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}

function startOf(node: unknown, otherwise: number): number {
  return (isNode(node) ? node.range?.[0] : undefined) ?? otherwise;
}
