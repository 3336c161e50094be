/** Work of a replica that waits for answers of the API server, and the steps in which these come. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { Request } from "./api-server.ts";
import type { Step } from "./explorer.ts";

/** Work that waits for answers of the API server. */
export interface Task {
  readonly name: string;
  /** What it began with, and the answers so far: what it does next follows from them, and from memory. */
  readonly heard: string[];
  readonly requests: Set<Request>;
  /** The key was added meanwhile. */
  dirty: boolean;
}

export const running = new AsyncLocalStorage<Task>();

/** `atOnce`: requests that are done in the step in which they are answered. */
export function requestSteps(
  { name, requests, heard }: Task,
  own: (name: string, run: () => void) => Step,
  atOnce: (request: Request) => boolean = () => false,
): Step[] {
  return [...requests].map((request) => {
    const { what, answer } = request;
    if (answer === undefined && !atOnce(request))
      return own(`has ${what} done (${name})`, () => request.perform());
    return own(`hears of ${what} (${name})`, () => {
      if (answer === undefined) request.perform();
      requests.delete(request);
      heard.push(request.answer?.text ?? "");
      request.answer?.deliver();
    });
  });
}
