/** Cuts a YAML file into its documents, so that each can be parsed and dropped on its own. */

export interface Chunk {
  readonly text: string;
  /** The line of the file at which it begins: 1 or more. */
  readonly firstLine: number;
}

/** A text with directives or an explicit end of a document is not cut: these concern more than one document. */
const NOT_CUT = /^(?:%|\.\.\.(?:\s|$))/m;
/** YAML reads --- at the start of a line as the start of a document, also within texts. */
const START = /^---(?=[ \t\r\n]|$)/gm;
const BLANK = /^(?:[ \t]*(?:#.*)?(?:\r?\n|$))*$/;

/** Keeps the documents of the text and their order. */
export function* chunksOf(text: string): IteratorObject<Chunk, undefined> {
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
