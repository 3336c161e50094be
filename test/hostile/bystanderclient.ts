/** The well-behaved client, in a process of its own: the attacker's work must not count as waiting. */

import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { IDLE_MS, post } from "../controlplane/post.ts";
import type { Calls, Errand } from "./bystander.ts";

const { port, ca, path, body, expected, perSecond }: Errand = JSON.parse(process.argv[2] ?? "");
/** Beyond Cluster API's 10 s: how long it took is told, too. */
const TIMEOUT_MS = 30_000;

const kept = new Agent({ ca, servername: "localhost", keepAlive: true, timeout: IDLE_MS });
/** A connection for each call, as Cluster API up to 1.11. */
const fresh = new Agent({ ca, servername: "localhost", keepAlive: false, maxCachedSessions: 0 });

let calls: { kept: number[]; fresh: number[]; failures: string[] } = { kept: [], fresh: [], failures: [] };

/** Counted from when it was due, so that waiting for a slot is waiting, too. */
async function timed(due: number, agent: Agent, times: number[]): Promise<void> {
  const { failures } = calls;
  try {
    const { text: said } = await post({ port, path, body, agent, timeoutMs: TIMEOUT_MS });
    times.push(performance.now() - due);
    if (said !== expected) failures.push(said.slice(0, 200));
  } catch (error) {
    failures.push(String(error));
  }
}

process.on("message", () => {
  const told: Calls = calls;
  calls = { kept: [], fresh: [], failures: [] };
  process.send?.(told);
});
process.on("disconnect", () => process.exit());

const begun = performance.now();
for (let count = 0; ; count += 1) {
  const due = begun + (count * 1000) / perSecond;
  await sleep(Math.max(0, due - performance.now()));
  void (count % 2 === 0 ? timed(due, kept, calls.kept) : timed(due, fresh, calls.fresh));
}
