/** The operator as a process: certificates, probes, metrics, start and end. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { Agent, request as post } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, afterEach, before, describe, test } from "node:test";
import { TLSSocket } from "node:tls";
import type { HookResponse } from "../../src/api/runtime-hooks.ts";
import { hookPath } from "../../src/api/hook-catalog.ts";
import { createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { holdsFor, issueServingCertificate, type Operator } from "../controlplane/operator.ts";
import { portOf } from "../controlplane/ports.ts";
import { applyPolicy, approvalRule, approve, policyRow, policyRef } from "../controlplane/policies.ts";
import {
  type ChildOperator,
  flagsOf,
  killChildren,
  run,
  type Setup,
  setUp,
  startChild,
} from "./child-operator.ts";
import { startLab } from "./operator-lab.ts";

const HOOK = "BeforeClusterUpgrade";
/** Calls about one Cluster would share the reads that confirm them. */
const FREE = ["free", "free-1", "free-2", "free-3", "free-4", "free-5"];

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;
await applyPolicy(cp, policyRef("team-a", "protect"), { rules: [approvalRule(HOOK)] });
for (const name of ["held", ...FREE]) {
  await createCluster(cp, { namespace: "team-a", name, version: NEXT_VERSION });
}
for (const name of FREE) await approve(cp, "team-a", name);

interface Observation {
  readonly answer: HookResponse;
  readonly certificate: string;
  readonly socket: TLSSocket;
}

/** One call, its connection, and the certificate that this one was opened with. */
async function call(operator: Operator, agent: Agent, request: object): Promise<Observation> {
  const outgoing = post(`${operator.url.slice(0, -1)}${hookPath(HOOK)}`, {
    method: "POST",
    agent,
    ca: cp.authority.certificate,
  });
  const answered = once(outgoing, "response");
  outgoing.end(JSON.stringify(request));
  const [response] = await answered;
  const { socket } = outgoing;
  assert.ok(socket instanceof TLSSocket);
  const certificate = socket.getPeerX509Certificate()?.toString() ?? "";
  return { answer: JSON.parse(await text(response)), certificate, socket };
}

test("takes up a new certificate without a restart, and never half of one", async () => {
  const { operator } = lab;
  const request = await lab.requestFor("team-a", "held");
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const fresh = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  const first = await call(operator, kept, request);
  const warnings = () => operator.lines().filter(({ msg }) => msg === "Keeping the old serving certificate");

  const pair = await issueServingCertificate(cp);
  await writeFile(join(operator.certDir, "tls.crt"), pair.certificate); // its key is still the old one
  const [warning] = await cp.waitFor("a warning", () => warnings().length > 0 && warnings());
  assert.match(JSON.stringify(warning), /the private key does not match the certificate/);
  assert.equal((await call(operator, fresh, request)).certificate, first.certificate);
  await holdsFor(6000, async () => assert.equal(warnings().length, 1)); // it looks every 5 s

  await writeFile(join(operator.certDir, "tls.key"), pair.key);
  const next = await cp.waitFor("the new certificate", async () => {
    const seen = await call(operator, fresh, request);
    return seen.certificate !== first.certificate && seen;
  });
  assert.equal(
    next.certificate,
    pair.certificate.endsWith("\n") ? pair.certificate : `${pair.certificate}\n`,
  );
  assert.equal(next.answer.retryAfterSeconds, 5);
  const last = await call(operator, kept, request);
  assert.equal(last.socket, first.socket, "the connection has outlived its certificate");
  assert.equal(last.answer.retryAfterSeconds, 5);
  assert.equal(warnings().length, 1);
  kept.destroy();
});

test("answers probes and tells Prometheus what it does", async () => {
  const { operator } = lab;
  await lab.ask(HOOK, "team-a", "held");
  await lab.ask(HOOK, "team-a", "free");
  await policyRow(cp, policyRef("team-a", "protect"), "held", HOOK);
  const health = `http://127.0.0.1:${operator.ports.health}`;
  assert.equal((await fetch(`${health}/healthz`)).status, 200);
  assert.equal((await fetch(`${health}/readyz`)).status, 200);

  const page = await (await fetch(`http://127.0.0.1:${operator.ports.metrics}/metrics`)).text();
  const series = (name: string): string[] => page.split("\n").filter((line) => line.startsWith(name));
  const calls = `hookpolicy_hook_calls_total{hook="${HOOK}",verdict=`;
  assert.match(series(`${calls}"Blocked"}`).join(), / [1-9]\d*$/);
  assert.match(series(`${calls}"Allowed"}`).join(), / [1-9]\d*$/);
  const seconds = "hookpolicy_hook_call_duration_seconds";
  assert.match(series(`${seconds}_count{hook="${HOOK}"}`).join(), / [1-9]\d*$/);
  assert.match(series(`${seconds}_bucket{le="0.005",hook="${HOOK}"}`).join(), / \d+$/);
  assert.deepEqual(series("hookpolicy_held_clusters{"), [`hookpolicy_held_clusters{hook="${HOOK}"} 1`]);
  const ages = series("hookpolicy_informer_contact_age_seconds{");
  assert.equal(ages.length, 7);
  for (const line of ages) assert.ok(Number(line.split(" ").at(-1)) < 90, line);
  assert.match(series('hookpolicy_status_writes_total{kind="HookPolicy",result="written"}').join(), / \d+$/);
  assert.doesNotMatch(page, /="(held|free)"/, "no series names a Cluster");
});

afterEach(killChildren);

describe("says in one line why it cannot start:", () => {
  const taken = createServer();
  before(async () => {
    taken.listen(0, "127.0.0.1");
    await once(taken, "listening");
  });
  after(() => taken.close());

  const cases: Record<
    string,
    { readonly spoil: (setup: Setup) => Promise<Setup> | Setup; readonly line: RegExp }
  > = {
    "no kubeconfig": {
      spoil: (good) => ({ ...good, kubeconfig: "/nowhere/kubeconfig" }),
      line: /\/nowhere\/kubeconfig/,
    },
    "a kubeconfig that is none": {
      spoil: async (good) => {
        const kubeconfig = join(good.certDir, "broken.kubeconfig");
        await writeFile(kubeconfig, "{ this is: [not YAML\n");
        return { ...good, kubeconfig };
      },
      line: /broken\.kubeconfig/,
    },
    "no certificate": {
      spoil: (good) => ({ ...good, certDir: "/nowhere/certs" }),
      line: /cannot read \/nowhere\/certs\/tls\.(crt|key) .*--webhook-cert-dir/,
    },
    "a certificate that cannot be read": {
      spoil: async (good) => {
        const certDir = join(good.certDir, "unreadable");
        await mkdir(join(certDir, "tls.crt"), { recursive: true }); // whoever runs this may be root
        return { ...good, certDir };
      },
      line: /cannot read .*tls\.(crt|key) .*--webhook-cert-dir/,
    },
    "a key that does not match": {
      spoil: async (good) => {
        const { key } = await issueServingCertificate(cp);
        await writeFile(join(good.certDir, "tls.key"), key);
        return good;
      },
      line: /the private key does not match the certificate/,
    },
    "the hooks' port in use": {
      spoil: (good) => ({ ...good, ports: { ...good.ports, webhook: portOf(taken) } }),
      line: /in use.*--webhook-port|--webhook-port.*in use/,
    },
    "the probes' port in use": {
      spoil: (good) => ({ ...good, ports: { ...good.ports, health: portOf(taken) } }),
      line: /in use.*--health-addr|--health-addr.*in use/,
    },
    "the metrics' port in use": {
      spoil: (good) => ({ ...good, ports: { ...good.ports, metrics: portOf(taken) } }),
      line: /in use.*--diagnostics-address|--diagnostics-address.*in use/,
    },
  };
  for (const [name, { spoil, line }] of Object.entries(cases)) {
    test(name, async () => {
      const good = await setUp(lab, name.replaceAll(/\W+/g, "-"));
      const { code, output } = await run(flagsOf(await spoil(good))).ended;
      const errors = output
        .trimEnd()
        .split("\n")
        .filter((each) => !/ INFO /.test(each));
      assert.equal(errors.length, 1, output);
      assert.match(errors[0] ?? "", / ERROR Cannot run /);
      assert.match(errors[0] ?? "", line);
      assert.doesNotMatch(output, /\bat .*:\d+:\d+/, "no stack trace");
      assert.equal(code, 1);
    });
  }

  test("an unknown flag or value, with another exit code", async () => {
    for (const flag of ["--no-such-flag", "--capi-version=latest"]) {
      const { code, output } = await run([flag]).ended;
      assert.equal(code, 2);
      assert.match(output, /^error: .*hookpolicy run --help'\n$/);
    }
  });
});

/** Calls that wait for their confirmation, and the operator that they wait for. */
async function inFlight(
  name: string,
): Promise<ChildOperator & { answers: Promise<Observation>[]; go: () => void }> {
  const { proxy } = lab;
  const running = await startChild(lab, name);
  const operator: Operator = { ...lab.operator, url: `https://127.0.0.1:${running.ports.webhook}/` };
  const requests = await Promise.all(FREE.map(async (free) => await lab.requestFor("team-a", free)));
  proxy.forget();
  const confirmation = /^GET \/apis\/cluster\.x-k8s\.io\/.*\/clusters\/free(-\d)?$/;
  const go = Promise.withResolvers<void>();
  proxy.wait(go.promise, confirmation);
  const agent = new Agent({ keepAlive: true });
  const answers = requests.map(async (request) => await call(operator, agent, request));
  const ended = new Set<string>();
  for (const [index, free] of FREE.entries())
    answers[index]?.catch(() => undefined).finally(() => ended.add(free)); // it may be cut off, and is looked at later
  const hasBegun = (free: string): boolean =>
    ended.has(free) || proxy.count(new RegExp(`^GET .*/clusters/${free}$`)) > 0;
  await cp.waitFor("all calls to have begun", () => FREE.every(hasBegun));
  return { ...running, answers, go: go.resolve };
}

describe("SIGTERM", () => {
  afterEach(() => lab.proxy.resume());

  test("lets every call that has begun have its answer, and ends with 0", async () => {
    const { child, answers, ended, go, output } = await inFlight("drained");
    child.kill("SIGTERM");
    await cp.waitFor("it to begin to stop", () => output().includes("Stopping"));
    go();
    for (const { answer } of await Promise.all(answers)) assert.equal(answer.status, "Success");
    assert.equal((await ended).code, 0, output());
    assert.match(output(), /Stopped\n$/);
  });
});
