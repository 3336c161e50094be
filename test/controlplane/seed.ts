/**
 * What many control planes of a run begin with. An API server works eight seconds on Cluster API's definitions when they
 * are created, and on HookPolicy's, its roles and its own ones; those that find them in etcd do not. It is the state of
 * a real API server after real installations, made at the beginning of a run (test/setup.ts) or of an earlier one; a file
 * that runs alone installs everything itself.
 */
import { readFile, writeFile } from "node:fs/promises";
import type { KubeObject } from "./client.ts";
import { waitFor } from "./waits.ts";

/** Names the file, in which stands what etcd had. */
const VARIABLE = "HOOKPOLICY_TEST_SEED";

/** As etcd's JSON API has it: both in base64. */
interface KeyValue {
  readonly key: string;
  readonly value: string;
}

/**
 * - `hookpolicy`: CRDs, roles, namespace and ServiceAccount of HookPolicy;
 * - `cluster`: these, and the definition of Cluster, without conversion;
 * - `clusterApi`: HookPolicy's, the provider kinds of the lab, and all definitions of Cluster API, of which a manager
 *   converts the versions.
 */
export type SeedName = "hookpolicy" | "cluster" | "clusterApi";

/** Where Cluster API's manager will answer. */
interface ConversionTarget {
  readonly webhookPort: number;
  readonly caBundle: string;
}

/** What etcd had before the API server began. */
export interface SeedState {
  readonly name: SeedName;
  /** Where its definitions expect the webhooks of Cluster API. */
  readonly webhookPort: number;
}

const DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
/** What an API server says of itself while it runs, and will say again; and what expires. */
const OF_ONE_SERVER =
  /^\/registry\/(masterleases|leases|events|endpointslices|services\/endpoints|configmaps\/kube-system|validatingwebhook|mutatingwebhook)/;
const CLUSTER_API = /(^|\.)cluster\.x-k8s\.io$/;

/** Of an etcd whose API server has `clusterApi` installed. */
export async function saveSeed(etcdUrl: string, file: string): Promise<void> {
  const everything = Buffer.from("\0").toString("base64");
  const { kvs } = await ask<{ kvs: KeyValue[] }>(etcdUrl, "range", {
    key: everything,
    range_end: everything,
  });
  const kept = kvs
    .filter(({ key }) => !OF_ONE_SERVER.test(decoded(key)))
    .map(({ key, value }) => ({ key, value }));
  await writeFile(file, JSON.stringify(kept));
}

/** For the files of this run. */
export function useSeed(file: string): void {
  process.env[VARIABLE] = file;
}

/** Before an API server uses this etcd. `undefined`: nothing was asked for, or the run has no seed. */
export async function plantSeed(
  etcdUrl: string,
  seed: SeedName | undefined,
  target: ConversionTarget,
): Promise<SeedState | undefined> {
  const file = process.env[VARIABLE];
  if (file === undefined || seed === undefined) return undefined;
  const all = JSON.parse(await readFile(file, "utf8")) as KeyValue[];
  const chosen = all.flatMap((each) => chosenOf(each, seed, target));
  await waitFor("etcd to answer", async () => await ask(etcdUrl, "range", { key: "AA==" }), { everyMs: 20 });
  for (const part of parts(chosen)) {
    const success = part.map((requestPut) => ({ requestPut }));
    await ask(etcdUrl, "txn", { success });
  }
  return { name: seed, webhookPort: target.webhookPort };
}

function chosenOf(pair: KeyValue, seed: SeedName, target: ConversionTarget): readonly KeyValue[] {
  const key = decoded(pair.key);
  const group = /^\/registry\/apiregistration\.k8s\.io\/apiservices\/[^.]+\.(.*)$/.exec(key)?.[1] ?? "";
  // The API server makes them of the definitions that it finds.
  if (CLUSTER_API.test(group)) return seed === "clusterApi" ? [pair] : [];
  if (!key.startsWith(DEFINITIONS)) return [pair];
  const definition = JSON.parse(decoded(pair.value)) as KubeObject;
  const { group: own } = definition["spec"] as { group: string };
  if (!CLUSTER_API.test(own)) return [pair];
  if (
    seed === "hookpolicy" ||
    (seed === "cluster" && definition.metadata.name !== "clusters.cluster.x-k8s.io")
  )
    return [];
  const spec = { ...definition["spec"], conversion: conversionOf(definition, seed, target) };
  return [{ key: pair.key, value: encoded(JSON.stringify({ ...definition, spec })) }];
}

/** As it is stored: in v1beta1 of apiextensions.k8s.io, which has no `webhook`. */
function conversionOf(definition: KubeObject, seed: SeedName, target: ConversionTarget): object {
  const { conversion } = definition["spec"];
  if (seed !== "clusterApi") return { strategy: "None" };
  if (conversion.strategy === "None") return conversion;
  const { webhookClientConfig } = conversion;
  if (webhookClientConfig?.url === undefined)
    throw new Error(
      `${definition.metadata.name}: stored in ${definition.apiVersion}, without the URL of its webhook`,
    );
  const url = new URL(webhookClientConfig.url);
  url.port = String(target.webhookPort);
  return { ...conversion, webhookClientConfig: { url: url.href, caBundle: target.caBundle } };
}

/** As many as etcd takes at once: 128, and a megabyte and a half. */
function parts(pairs: readonly KeyValue[]): readonly (readonly KeyValue[])[] {
  const done: KeyValue[][] = [[]];
  let size = 0;
  for (const pair of pairs) {
    const length = pair.key.length + pair.value.length;
    if ((done.at(-1)?.length ?? 0) >= 100 || size + length > 1_000_000) {
      done.push([]);
      size = 0;
    }
    done.at(-1)?.push(pair);
    size += length;
  }
  return done;
}

async function ask<T>(etcdUrl: string, method: string, body: object): Promise<T> {
  const response = await fetch(`${etcdUrl}/v3/kv/${method}`, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd, ${method}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

function decoded(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}
