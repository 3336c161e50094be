/** Whoever reaches the port can send a review. */

/** The API server takes objects of up to 1.5 MiB (etcd), and sends the old one, too. */
export const MAX_REVIEW_BYTES = 4 * 1024 * 1024;

/** Objects, lists and values together. */
const MAX_NODES = 20_000;
/** Whoever walks through it may do so by recursion. */
const MAX_DEPTH = 32;
/** Of names and texts: 16 rules of 16 gates with 500 each. */
const MAX_CHARS = 128 * 1024;

/** Larger than anybody writes, and slow to judge: a KiB of CEL takes milliseconds. */
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

/** One by one: a list may be a million long. */
function* entriesOf(value: unknown): Generator<readonly [key: string, value: unknown]> {
  if (Array.isArray(value)) for (const item of value) yield ["", item];
  else if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value)) yield [key, Reflect.get(value, key)];
  }
}
