/** Resident memory of an operator: as it is, and once the garbage is gone. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { freePorts } from "../../test/controlplane/ports.ts";
import { memoryOf } from "../../test/hostile/memory.ts";
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
const INSPECTOR_MS = 60_000;

export async function startInspected(cp: ControlPlane, name: string): Promise<InspectedOperator> {
  const [port = 0] = await freePorts(1);
  const operator = await startShipped(cp, { name, nodeFlags: [`--inspect=127.0.0.1:${port}`] });
  const now = async (): Promise<number> => {
    await sleep(SETTLE_MS);
    return memoryOf(operator.daemon.pid).resident / 1e6;
  };
  const resident = async (): Promise<Resident> => {
    const asIs = await now();
    await collectGarbage(port);
    return { asIs, collected: await now() };
  };
  return { operator, resident };
}

/** Rejects when the inspector does not answer in time. */
async function collectGarbage(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const targets: readonly { readonly webSocketDebuggerUrl: string }[] = JSON.parse(await answer.text());
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "");
  const signal = AbortSignal.timeout(INSPECTOR_MS);
  await once(socket, "open", { signal });
  for (let id = 1; id <= 2; id++) {
    socket.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
    await once(socket, "message", { signal });
  }
  socket.close();
  await once(socket, "close", { signal });
}
