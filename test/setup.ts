/** Before and after the files of a run (node --test-global-setup): starts what they share. */

import { addressOf, startSharedFleet } from "./capi/fleet.ts";
import { buildAll } from "./controlplane/binaries.ts";
import type { ControlPlane } from "./controlplane/controlplane.ts";
import { share, startDefinitions } from "./controlplane/shared.ts";

const started: ControlPlane[] = [];

export async function globalSetup(): Promise<void> {
  await buildAll();
  const definitions = startDefinitions().then((cp) => {
    started.push(cp);
    share("apiServer", cp.address());
  });
  const fleet = startSharedFleet().then((shared) => {
    started.push(shared.cp);
    share("fleet", addressOf(shared));
  });
  await Promise.all([definitions, fleet]);
}

export async function globalTeardown(): Promise<void> {
  await Promise.all(started.map(async (cp) => await cp.stop()));
}
