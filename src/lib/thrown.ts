/** Reads thrown values, which can be of any type. */

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code of a system error, such as "ENOENT"; "" for anything else. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}

/** There is no such file. */
export function isMissing(thrown: unknown): boolean {
  return codeOf(thrown) === "ENOENT";
}

/** `undefined` when `work` fails with an expected error. */
export async function unless<T>(
  isExpected: (thrown: unknown) => boolean,
  work: Promise<T>,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}
