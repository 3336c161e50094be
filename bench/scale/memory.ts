/** Resident memory as the kernel counts it: as it is, and once the garbage is gone. */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { freePorts } from "../../test/controlplane/ports.ts";
import { startShipped } from "../shipped.ts";

/** MB (10^6 bytes) */
export interface Resident {
  readonly asIs: number;
  readonly collected: number;
}

/** An operator whose garbage can be collected from outside. */
export interface InspectedOperator {
  readonly operator: Operator;
  readonly resident: () => Promise<Resident>;
}

const SETTLE_MS = 5000;

export async function startInspected(cp: ControlPlane, name: string): Promise<InspectedOperator> {
  const [port = 0] = await freePorts(1);
  const operator = await startShipped(cp, { name, nodeFlags: [`--inspect=127.0.0.1:${port}`] });
  return { operator, resident: async () => await resident(operator.daemon.pid, port) };
}

async function resident(pid: number, port: number): Promise<Resident> {
  await sleep(SETTLE_MS);
  const asIs = rssOf(pid);
  await collectGarbage(port);
  await sleep(SETTLE_MS);
  return { asIs, collected: rssOf(pid) };
}

/** MB. */
function rssOf(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (Number(kib) * 1024) / 1e6;
}

async function collectGarbage(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const targets: readonly { readonly webSocketDebuggerUrl: string }[] = JSON.parse(await answer.text());
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "");
  await once(socket, "open");
  for (let id = 1; id <= 2; id++) {
    socket.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
    await once(socket, "message");
  }
  socket.close();
  await once(socket, "close");
}

async function once(socket: WebSocket, event: "open" | "message" | "close"): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener(event, () => resolve(), { once: true });
    socket.addEventListener("error", () => reject(new Error("the inspector does not answer")), {
      once: true,
    });
  });
}
