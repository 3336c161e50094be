import { type Params, withParams } from "./route.ts";

/**
 * Changes the address without a new history entry, and redraws the page at once: the browser's own event comes later,
 * and a redraw before it would put the old value back into the field in which the user types.
 */
export function setParams(changes: Params): void {
  location.replace(withParams(location.hash || "#/held", changes));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
