/** Yielded after a step that may have taken long; other steps are cheap. */
export const COSTLY = "costly";

/** Work that can be interrupted after each step. */
export type Steps<T> = Generator<typeof COSTLY | void, T, void>;

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
