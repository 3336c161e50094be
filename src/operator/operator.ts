/** Builds the operator and defines the order of its start and its shutdown. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { MAX_CALL_BYTES } from "../server/bodies.ts";
import { type Logger, rateLimited } from "../lib/logger.ts";
import { AnswerLog } from "../report/answer-log.ts";
import { servedHooks } from "../api/hook-catalog.ts";
import { createRoutes } from "../hooks/hook-routes.ts";
import { KubeClient } from "../kube/kube-client.ts";
import { type KubeConfig, loadKubeConfig } from "../kube/kubeconfig.ts";
import { LeaderElection } from "../kube/leader-election.ts";
import { ownNamespace } from "../kube/own-namespace.ts";
import { LEADER_LEASE } from "../kube/resources.ts";
import { createMetrics, hookMetrics } from "../report/metrics.ts";
import { createAdmissionServer } from "../admission/admission-server.ts";
import { createHookServer, type HookServerOptions } from "../server/hook-server.ts";
import type { KeyPair, TlsServer } from "../server/tls-server.ts";
import { VERSION } from "../version.ts";
import { type AdmissionRoutes, createAdmission } from "./admission-wiring.ts";
import { openAuditLog } from "../report/audit-log.ts";
import { Certificates, type Listener } from "../certificates/certificates.ts";
import { Controller } from "./controller.ts";
import { createDiagnostics } from "./diagnostics.ts";
import { EventRecorder, type EventResult } from "../report/event-recorder.ts";
import type { Options } from "./options.ts";
import { Readiness } from "./health-server.ts";

export interface OperatorDeps {
  readonly log: Logger;
  /** When it aborts: become not ready, answer for --shutdown-delay-duration, finish what is in flight, return. */
  readonly signal: AbortSignal;
}

/**
 * Above the time that Cluster API waits for an answer. The Deployment's terminationGracePeriodSeconds must exceed it.
 */
export const DRAIN_MS = 15_000;

/** A review contains two objects. There are few API servers, and each keeps few connections. */
const ADMISSION_LIMITS = { bodiesBytes: 4 * MAX_CALL_BYTES, connections: 256 };

/**
 * The HTTP parser of undici is WebAssembly. V8 would optimise it while the first lists arrive, and the C library then keeps the
 * 9 MB that this takes. Optimising gains nothing, because the parser does not touch bodies.
 */
const WITHOUT_OPTIMISED_PARSER = "--wasm-tiering-budget=2147483647";

/**
 * V8 allocates objects in old space if objects that the same code created before have survived. After a start with many statuses to
 * write, it would do so with parts of each request and response for the life of the process, and what they refer to would stay
 * until a full collection. Measured: ten times as many full collections, and calls that took twice as long.
 */
const WITHOUT_PRETENURING = "--no-allocation-site-pretenuring";

/**
 * Sparkplug would compile what has run a few times, and V8 would never forget that code, or the bytecode below it. What runs often
 * is optimised all the same. Measured: 1.2 MB less of V8's heap when idle and 3.5 MB with 1,000 Clusters, for the same CPU time of
 * the start and of calls.
 */
const WITHOUT_BASELINE_CODE = "--no-sparkplug";

/** What tasks do must not delay the operator's own requests. */
const TASK_CONNECTIONS = 4;

/** Runs until `signal` aborts; rejects when the operator cannot start. */
export async function runOperator(options: Options, { log, signal }: OperatorDeps): Promise<void> {
  for (const flag of [WITHOUT_OPTIMISED_PARSER, WITHOUT_PRETENURING, WITHOUT_BASELINE_CODE])
    setFlagsFromString(flag);
  const served = servedHooks(options.capiVersion.minor);
  const metrics = createMetrics(served);
  const kubeConfig = loadKubeConfig(options);
  const { client, reviews, taskClient } = createClients(kubeConfig);
  const place = { namespace: ownNamespace(options), serviceName: options.webhookServiceName };
  const onResult = (result: EventResult): void => metrics.events.inc({ result });
  const events = new EventRecorder({ client, log, onResult, now });
  const leadership = createLeadership(options, client, log);
  const settings = { served, maxOverrideMs: options.maxOverrideMs };
  const acting = { client, taskClient, leading: () => leadership.leading() };
  const controller = new Controller({ ...acting, ...settings, place, metrics, events, log });
  const { memory, decisions } = controller;
  const readiness = new Readiness(controller);
  const certificates: Certificates = new Certificates({
    settings: options,
    client,
    leading: acting.leading,
    events,
    log,
    servers: () => servers,
    serving: () => [...Object.values(servers), diagnostics],
  });
  const { audit, writer } = options.auditLog ? await openAuditLog(options.auditLog, { metrics, log }) : {};
  const hooks = createRoutes(served, {
    source: decisions,
    metrics: hookMetrics(metrics),
    answers: new AnswerLog({ log, everyCall: options.logLevel === "debug", audit }),
    log,
    warnRateLimited: rateLimited(log),
    now,
  });
  memory.store.onClusterGone(hooks.forget);
  const authenticated = options.admissionClients !== undefined;
  const reviewing = { client: reviews, settings, authenticated, metrics, audit, log };
  const admission = createAdmission({ memory, clusters: decisions, ...reviewing });
  const tls = await certificates.load(signal);
  const servers = createServers(options, { hooks, admission, tls, clients: certificates.clients, log });
  const diagnostics = createDiagnostics({ options, checks: readiness.checks, metrics, kubeConfig, tls, log });
  const [expiries, leading] = [() => certificates.expiries(), options.leaderElect && acting.leading];
  metrics.follow({ ...controller.mirrored(), expiries, leading, clusterNames: options.metricsClusterNames });
  // The hook server comes first: discovery needs nothing else, and Cluster API's start depends on it.
  const { port } = await servers.hooks.listen();
  await servers.admission.listen();
  readiness.listening();
  await diagnostics.listen();
  const { capiVersion } = served;
  log.info("Serving Cluster API's lifecycle hooks", { port, capiVersion, version: VERSION });
  const singular = leadership.run(signal);
  // While calls are answered, the controller keeps memory and status current.
  const answering = new AbortController();
  const parts = Promise.all([controller, certificates, events].map((part) => part.run(answering.signal)));
  if (!signal.aborted) await once(signal, "abort");
  readiness.stopping();
  await stopServing(Object.values(servers), options);
  answering.abort();
  await Promise.all([parts, singular]);
  await Promise.all([diagnostics, client, reviews, taskClient].map(async (each) => await each.close()));
  await writer?.close();
}

function createClients(kubeConfig: KubeConfig): Record<"client" | "reviews" | "taskClient", KubeClient> {
  const create = (connections?: number): KubeClient =>
    new KubeClient(kubeConfig, { version: VERSION, ...(connections !== undefined && { connections }) });
  return { client: create(), reviews: create(), taskClient: create(TASK_CONNECTIONS) };
}

/** Without --leader-elect every process considers itself the only one. */
function createLeadership(
  options: Options,
  client: KubeClient,
  log: Logger,
): Pick<LeaderElection, "leading" | "run"> {
  if (!options.leaderElect) return { leading: () => true, run: async () => undefined };
  const lease = { namespace: ownNamespace(options), name: LEADER_LEASE };
  // The Pod's name is not enough, because a restarted container must not take its old lease for its own.
  const identity = `${hostname()}_${randomUUID()}`;
  return new LeaderElection({ client, lease, identity, log, date: () => client.serverClock.serverTime() });
}

interface ServerParts extends Pick<Certificates, "clients"> {
  readonly tls: KeyPair;
  readonly hooks: Pick<HookServerOptions, "routes" | "undecodable">;
  readonly admission: AdmissionRoutes;
  readonly log: Logger;
}

function createServers(
  { webhookHost: host, webhookPort, admissionPort }: Options,
  { hooks, admission, tls, clients, log }: ServerParts,
): Record<Listener, TlsServer> {
  const common = { ...(host !== undefined && { host }), tls, log };
  return {
    hooks: createHookServer({
      ...common,
      ...hooks,
      port: webhookPort,
      clients: clients.hooks,
    }),
    admission: createAdmissionServer({
      ...common,
      ...admission,
      port: admissionPort,
      flags: "--webhook-host, --admission-port",
      clients: clients.admission,
      limits: ADMISSION_LIMITS,
    }),
  };
}

/** Keeps answering the calls that still arrive while the nodes remove the endpoint. */
async function stopServing(servers: readonly TlsServer[], { shutdownDelayMs }: Options): Promise<void> {
  for (const server of servers) server.shedConnections();
  await setTimeout(shutdownDelayMs);
  await Promise.all(servers.map((server) => server.close(DRAIN_MS)));
}

const now = (): Date => new Date();
