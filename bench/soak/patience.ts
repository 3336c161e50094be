import { setTimeout as sleep } from "node:timers/promises";

/** An hour is long: what the API server refuses in a bad moment is tried once more. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch {
    await sleep(1000);
    return await work();
  }
}
