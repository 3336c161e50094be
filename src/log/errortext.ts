import { inspect } from "node:util";

const MAX_CAUSES = 4;

/** The messages of an error and of its causes in one text; errors without a message are told by their code. */
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
  // A refused connection to a name with several addresses: an AggregateError with an empty message.
  if (error instanceof AggregateError) return error.errors.map((each) => errorText(each)).join("; ");
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
