/** Texts in XML: JUnit reports, and pictures. */

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** XML cannot represent some characters. */
export function escapeXml(text: string): string {
  return text
    .replaceAll(/[\uFFFE\uFFFF]/g, "\u{FFFD}")
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
