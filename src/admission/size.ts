/** Whoever reaches the port can send a review, and while one is judged no hook is answered. */

/** The API server takes objects of up to 1.5 MiB (etcd), and sends the old one, too. */
export const MAX_REVIEW_BYTES = 4 * 1024 * 1024;

/** Objects, lists and values together. */
const MAX_NODES = 20_000;
/** Of names and texts: 16 rules of 16 gates with 500 each. */
const MAX_CHARS = 128 * 1024;

/** Larger than anybody writes, and slow to judge: a KiB of CEL takes milliseconds. */
export function isTooLarge(spec: object): boolean {
  const open: unknown[] = [spec];
  let [nodes, chars] = [0, 0];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") chars += next.length;
    for (const [key, value] of entriesOf(next)) {
      nodes += 1;
      chars += key.length;
      if (nodes > MAX_NODES || chars > MAX_CHARS) return true;
      open.push(value);
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
