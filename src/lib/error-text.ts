import { inspect } from "node:util";

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
