import { type Params, withParams } from "./route.ts";

/** Changes the address without a new entry of the history. */
export function setParams(changes: Params): void {
  location.replace(withParams(location.hash || "#/held", changes));
}
