/** Before and after the files of test/integration.ts: starts what they share. */

import { addressOf, startSharedFleet } from "./capi/fleet.ts";
import { buildAll } from "./controlplane/binaries.ts";
import { Shared, startDefinitions } from "./controlplane/shared.ts";

let shared: Shared | undefined;

/** The files begin while it starts: most of them need nothing of it. */
export async function globalSetup(): Promise<void> {
  await buildAll();
  shared = new Shared();
  await shared.sow();
  shared.start("apiServer", async () => {
    const cp = await startDefinitions();
    return { cp, address: cp.address() };
  });
  shared.start("fleet", async () => {
    const fleet = await startSharedFleet();
    return { cp: fleet.cp, address: addressOf(fleet) };
  });
}

export async function globalTeardown(): Promise<void> {
  await shared?.stop();
}
