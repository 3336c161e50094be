/** An API server of some fixed answers, for commands that need no more of one. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { folder } from "./program.ts";

/** The answer to a request that the user may not make. */
export const FORBIDDEN = { kind: "Status", reason: "Forbidden", code: 403 };

/** A list as the API server answers it. */
export const list = (...items: readonly object[]): object => ({ metadata: { resourceVersion: "1" }, items });

/** What was posted: a review has a spec. */
interface RequestBody {
  readonly spec?: { readonly user: string; readonly resourceAttributes: { readonly verb: string } };
}

/**
 * By method and path without the query: "GET /api/v1/namespaces", or "GET /api/v1/namespaces a=b" for what has these labels.
 * What is not there is not found. `clock`: what it shows.
 */
export async function answering(
  t: TestContext,
  answers: Readonly<Record<string, object>>,
  clock?: Date,
): Promise<{
  readonly kubeconfig: string;
  readonly asked: readonly string[];
  readonly bodies: readonly RequestBody[];
}> {
  const asked: string[] = [];
  const bodies: RequestBody[] = [];
  const server = createServer((request, response) => {
    const { method = "", url = "" } = request;
    if (method === "POST") void json(request).then((body) => bodies.push(body as RequestBody));
    const question = `${method} ${url.replace(/\?.*$/, "")}`;
    asked.push(question);
    const selector = new URL(url, "http://localhost").searchParams.get("labelSelector");
    const answer = answers[`${question} ${selector}`] ?? answers[question];
    const code = answer === undefined ? 404 : answer === FORBIDDEN ? 403 : 200;
    if (clock !== undefined) response.setHeader("date", clock.toUTCString());
    response.writeHead(code, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { kind: "Status", reason: "NotFound", code: 404 }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close().closeAllConnections());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "a", user: {} }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  };
  const dir = await folder(t, { kubeconfig: JSON.stringify(config) });
  return { kubeconfig: join(dir, "kubeconfig"), asked, bodies };
}

const GROUP = "cluster.x-k8s.io";
const VERSION = { groupVersion: `${GROUP}/v1beta2`, version: "v1beta2" };

/** The discovery of an API server that serves Clusters. */
export const SERVES_CLUSTERS: Readonly<Record<string, object>> = {
  "GET /apis": { groups: [{ name: GROUP, versions: [VERSION], preferredVersion: VERSION }] },
  [`GET /apis/${GROUP}`]: { name: GROUP, versions: [VERSION], preferredVersion: VERSION },
  [`GET /apis/${GROUP}/v1beta2`]: {
    resources: [{ name: "clusters", kind: "Cluster", namespaced: true, verbs: ["get", "list"] }],
  },
};

/** The discovery of an API server that serves ConfigMaps. */
export const SERVES_CONFIG_MAPS: Readonly<Record<string, object>> = {
  "GET /api/v1": {
    resources: [{ name: "configmaps", kind: "ConfigMap", namespaced: true, verbs: ["get", "list", "watch"] }],
  },
};

/** By path: "hookrollouts", or "namespaces/team-a/hookpolicies". */
export type Lists = Readonly<Record<string, readonly object[] | typeof FORBIDDEN>>;

/** Lists of our kinds. */
export const listing = (lists: Lists): Record<string, object> =>
  Object.fromEntries(
    Object.entries(lists).map(([path, items]) => [
      `GET /apis/hookpolicy.dev/v1alpha1/${path}`,
      "kind" in items ? items : list(...items),
    ]),
  );

/** Cluster team-a/prod-1, its Namespace, and what a command about it lists: nothing that `lists` does not name. */
export function servingCluster(cluster: object, lists: Lists = {}): Record<string, object> {
  const clusters = `/apis/${GROUP}/v1beta2/namespaces/team-a/clusters`;
  const none = { clusterhookpolicies: [], hookrollouts: [], hookoverrides: [] };
  return {
    ...SERVES_CLUSTERS,
    [`GET ${clusters}`]: list(cluster),
    [`GET ${clusters}/prod-1`]: cluster,
    "GET /api/v1/namespaces/team-a": { metadata: { name: "team-a", uid: "uid-n", resourceVersion: "1" } },
    ...listing({ "namespaces/team-a/hookpolicies": [], ...none, ...lists }),
  };
}
