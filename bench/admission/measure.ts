/** Requests about Clusters to a real API server: without a webhook, with one that only refuses, and with the operator's. */

import { join } from "node:path";
import { inParallel } from "../../test/apiserver/operatorlab.ts";
import { ApiError } from "../../test/controlplane/client.ts";
import { clusterWebhook } from "../../test/controlplane/clusterwebhook.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import { CLUSTER_API } from "../../test/controlplane/labkinds.ts";
import {
  issueServingCertificate,
  type Operator,
  writeServingCertificate,
} from "../../test/controlplane/operator.ts";
import { applyPolicy, APPROVED, approvalRule, policyRef } from "../../test/controlplane/policies.ts";
import { AT_A_TIME, createClusters, kindOf, NAMESPACES, namespaceOf, range, refOf } from "../fleet/fleet.ts";
import type { Noise } from "../measure/noise.ts";
import { inRounds, kubeVersionOf, onControlPlane, type Progress, type Site } from "../part.ts";
import { startShipped } from "../shipped.ts";
import { startBareServer } from "../speed/servers.ts";

export interface AdmissionSize {
  readonly clusters: number;
  /** Of each kind, in a round. */
  readonly requests: number;
  readonly updates: number;
  readonly rounds: number;
}

/** Milliseconds of each request, one after the other, or per second. */
export interface Round {
  /** A deletion (dry run) without a webhook. */
  readonly none: readonly number[];
  /** One that a server refuses which does nothing but parse the review. */
  readonly bare: readonly number[];
  /** One that the operator refuses because of the Cluster's annotation. */
  readonly denied: readonly number[];
  /** One that passes once it is confirmed. */
  readonly confirmed: readonly number[];
  /** The same, as many at a time as fill the API server. */
  readonly parallel: readonly number[];
  readonly updatesWithout: number;
  readonly updatesWith: number;
  /** Reviews that the operator got while other fields were updated. */
  readonly reviews: number;
}

export interface Measured {
  readonly size: AdmissionSize;
  readonly kubeVersion: string;
  readonly rounds: readonly Round[];
  readonly noise: Noise;
}

const REVIEWS = "hookpolicy_admission_reviews_total";
const CONFIGURATION = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy-clusters",
};

interface Lab {
  readonly cp: ControlPlane;
  readonly size: AdmissionSize;
  readonly operator: Operator;
  readonly barePort: number;
}

/** Half of them. */
const isApproved = (index: number): boolean => kindOf(index, 2) === 1;

/** With a control plane of its own. */
export async function measureAdmission(size: AdmissionSize, progress: Progress): Promise<Measured> {
  const work = async (site: Site): Promise<Measured> => {
    const { cp, noise } = site;
    const operator = await startShipped(cp, {});
    await createFleet(cp, size, progress);
    const lab = { cp, size, operator, barePort: await startBare(cp) };
    const rounds = await inRounds(site, size.rounds, async (round) => {
      const measured = await measureRound(lab);
      progress(`round ${round + 1} of ${size.rounds} is measured`);
      return measured;
    });
    return { size, kubeVersion: await kubeVersionOf(site), rounds, noise };
  };
  return await onControlPlane(progress, work, { controllers: false });
}

async function createFleet(cp: ControlPlane, { clusters }: AdmissionSize, progress: Progress): Promise<void> {
  const annotations = { [APPROVED]: "true" };
  await createClusters(cp, {
    count: clusters,
    size: "1k",
    finish: async (ref, index) =>
      isApproved(index) ? await cp.patch(ref, { metadata: { annotations } }) : undefined,
    progress,
  });
  for (const index of range(NAMESPACES)) {
    await applyPolicy(cp, policyRef(namespaceOf(index), "protect"), {
      rules: [{ ...approvalRule("BeforeClusterDelete"), admission: "Deny" }],
    });
  }
}

async function startBare(cp: ControlPlane): Promise<number> {
  const certDir = join(cp.folder, "bare-certs");
  await writeServingCertificate(certDir, await issueServingCertificate(cp));
  return (await startBareServer(cp, certDir, "review")).port;
}

async function measureRound(lab: Lab): Promise<Round> {
  const { cp, size, operator, barePort } = lab;
  const [held, approved] = [false, true].map((which) =>
    range(size.clusters).filter((index) => isApproved(index) === which),
  );
  await cp.delete(CONFIGURATION);
  await until(cp, held, undefined);
  const none = await oneByOne(lab, held, true);
  const updatesWithout = await updates(lab);
  await install(cp, barePort);
  await until(cp, held, /bare server/);
  const bare = await oneByOne(lab, held, false);
  await install(cp, operator.ports.admission);
  await until(cp, held, /cannot be deleted yet/);
  const denied = await oneByOne(lab, held, false);
  const confirmed = await oneByOne(lab, approved, true);
  const parallel: number[] = [];
  await inParallel(range(size.requests), AT_A_TIME, async (index) => {
    parallel.push(await timed(cp, approved?.[index % approved.length] ?? 0, true));
  });
  const before = await operator.metric(REVIEWS);
  const updatesWith = await updates(lab);
  const reviews = (await operator.metric(REVIEWS)) - before;
  return { none, bare, denied, confirmed, parallel, updatesWithout, updatesWith, reviews };
}

async function install(cp: ControlPlane, port: number): Promise<void> {
  await cp.apply(await clusterWebhook(port, cp.authority.caBundle));
}

/** The message of the refusal; a dry run, so that the Cluster stays. */
async function tryDeletion(cp: ControlPlane, index: number): Promise<string | undefined> {
  const { namespace, name } = refOf(index);
  const path = `/apis/${CLUSTER_API}/namespaces/${namespace}/clusters/${name}?dryRun=All`;
  return await cp.request("DELETE", path).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ApiError) return error.message;
      throw error;
    },
  );
}

/** The API server needs a moment to see another configuration. */
async function until(
  cp: ControlPlane,
  [index = 0]: readonly number[] = [],
  refusal: RegExp | undefined,
): Promise<void> {
  await cp.waitFor("the API server to see the webhook", async () => {
    const said = await tryDeletion(cp, index);
    return refusal === undefined ? said === undefined : said !== undefined && refusal.test(said);
  });
}

/** Another answer than the expected one has cost something else. */
async function timed(cp: ControlPlane, index: number, passes: boolean): Promise<number> {
  const begun = performance.now();
  const said = await tryDeletion(cp, index);
  const ms = performance.now() - begun;
  if ((said === undefined) !== passes) throw new Error(`unexpected: ${said ?? "the deletion passed"}`);
  return ms;
}

async function oneByOne(
  { cp, size }: Lab,
  clusters: readonly number[] = [],
  passes: boolean,
): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < size.requests; count += 1)
    times.push(await timed(cp, clusters[count % clusters.length] ?? 0, passes));
  return times;
}

/** Updates of an annotation per second, as many at a time as fill the API server. */
async function updates({ cp, size }: Lab): Promise<number> {
  const begun = performance.now();
  await inParallel(range(size.updates), AT_A_TIME, async (count) => {
    const annotations = { "example.com/count": `${count}` };
    await cp.patch(refOf(count % size.clusters), { metadata: { annotations } });
  });
  return (1000 * size.updates) / (performance.now() - begun);
}
