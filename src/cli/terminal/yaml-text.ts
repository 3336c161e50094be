/** Prints objects as YAML that kubectl reads as they are. */

import { Document, isScalar, Scalar, visit } from "yaml";
import { isPrintable, printable, replaceUnprintable } from "../../lib/printable.ts";

/** Quotes strings that YAML 1.1 would read as another type, and escapes unprintable characters. */
export function yamlText(object: object): string {
  const document = new Document(object, { version: "1.1", aliasDuplicateObjects: false });
  visit(document, (_, node) => {
    if (isScalar(node) && !isPrintable(String(node.value))) node.type = Scalar.QUOTE_DOUBLE;
  });
  const lines = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Infinity }).split("\n");
  return lines.map((line) => replaceUnprintable(line, escapeYaml)).join("\n");
}

/** Escapes a character like JSON, but without surrogate pairs, which YAML does not have. */
function escapeYaml(character: string): string {
  if (character.length === 1) return printable(character);
  return String.raw`\U${character.codePointAt(0)?.toString(16).padStart(8, "0")}`;
}
