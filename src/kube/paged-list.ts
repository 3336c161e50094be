/** Reads a list page by page, so that no list, however large, is parsed in one piece or in memory as a whole. */

import { setImmediate } from "node:timers/promises";

import { fieldsOf, nonEmptyText, textOf } from "../lib/fields.ts";
import { eachInSlices } from "../turns/slice.ts";
import { type Attempt, invalidResponse, isTooLarge, responseTooLarge } from "./kube-error.ts";
import type { KubeObject } from "./resource.ts";
import { type Body, parsed } from "./transport.ts";

export interface List<U> {
  readonly items: U[];
  readonly resourceVersion: string;
}

export interface Pages<U> {
  /** The most objects per page; pages of large objects are smaller. */
  readonly limit?: number;
  /** Of all pages together; a longer list is an error (ResponseTooLarge). Absent: no limit. */
  readonly maxBytes?: number;
  /** Applied page by page, so that a large list is never in memory as a whole. */
  readonly project?: (raw: KubeObject) => U;
}

export interface Page extends List<KubeObject> {
  readonly continue: string;
}

export interface PageStart {
  readonly limit: number;
  /** Empty: the first page. */
  readonly token: string;
}

/** `limit`: for how many objects it was asked in the end. */
type FittingBody = Body & Pick<PageStart, "limit">;

/** Requests a page; longer than `maxBytes`: an error (ResponseTooLarge). */
type Request = (at: PageStart, maxBytes: number) => Promise<Body>;

/** Objects of the first page, and the most of any page. */
const [FIRST_PAGE, MAX_PAGE] = [50, 500];
/**
 * A response is parsed in one piece, so pages aim at PAGE_BYTES. A page above MAX_PAGE_BYTES is requested again with
 * fewer objects, unless it has only one.
 */
const [PAGE_BYTES, MAX_PAGE_BYTES] = [2 * 1024 * 1024, 4 * 1024 * 1024];

/** The next page is under way while a page is projected, so at most two pages are in memory. */
export async function readPages<U>(attempt: Attempt, request: Request, options: Pages<U>): Promise<List<U>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without `project`, U is KubeObject
  const project = options.project ?? ((raw: KubeObject) => raw as U);
  const items: U[] = [];
  const first = { limit: options.limit ?? FIRST_PAGE, token: "" };
  let next: Promise<FittingBody> | undefined = fittingBody(request, first);
  let resourceVersion = "";
  let room = options.maxBytes ?? Infinity;
  while (next !== undefined) {
    const body: FittingBody = await next;
    room -= body.bytes;
    if (room < 0) throw responseTooLarge(attempt, `more than ${options.maxBytes} bytes`);
    const found = pageOf(attempt, body);
    next = undefined;
    if (found.continue !== "") {
      const limit = nextLimit(body, options.limit ?? MAX_PAGE);
      next = fittingBody(request, { limit, token: found.continue });
      next.catch(() => undefined); // awaited after the projection, which may throw first
      await setImmediate(); // the request is sent before what follows occupies the event loop
    }
    ({ resourceVersion } = found);
    await eachInSlices(found.items, (raw) => items.push(project(raw)));
  }
  return { items, resourceVersion };
}

/** A page that is too large is requested again with a quarter of the objects. */
async function fittingBody(request: Request, at: PageStart): Promise<FittingBody> {
  for (let { limit } = at; ; limit = Math.max(1, Math.floor(limit / 4))) {
    try {
      return { ...(await request({ ...at, limit }, limit > 1 ? MAX_PAGE_BYTES : Infinity)), limit };
    } catch (error) {
      if (!isTooLarge(error) || limit <= 1) throw error;
    }
  }
}

/** The remaining objects may differ in size, so a page grows by a factor of four at most. A page with a next one is full. */
function nextLimit({ limit, bytes }: FittingBody, most: number): number {
  const fitting = Math.floor((limit * PAGE_BYTES) / bytes);
  return Math.max(1, Math.min(fitting, limit * 4, most));
}

/** A response without items or resourceVersion is not an empty list. */
export function pageOf(attempt: Attempt, body: Body): Page {
  const { metadata, items: found } = fieldsOf(parsed(attempt, body));
  const { resourceVersion: version, continue: token } = fieldsOf(metadata);
  const resourceVersion = nonEmptyText(version);
  const items = found === null ? [] : found; // Go encodes a nil slice as null.
  if (!Array.isArray(items) || resourceVersion === undefined) throw invalidResponse(attempt, "not a list");
  return { items, resourceVersion, continue: textOf(token) };
}
