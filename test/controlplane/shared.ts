/**
 * Control planes that many test files use at the same time, each in namespaces or under names of its own. test/setup.ts
 * starts them before the files of a run, whose processes wait until what they need runs; a file that runs alone starts
 * its own.
 */
import { mkdtempSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controlPlaneBinaries } from "./binaries.ts";
import {
  clusterApiDefinition,
  createClusterApiDefinitions,
  installClusterDefinition,
} from "./cluster-api.ts";
import {
  attachControlPlane,
  type ControlPlane,
  type ControlPlaneAddress,
  startControlPlane,
} from "./control-plane.ts";
import { ingredientsOf, keptSeed } from "./kept-seed.ts";
import { labDefinitions } from "./lab-kinds.ts";
import { installHookPolicy, type OperatorAddress } from "./operator.ts";
import { saveSeed, useSeed } from "./seed.ts";
import { waitFor } from "./waits.ts";

/** Names the folder in which the addresses of what is shared appear, each as soon as it runs. */
const VARIABLE = "HOOKPOLICY_TEST_SHARED";
const START_TIMEOUT_MS = 300_000;

export interface FleetAddress {
  readonly controlPlane: ControlPlaneAddress;
  readonly operator: OperatorAddress;
}

interface Addresses {
  readonly apiServer: ControlPlaneAddress;
  readonly fleet: FleetAddress;
}

/** A file holds an address, or why there is none. */
type Outcome<T> = { readonly address: T } | { readonly error: string };

/** For the processes that this one starts from now on: they wait for what they need. */
export class Shared {
  readonly #folder = mkdtempSync(join(tmpdir(), "hookpolicy-shared-"));
  readonly #started: Promise<ControlPlane | undefined>[] = [];

  constructor() {
    process.env[VARIABLE] = this.#folder;
  }

  /** Returns at once. */
  start<What extends keyof Addresses>(what: What, start: () => Promise<SharedPart<What>>): void {
    const started = start().then(
      async ({ cp, address }) => {
        await this.#tell(what, { address });
        return cp;
      },
      async (error: unknown) => {
        await this.#tell(what, { error: String(error) });
        return undefined;
      },
    );
    this.#started.push(started);
  }

  /** For what is started from now on, here and in the files. */
  async sow(): Promise<void> {
    const { etcd, kubeApiserver } = await controlPlaneBinaries();
    const file = join(this.#folder, "seed");
    await keptSeed(file, ingredientsOf([etcd, kubeApiserver]), makeSeed);
    useSeed(file);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#started.map(async (started) => await (await started)?.stop()));
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Whole or not at all. */
  async #tell<What extends keyof Addresses>(what: What, outcome: Outcome<Addresses[What]>): Promise<void> {
    const file = join(this.#folder, what);
    await writeFile(`${file}.new`, JSON.stringify(outcome));
    await rename(`${file}.new`, file);
  }
}

async function makeSeed(file: string): Promise<void> {
  const cp = await startControlPlane({ controllers: false });
  try {
    await installHookPolicy(cp);
    await createClusterApiDefinitions(cp, 1);
    await cp.apply(labDefinitions());
    await saveSeed(cp.etcdUrl, file);
  } finally {
    await cp.stop();
  }
}

interface SharedPart<What extends keyof Addresses> {
  readonly cp: ControlPlane;
  readonly address: Addresses[What];
}

/** `undefined`: nothing is shared, the file runs alone. */
export async function sharedAddress<What extends keyof Addresses>(
  what: What,
): Promise<Addresses[What] | undefined> {
  const folder = process.env[VARIABLE];
  if (folder === undefined) return undefined;
  const text = await waitFor(
    `the shared ${what} to start`,
    async () => await readFile(join(folder, what), "utf8"),
    { timeoutMs: START_TIMEOUT_MS },
  );
  const outcome = JSON.parse(text) as Outcome<Addresses[What]>;
  if ("error" in outcome) throw new Error(`What tests share did not start: ${outcome.error}`);
  return outcome.address;
}

/**
 * An API server with HookPolicy's CRDs, roles and namespace and the definitions of Cluster and ExtensionConfig; neither an operator
 * nor Cluster API run there: an operator would look at everybody's objects.
 */
export async function sharedControlPlane(): Promise<ControlPlane> {
  const address = await sharedAddress("apiServer");
  return address === undefined ? await startDefinitions() : await attachControlPlane(address);
}

/** What sharedControlPlane() attaches to. */
export async function startDefinitions(): Promise<ControlPlane> {
  const cp = await startControlPlane({ seed: "cluster" });
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    await cp.apply(await clusterApiDefinition("extensionconfigs.runtime.cluster.x-k8s.io"));
    return cp;
  } catch (error) {
    await cp.stop();
    throw error;
  }
}
