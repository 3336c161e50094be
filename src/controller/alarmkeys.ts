/**
 * Keys of the alarm: what is to be done, and about what.
 * - `compile KEY`
 * - `policy KEY`
 * - `kind APIVERSION KIND`
 * - `seen NAMESPACE APIVERSION KIND`
 * - `objects KEY`
 * - `rest KEY`
 * - `rows KEY`
 * - `cluster NAMESPACE/NAME`
 * - `ask UID HOOK NAMESPACE`
 * - `forecast UID HOOK NAMESPACE`
 * - `passed UID - NAMESPACE`
 * - `override NAME`
 */

/** The namespace for which an alarm rings; "" for all of them. */
export function ownerOf(alarm: string): string {
  const [what = "", key = "", , namespace = ""] = alarm.split(" ");
  if (what === "ask" || what === "forecast" || what === "passed") return namespace;
  if (what === "seen") return key;
  if (what === "kind") return "";
  return key.split("/")[what === "cluster" ? 0 : 1] ?? "";
}
