import { type Fields, fieldsOf, isFields, nonEmptyText, parseJson } from "../lib/fields.ts";
import {
  type Attempt,
  fromStatus,
  fromTransport,
  invalidResponse,
  type KubeError,
  responseTooLarge,
} from "./kube-error.ts";
import type { KubeObject } from "./resource.ts";

export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
  /** The server ended this watch with an error or sent an unreadable line: an event may be lost. */
  | { readonly type: "ERROR"; readonly error: KubeError };

/** etcd accepts objects of up to 1.5 MiB; a longer line is not an event. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024;

/** Yields one event per line. Throws a KubeError when the connection breaks; ends when the server ends it. */
export async function* watchEvents(
  attempt: Attempt,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body) {
      const text = decoder.decode(chunk, { stream: true });
      rest += text;
      // A long line is split once, when it is complete.
      const lines = text.includes("\n") ? rest.split("\n") : [rest];
      rest = lines.pop() ?? "";
      const written = lines.filter((line) => line.trim() !== "");
      yield* written.map((line) => parseEvent(attempt, line));
      if (rest.length > MAX_EVENT_CHARS)
        throw responseTooLarge(attempt, `an event of more than ${MAX_EVENT_CHARS} characters`);
    }
  } catch (error) {
    throw fromTransport(attempt, error);
  }
  // Half a line at the end means that the connection was cut. The next watch repeats the event.
}

function parseEvent(attempt: Attempt, line: string): WatchEvent {
  const event = parseJson(line);
  if (event === undefined) return unreadable(attempt, "a line that is not JSON");
  const { type, object } = fieldsOf(event);
  if (!isFields(object)) return unreadable(attempt, "a line that is not an event");
  return toEvent(attempt, type, object);
}

function toEvent(attempt: Attempt, type: unknown, object: Fields): WatchEvent {
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return isKubeObject(object) ? { type, object } : unreadable(attempt, `${type} of no object`);
    case "BOOKMARK": {
      const resourceVersion = nonEmptyText(fieldsOf(object["metadata"])["resourceVersion"]);
      if (resourceVersion === undefined) return unreadable(attempt, "BOOKMARK of no version");
      return { type, resourceVersion };
    }
    case "ERROR":
      return { type, error: fromStatus(attempt, 500, object) };
    default:
      return unreadable(attempt, "an unknown type of event");
  }
}

export function isKubeObject(value: unknown): value is KubeObject {
  const { name, resourceVersion } = fieldsOf(fieldsOf(value)["metadata"]);
  return nonEmptyText(name) !== undefined && nonEmptyText(resourceVersion) !== undefined;
}

function unreadable(attempt: Attempt, what: string): WatchEvent {
  return { type: "ERROR", error: invalidResponse(attempt, what) };
}
