/** "an Ingress", "a Job" */
export function withArticle(noun: string): string {
  return `${/^[aeio]/i.test(noun) ? "an" : "a"} ${noun}`;
}

/** "1 error", "2 policies"; `several` is the plural of a noun that has no regular one. */
export function counted(
  number: number,
  noun: string,
  several = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`,
): string {
  return `${number} ${number === 1 ? noun : several}`;
}
