/** What is thrown: the error of wrong usage, and how to read values of any type. */

import { inspect } from "node:util";

/** A value on the command line is wrong; the message is one line for the user who typed it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

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

const MAX_REPEATS = 5;

/** Repeats `work` a few times while it fails with an expected error, each time after `prepare`. */
export async function despite<T>(
  isExpected: (thrown: unknown) => boolean,
  work: () => Promise<T>,
  prepare: (thrown: unknown) => Promise<void>,
): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isExpected(error) || repeats >= MAX_REPEATS) throw error;
      await prepare(error);
    }
  }
}

const MAX_CAUSES = 4;

/** The messages of an error and its causes; the code of an error without a message. */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    const text = ownText(current);
    if (!parts.some((part) => part.includes(text))) parts.push(text);
    current = current.cause;
  }
  return parts.length === 0 ? inspect(error) : parts.join(": ");
}

function ownText(error: Error): string {
  if (error.message !== "") return error.message;
  // A refused connection to a name with several addresses is an AggregateError with an empty message.
  if (error instanceof AggregateError) return error.errors.map((each) => errorText(each)).join("; ");
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
