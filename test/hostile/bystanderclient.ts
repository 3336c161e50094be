/** The well-behaved client, in a process of its own: the attacker's work must not count as waiting. */

import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { IDLE_MS, post } from "../controlplane/post.ts";
import type { Calls, Errand } from "./bystander.ts";

const { port, ca, path, body, expected, perSecond }: Errand = JSON.parse(process.argv[2] ?? "");
/** Beyond Cluster API's 10 s: how long it took is told, too. */
const TIMEOUT_MS = 30_000;
/** As many Clusters as Cluster API works on at the same time by default (core/main.go, --clustertopology-concurrency). */
const AT_A_TIME = 50;

const kept = new Agent({ ca, servername: "localhost", keepAlive: true, timeout: IDLE_MS });
/** A connection for each call, as Cluster API up to 1.11. */
const fresh = new Agent({ ca, servername: "localhost", keepAlive: false, maxCachedSessions: 0 });

let calls: { kept: number[]; fresh: number[]; failures: string[] } = { kept: [], fresh: [], failures: [] };

/** When the last call was due. It begins anew with each report, or an attack would be measured by what is late of the one before. */
let lastDue = performance.now();

/** Counted from when it was due, so that waiting for a slot is waiting, too. */
async function timed(due: number, agent: Agent, times: number[]): Promise<void> {
  const told = (what: string): void => {
    const kind = agent === kept ? "kept" : "new";
    calls.failures.push(`${what} after ${Math.round(performance.now() - due)} ms on a ${kind} connection`);
  };
  try {
    const { text: said } = await post({ port, path, body, agent, timeoutMs: TIMEOUT_MS });
    times.push(performance.now() - due);
    if (said !== expected) told(said.slice(0, 200));
  } catch (error) {
    told(String(error));
  }
}

process.on("message", () => {
  const told: Calls = calls;
  calls = { kept: [], fresh: [], failures: [] };
  lastDue = performance.now();
  process.send?.(told);
});
process.on("disconnect", () => process.exit());

const underWay = new Set<Promise<void>>();
for (let count = 0; ; count += 1) {
  const due = (lastDue += 1000 / perSecond);
  await sleep(Math.max(0, due - performance.now()));
  while (underWay.size >= AT_A_TIME) await Promise.race(underWay);
  const call = count % 2 === 0 ? timed(due, kept, calls.kept) : timed(due, fresh, calls.fresh);
  underWay.add(call);
  void call.then(() => underWay.delete(call));
}
