import { type Params, withParams } from "./route.ts";

/**
 * Changes the address without a new entry of the history. The page follows at once: a browser tells of a new address
 * later, and what is drawn until then would put the old value back into the field in which the user types.
 */
export function setParams(changes: Params): void {
  location.replace(withParams(location.hash || "#/held", changes));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
