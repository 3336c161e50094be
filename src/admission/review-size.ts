/** Limits the size of reviews: any client that reaches the port can send one. */

/** The API server accepts objects of up to 1.5 MiB (etcd), and also sends the old one. */
export const MAX_REVIEW_BYTES = 4 * 1024 * 1024;

/** Objects, lists and values together. */
const MAX_NODES = 20_000;
/** Code that walks through it may recurse. */
const MAX_DEPTH = 32;
/** Names and texts together: 16 rules of 16 gates with 500 each. */
const MAX_CHARS = 128 * 1024;

/** Larger than any real policy, and slow to judge: a KiB of CEL takes milliseconds. */
export function isTooLarge(spec: object): boolean {
  const open: [value: unknown, depth: number][] = [[spec, 0]];
  let [nodes, chars] = [0, 0];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next;
    if (typeof value === "string") chars += value.length;
    for (const [key, child] of entriesOf(value)) {
      nodes += 1;
      chars += key.length;
      if (nodes > MAX_NODES || chars > MAX_CHARS || depth === MAX_DEPTH) return true;
      open.push([child, depth + 1]);
    }
  }
  return chars > MAX_CHARS;
}

/** Yields one entry at a time: a list may be a million long. */
function* entriesOf(value: unknown): Generator<readonly [key: string, value: unknown]> {
  if (Array.isArray(value)) for (const item of value) yield ["", item];
  else if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value)) yield [key, Reflect.get(value, key)];
  }
}
