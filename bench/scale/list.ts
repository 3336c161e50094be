/**
 * The least that a client has to do for the same start: lists the same objects, drops them, and prints when it was done. It
 * shares no code with the operator, whose every improvement would otherwise improve what it is compared with.
 */

import { Agent, get } from "node:https";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";

interface Page {
  readonly items: readonly unknown[] | null;
  readonly metadata: { readonly continue?: string };
}

const JSON_TYPE = "application/json";
const METADATA = `${JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`;
const OWN = "/apis/hookpolicy.dev/v1alpha1";
const LISTS = [
  { path: `${OWN}/hookpolicies`, accept: JSON_TYPE },
  { path: `${OWN}/clusterhookpolicies`, accept: JSON_TYPE },
  { path: `${OWN}/hookoverrides`, accept: JSON_TYPE },
  { path: "/apis/cluster.x-k8s.io/v1beta2/clusters", accept: JSON_TYPE },
  { path: "/api/v1/namespaces", accept: METADATA },
];
/** client-go's pager asks for as many. */
const PAGE_SIZE = "500";

const [, , kubeconfig = ""] = process.argv;
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const access: { ca?: string; headers?: Record<string, string> } = {};
await config.applyToHTTPSOptions(access);
const agent = new Agent({ keepAlive: true });
const { server = "" } = config.getCurrentCluster() ?? {};

async function page(path: string, accept: string): Promise<Page> {
  const { ca, headers } = access;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { ca, agent, headers: { ...headers, accept, "accept-encoding": "gzip" } };
    get(`${server}${path}`, options, resolve).once("error", reject);
  });
  const body = await buffer(answer);
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${body.toString()}`);
  const text = answer.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
  return JSON.parse(text.toString());
}

/** Page after page, as client-go's pager does. */
async function list({ path, accept }: (typeof LISTS)[number]): Promise<void> {
  const query = new URLSearchParams({ limit: PAGE_SIZE });
  do {
    const { metadata } = await page(`${path}?${query.toString()}`, accept);
    query.set("continue", metadata.continue ?? "");
  } while (query.get("continue") !== "");
}

await Promise.all(LISTS.map(list));
process.stdout.write(String(Date.now()));
agent.destroy();
