/** The webhook of Clusters: how long a refusal and a confirmed deletion take, and whether other updates reach the operator. */

import { join } from "node:path";
import { inParallel } from "../../test/apiserver/operator-lab.ts";
import { ApiError } from "../../test/controlplane/client.ts";
import { clusterWebhook } from "../../test/controlplane/cluster-webhook.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { CLUSTER_API } from "../../test/controlplane/lab-kinds.ts";
import {
  issueServingCertificate,
  type Operator,
  writeServingCertificate,
} from "../../test/controlplane/operator.ts";
import { applyPolicy, APPROVED, approvalRule, policyRef } from "../../test/controlplane/policies.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";
import {
  AT_A_TIME,
  createClusters,
  inTurn,
  kindOf,
  NAMESPACES,
  namespaceOf,
  range,
  refOf,
} from "../fleet/fleet.ts";
import { median, quantile, rounded } from "../measure/statistics.ts";
import { inRounds, onControlPlane, type Progress, QUICK, resultOf, type Site } from "../part.ts";
import { below, none, type PartResult, row, type Row } from "../result.ts";
import { startBareServer } from "../speed/servers.ts";

interface Size {
  readonly clusters: number;
  /** Deletions of each kind in a round. */
  readonly requests: number;
  readonly updates: number;
  readonly rounds: number;
}

const FULL: Size = { clusters: 1000, requests: 1000, updates: 30_000, rounds: 3 };
const SKETCH: Size = { clusters: 50, requests: 50, updates: 1000, rounds: 1 };

/** The deletions, by the ids of their rows. */
type Times = "none" | "bare" | "denied" | "confirmed" | "parallel";

/** The times are milliseconds of each deletion. */
interface Round extends Readonly<Record<Times, readonly number[]>> {
  /** Updates per second, without and with the webhook. */
  readonly updatesWithout: number;
  readonly updatesWith: number;
  /** Reviews that the operator got during these updates. */
  readonly reviews: number;
}

const REVIEWS = "hookpolicy_admission_reviews_total";
const CONFIGURATION = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy-clusters",
};

interface Lab extends Site {
  readonly size: Size;
  readonly operator: Operator;
  readonly barePort: number;
}

/** Half of the Clusters are approved. */
const isApproved = (index: number): boolean => kindOf(index, 2) === 1;

export async function runAdmission(progress: Progress): Promise<PartResult> {
  const size = QUICK ? SKETCH : FULL;
  const { clusters, updates: updated } = size;
  const work = async (site: Site): Promise<PartResult> => {
    const { cp, versions, noise } = site;
    const operator = await startShipped(cp);
    await createFleet(cp, size, progress);
    const lab = { ...site, size, operator, barePort: await startBare(cp) };
    const rounds = await inRounds(site, size.rounds, async (round) => {
      progress(`round ${round + 1} of ${size.rounds}`);
      return await measureRound(lab);
    });
    const title = `Deletions of ${clusters.toLocaleString("en")} Clusters, and ${updated.toLocaleString("en")} updates of other fields`;
    const rows = [...rowsOf(rounds), noise.row("admission")];
    return resultOf("admission", { versions, tables: [{ title, rows }], notes: notesOf(size) });
  };
  return await onControlPlane(progress, work, { controllers: false });
}

async function createFleet(cp: ControlPlane, { clusters }: Size, progress: Progress): Promise<void> {
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

/** Returns the port of a server that refuses every review. */
async function startBare(cp: ControlPlane): Promise<number> {
  const certDir = join(cp.folder, "bare-certs");
  await writeServingCertificate(certDir, await issueServingCertificate(cp));
  return (await startBareServer(cp, certDir, "review")).port;
}

async function measureRound(lab: Lab): Promise<Round> {
  const { cp, size, operator, barePort } = lab;
  const approved = range(size.clusters).filter(isApproved);
  const held = range(size.clusters).filter((index) => !isApproved(index));
  await cp.delete(CONFIGURATION);
  await waitForWebhook(cp, held, (said) => said === undefined);
  const without = await oneByOne(lab, held, true);
  const updatesWithout = await updates(lab);
  await cp.apply(await clusterWebhook(barePort, cp.authority.caBundle));
  await waitForWebhook(cp, held, (said = "") => said.includes("bare server"));
  const bare = await oneByOne(lab, held, false);
  await cp.apply(await clusterWebhook(operator.ports.admission, cp.authority.caBundle));
  await waitForWebhook(cp, held, (said = "") => said.includes("cannot be deleted yet"));
  const denied = await oneByOne(lab, held, false);
  const confirmed = await oneByOne(lab, approved, true);
  const parallel: number[] = [];
  await inParallel(range(size.requests), AT_A_TIME, async (index) => {
    parallel.push(await timed(cp, inTurn(approved, index), true));
  });
  const before = await operator.metric(REVIEWS);
  const updatesWith = await updates(lab);
  const reviews = (await operator.metric(REVIEWS)) - before;
  return { none: without, bare, denied, confirmed, parallel, updatesWithout, updatesWith, reviews };
}

/** Returns the message of the refusal. The deletion is a dry run, so that the Cluster stays. */
async function tryDeletion(cp: ControlPlane, index: number): Promise<string | undefined> {
  const { namespace, name } = refOf(index);
  const path = `/apis/${CLUSTER_API}/namespaces/${namespace}/clusters/${name}?dryRun=All`;
  try {
    await cp.request("DELETE", path);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/** The API server needs a moment to see another configuration. */
async function waitForWebhook(
  cp: ControlPlane,
  clusters: readonly number[],
  isSeen: (refusal: string | undefined) => boolean,
): Promise<void> {
  const probe = async (): Promise<boolean> => isSeen(await tryDeletion(cp, inTurn(clusters, 0)));
  await cp.waitFor("the API server to see the webhook", probe);
}

/** Rejects an unexpected answer: its time is that of something else. */
async function timed(cp: ControlPlane, index: number, passes: boolean): Promise<number> {
  const begun = performance.now();
  const said = await tryDeletion(cp, index);
  const ms = performance.now() - begun;
  if ((said === undefined) !== passes) throw new Error(`unexpected: ${said ?? "the deletion passed"}`);
  return ms;
}

async function oneByOne({ cp, size }: Lab, clusters: readonly number[], passes: boolean): Promise<number[]> {
  const times: number[] = [];
  for (const count of range(size.requests)) times.push(await timed(cp, inTurn(clusters, count), passes));
  return times;
}

/** Updates of an annotation per second, as many at a time as keep the API server busy. */
async function updates({ cp, size }: Lab): Promise<number> {
  const begun = performance.now();
  await inParallel(range(size.updates), AT_A_TIME, async (count) => {
    const annotations = { "example.com/count": `${count}` };
    await cp.patch(refOf(count % size.clusters), { metadata: { annotations } });
  });
  return (1000 * size.updates) / (performance.now() - begun);
}

function rowsOf(rounds: readonly Round[]): Row[] {
  const ms = (of: Times, work: string, limit?: number): Row => {
    const p99 = rounds.map((round) => rounded(quantile(round[of], 0.99), 2));
    const note = `p50 ${rounded(median(rounds.flatMap((round) => round[of])), 2)} ms`;
    const goal = limit === undefined ? undefined : below(limit);
    return row(`admission-${of}`, `${work}, p99`, p99, { unit: "ms", goal, note });
  };
  const reviews = rounds.map((round) => round.reviews);
  const ratios = rounds.map((round) => rounded(round.updatesWith / round.updatesWithout, 2));
  const perSecond = (of: "updatesWith" | "updatesWithout"): number =>
    rounded(median(rounds.map((round) => round[of])), 0);
  return [
    ms("none", "a deletion (dry run) without webhook"),
    ms("bare", "refused by a server that only parses the review"),
    ms("denied", "refused by the operator, from the Cluster alone", 10),
    ms("confirmed", "confirmed with the API server, and passed", 120),
    ms("parallel", "the same, 16 at a time"),
    row("admission-reviews", "reviews that the operator gets of the updates", reviews, none("reviews")),
    row("admission-updates", "updates per second with the webhook, beside those without", ratios, {
      unit: "× without",
      note: `${perSecond("updatesWith")} with it, ${perSecond("updatesWithout")} without`,
    }),
  ];
}

function notesOf({ requests }: Size): string[] {
  return [
    `One kube-apiserver, one etcd, one replica. Each figure is the whole request, from the client to the API server, its webhook and back: ${requests.toLocaleString("en")} requests in a round, one after the other unless the row says otherwise. Deletions are dry runs, so that the Clusters stay; the webhook decides about them in the same way. Half of the Clusters are approved.`,
    "The rows without the operator were measured in the same rounds: the operator's share is the difference.",
    "The updates set an annotation, 16 at a time, as fast as the API server stores them. The webhook's matchConditions leave them out, so they reach the operator by its watch alone, as without the webhook.",
  ];
}
