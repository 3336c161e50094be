/** Sends the fleet's state to listening pages: at first, and after each change. */

import type { LiveState } from "../../page/wire.ts";

/** Gets the state as JSON; empty: it is told again, and has not changed. */
type Listener = (state: string) => void;

export class LiveFeed {
  readonly #listeners = new Set<Listener>();
  #state = "";

  /** Reports the present state at once. Returns a function that ends the listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#state !== "") listener(this.#state);
    return () => void this.#listeners.delete(listener);
  }

  tell(state: LiveState): void {
    const text = JSON.stringify(state);
    const news = text === this.#state ? "" : text;
    this.#state = text;
    for (const listener of this.#listeners) listener(news);
  }
}
