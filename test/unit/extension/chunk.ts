/** A chunk as it comes from a socket: of memory that is its own. */
export function chunkOf(text: string): Buffer {
  return Buffer.from(new TextEncoder().encode(text).buffer);
}
