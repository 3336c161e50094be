/** Request bodies that are nearly right: something in the JSON, or in the bytes, is another. */

import * as fc from "fast-check";

/** What a caller who wants a release would write, and what trips up code that looks fields up by name. */
const CUNNING_VALUES = [
  null,
  "",
  0,
  -1,
  true,
  [],
  {},
  "v1.35.0",
  "1001",
  "999999",
  "team-a",
  "\u0000",
  "\ud800",
];
const CUNNING_KEYS = [
  "hooks.example.com/approved",
  "hooks.example.com/upgrade-to",
  "runtime.cluster.x-k8s.io/ok-to-delete",
  "tier",
  "annotations",
  "labels",
  "metadata",
  "uid",
  "name",
  "namespace",
  "resourceVersion",
  "deletionTimestamp",
  "kind",
  "Cluster",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
];

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** One change anywhere in the document; the same choices change the same document in the same way. */
interface Edit {
  /** Which of all places, counted from 0 and around again. */
  readonly place: number;
  readonly what: "replace" | "remove" | "insert" | "move";
  readonly key: string;
  readonly value: Json;
}

const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ minLength: 1000, maxLength: 4000 }));
const value = fc.oneof(
  { arbitrary: fc.constantFrom<Json>(...CUNNING_VALUES), weight: 3 },
  { arbitrary: text, weight: 2 },
  { arbitrary: fc.jsonValue({ maxDepth: 3 }).map((json) => json as Json), weight: 2 },
);
const edit: fc.Arbitrary<Edit> = fc.record({
  place: fc.nat(),
  what: fc.constantFrom("replace", "remove", "insert", "move"),
  key: fc.oneof({ arbitrary: fc.constantFrom(...CUNNING_KEYS), weight: 3 }, fc.string({ unit: "binary" })),
  value,
});

/** A copy that says it is newer and approved, so that the answer hangs on what is read live. */
const approval = fc.record({
  approved: fc.constantFrom("resourceVersion", "labels", "annotations", "all"),
  resourceVersion: fc.constantFrom("1001", "99999999999999999999", "1e9", "", "-1"),
});

/** Another name, namespace or uid, which messages show. */
const identity = fc.record({
  field: fc.constantFrom("name", "namespace", "uid"),
  value: fc.oneof(text, fc.constantFrom("a\nb", "\u0007", "\ud800", "'; echo", "é".repeat(3000), "prod-2")),
});

export interface Mutation {
  mutate(body: Buffer): Buffer;
}

export const structural: fc.Arbitrary<Mutation> = fc
  .tuple(fc.option(approval), fc.option(identity, { freq: 2 }), fc.array(edit, { maxLength: 3 }))
  .map(([claim, other, edits]) => ({
    mutate: (body: Buffer): Buffer => {
      const document = JSON.parse(body.toString()) as Json;
      if (other !== null) record(record(record(document)["cluster"])["metadata"])[other.field] = other.value;
      if (claim !== null) approve(document, claim);
      for (const each of edits) apply(document, each);
      return Buffer.from(JSON.stringify(document));
    },
    [fc.toStringMethod]: () => JSON.stringify({ claim, other, edits }),
  }));

function approve(document: Json, claim: { approved: string; resourceVersion: string }): void {
  const { metadata } = record(record(document)["cluster"]);
  const meta = record(metadata);
  const all = claim.approved === "all";
  meta["resourceVersion"] = claim.resourceVersion;
  if (all || claim.approved === "annotations") {
    record(meta["annotations"])["hooks.example.com/approved"] = meta["uid"] ?? null;
  }
  if (all || claim.approved === "labels") record(meta["labels"])["hooks.example.com/upgrade-to"] = "v1.35.0";
}

function apply(document: Json, { place, what, key, value: inserted }: Edit): void {
  const all = [...places(document)];
  const chosen = all[place % all.length];
  if (chosen === undefined) return;
  const [parent, at] = chosen;
  const taken = what === "replace" ? inserted : parent[at];
  if (what === "insert") define(parent, key, inserted);
  else if (what === "replace") define(parent, at, inserted);
  else {
    if (Array.isArray(parent)) parent.splice(Number(at), 1);
    else delete parent[at];
    if (what === "move") define(parent, key, taken ?? null);
  }
}

type Container = { [key: string]: Json };

function* places(node: Json): Generator<[parent: Container, key: string]> {
  if (typeof node !== "object" || node === null) return;
  for (const key of Object.keys(node)) {
    const parent = node as Container;
    yield [parent, key];
    yield* places(parent[key] ?? null);
  }
}

/** Not by assignment: "__proto__" has to become a key like any other. */
function define(parent: Container, key: string, inserted: Json): void {
  const at = Array.isArray(parent) && !/^\d+$/.test(key) ? "0" : key;
  Object.defineProperty(parent, at, {
    value: inserted,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function record(node: Json | undefined): Container {
  return typeof node === "object" && node !== null ? (node as Container) : {};
}

interface Splice {
  /** How far into the body, 0 to 1. */
  readonly at: number;
  /** From there on to behind the next of these characters. */
  readonly behind: string;
  readonly removed: number;
  readonly inserted: Buffer;
}

const at = fc.double({ min: 0, max: 1, noNaN: true });
const removed = fc.nat({ max: 40 });
const toBytes = (raw: string | Uint8Array): Buffer => Buffer.from(raw);

/** Mostly still JSON: a letter or a digit becomes another. */
const typo: fc.Arbitrary<Splice> = fc.record({
  at,
  behind: fc.constantFrom("", ":", '"'),
  removed: fc.constantFrom(0, 1, 1, 1),
  inserted: fc.constantFrom(...Array.from("aZ09-._ \u00e9\u0000\u007f"), "\\u0000", "\\ud800").map(toBytes),
});
/** A key that is there twice, of which the last one wins, in Go as in JavaScript. */
const twice: fc.Arbitrary<Splice> = fc.record({
  at,
  behind: fc.constantFrom("{", ","),
  removed: fc.constant(0),
  inserted: fc
    .constantFrom(
      '"metadata":{},',
      '"cluster":null,',
      '"labels":{},',
      '"annotations":{"hooks.example.com/approved":"7d3f0c7e-5b0a-4c56-9f0e-0c2f5d6b7a81"},',
      '"resourceVersion":"1001",',
      '"__proto__":{"cluster":{}},',
    )
    .map(toBytes),
});
const anything: fc.Arbitrary<Splice> = fc.record({
  at,
  behind: fc.constant(""),
  removed: fc.oneof(removed, fc.constant(Infinity)),
  inserted: fc.oneof(
    fc.uint8Array({ maxLength: 16 }).map(toBytes),
    fc.constantFrom("{", "}", "[", '"', ",", ":", "\ufeff", "\n", "null", "[".repeat(5000)).map(toBytes),
  ),
});

export const bytewise: fc.Arbitrary<Mutation> = fc
  .array(fc.oneof(typo, typo, twice, anything), { minLength: 1, maxLength: 2 })
  .map((splices) => ({
    mutate: (body: Buffer): Buffer => {
      let mutated = body;
      for (const { at: share, behind, removed: length, inserted } of splices) {
        const start = mutated.indexOf(behind, Math.floor(share * mutated.length)) + behind.length;
        mutated = Buffer.concat([mutated.subarray(0, start), inserted, mutated.subarray(start + length)]);
      }
      return mutated;
    },
    [fc.toStringMethod]: () =>
      JSON.stringify(splices.map((each) => ({ ...each, inserted: each.inserted.toString("latin1") }))),
  }));
