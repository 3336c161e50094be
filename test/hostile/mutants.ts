/** Requests that are nearly right. The same seed makes the same ones, whatever the machine. */

import * as fc from "fast-check";
import { bytewise, structural } from "../contract/mutations.ts";
import { type Seed, type Target, withUids } from "./target.ts";
import type { Route } from "./verdict.ts";

export interface Mutant {
  /** Counted from 0: with the seed it names the mutant. */
  readonly index: number;
  /** Undefined where the bytes of the head are changed, and nobody knows which path they name. */
  readonly route: Route | undefined;
  readonly request: Request;
}

/** "whole": to be sent by an HTTP client. "bytes": as they are, on a connection of their own. */
export type Request =
  | {
      readonly form: "whole";
      readonly method: string;
      readonly path: string;
      readonly headers: Headers;
      readonly body: Buffer;
    }
  | { readonly form: "bytes"; readonly bytes: Buffer };

type Headers = Readonly<Record<string, string>>;

const BATCH = 1000;

/** Of the path, behind it and instead of it. */
const PATHS: readonly ((path: string) => string)[] = [
  (path) => `${path}?timeout=10s`,
  (path) => `${path}?${"x=1&".repeat(500)}`,
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.toUpperCase(),
  (path) => path.replace("/before", "/%62efore"),
  (path) => path.replace(/\/[^/]*$/, "/../$&"),
  (path) => `${path};a=b`,
  (path) => `${path}%00`,
  (path) => `${path}%zz`,
  (path) => `${path}%c0%af`,
  () => "/",
  () => "/__proto__",
  () => "/constructor",
];
const METHODS = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"];
const HEADERS: readonly Headers[] = [
  { "content-type": "application/json" },
  { "content-type": "text/plain; charset=utf-16" },
  { "content-type": ";;=" },
  { "content-encoding": "gzip" },
  { "transfer-encoding": "chunked" },
  { expect: "100-continue" },
  { connection: "close" },
  { connection: "keep-alive, content-length" },
  { host: "" },
  { "x-forwarded-for": "127.0.0.1", "x-http-method-override": "GET", forwarded: "for=127.0.0.1" },
  { __proto__x: "1", constructor: "1", "x-long": "x".repeat(8000) },
  { authorization: "Bearer x", cookie: "a=b; a=c" },
  { accept: "text/html", "accept-encoding": "gzip, br", "accept-version": "9.9.9" },
];

interface Choice {
  readonly seed: number;
  readonly body: { mutate(body: Buffer): Buffer };
  readonly path: number | null;
  readonly method: string | null;
  readonly headers: Headers | null;
  /** Changes the bytes of the head, too. */
  readonly head: { mutate(head: Buffer): Buffer } | null;
}

const unchanged = { mutate: (body: Buffer): Buffer => body };

function choices(seeds: number): fc.Arbitrary<Choice> {
  return fc.record({
    seed: fc.nat({ max: seeds - 1 }),
    body: fc.oneof(
      { arbitrary: structural, weight: 9 },
      { arbitrary: bytewise, weight: 9 },
      { arbitrary: fc.constant(unchanged), weight: 1 },
    ),
    path: rarely(12, fc.nat({ max: PATHS.length - 1 })),
    method: rarely(30, fc.constantFrom(...METHODS)),
    headers: rarely(3, fc.constantFrom(...HEADERS)),
    head: rarely(20, bytewise),
  });
}

/** One time in `times`. */
function rarely<T>(times: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ arbitrary: fc.constant(null), weight: times - 1 }, { arbitrary, weight: 1 });
}

export function* mutants({ seeds, uids }: Target, seed: number, count: number): Generator<Mutant> {
  const all = choices(seeds.length);
  for (let begin = 0; begin < count; begin += BATCH) {
    const batch = fc.sample(all, { seed: seed + begin, numRuns: Math.min(BATCH, count - begin) });
    for (const [index, choice] of batch.entries()) {
      const chosen = seeds[choice.seed];
      if (chosen !== undefined) yield { index: begin + index, ...mutated(chosen, choice, uids) };
    }
  }
}

function mutated(
  { route, body: seed }: Seed,
  { body, path, method, headers, head }: Choice,
  uids: ReadonlyMap<string, string>,
): Omit<Mutant, "index"> {
  const bytes = withUids(Buffer.from(mutateAny(body, seed)), uids);
  const target = PATHS[path ?? 0]?.(route.path) ?? route.path;
  const request = {
    form: "whole",
    method: method ?? "POST",
    path: target,
    headers: headers ?? {},
    body: bytes,
  } as const;
  if (head === null) return { route: path === null || path < 2 ? route : undefined, request };
  return {
    route: undefined,
    request: { form: "bytes", bytes: Buffer.concat([head.mutate(headOf(request)), bytes]) },
  };
}

/** What changes a Cluster cannot change everything. */
function mutateAny(mutation: Choice["body"], seed: Buffer): Buffer {
  try {
    return mutation.mutate(seed);
  } catch {
    return seed.subarray(1);
  }
}

function headOf({ method, path, headers, body }: Request & { readonly form: "whole" }): Buffer {
  const lines = Object.entries({ host: "localhost", "content-length": body.length, ...headers });
  return Buffer.from(
    [`${method} ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), "", ""].join("\r\n"),
    "latin1",
  );
}
