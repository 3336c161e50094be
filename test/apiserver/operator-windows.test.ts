/** Windows on a real API server: what moves at an edge although nobody calls, and what a restart knows of it. */

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { WindowGateSpec } from "../../src/api/hook-policy.ts";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { holdsFor } from "../controlplane/operator.ts";
import {
  applyPolicy,
  clusterPolicyRef,
  conditionIs,
  eventAbout,
  policyRow,
  inSeconds,
  noRow,
  policyRef,
  statusOf,
  storePolicy,
  untilTime,
} from "../controlplane/policies.ts";
import { type Lab, startLab } from "./operator-lab.ts";

const HOOK = "BeforeClusterUpgrade";
/** Longer than any test: what moves by then moved at the edge. */
const RETRY = 300;

describe("windows", () => {
  let lab: Lab;
  let cp: ControlPlane;
  before(async () => {
    lab = await startLab();
    cp = lab.cp;
  });
  afterEach(() => lab.proxy.resume());
  after(async () => await lab?.stop());

  function windowRule(window: WindowGateSpec): object {
    const until = [{ name: "night", window }];
    return { rules: [{ name: "rule", hooks: [HOOK], until, retryAfterSeconds: RETRY }] };
  }

  async function windowed(ref: Ref, window: WindowGateSpec): Promise<void> {
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ref.name } };
    const scope = ref.namespace === undefined ? { namespaceSelector } : {};
    await applyPolicy(cp, ref, { ...scope, ...windowRule(window) });
  }

  async function open(name: string): Promise<number> {
    return await lab.operator.metric("hookpolicy_window_open", `policy="${name}"`);
  }

  async function nextIs(ref: Ref, time: string): Promise<void> {
    await cp.waitFor(`the next transition to be ${time}`, async () => {
      return statusOf(await cp.get(ref)).nextTransitionTime === time;
    });
  }

  test("move status, metric and Events at their edges, although nobody calls", async () => {
    const ref = clusterPolicyRef("quiet");
    const [opens, closes, reopens] = [inSeconds(15), inSeconds(30), inSeconds(900)];
    await windowed(ref, {
      allow: [{ from: opens, to: inSeconds(1800) }],
      deny: [{ from: closes, to: reopens }],
    });
    await nextIs(ref, opens);
    assert.equal(await open("quiet"), 0);
    for (const [edge, next, value] of [
      [opens, closes, 1],
      [closes, reopens, 0],
    ] as const) {
      await nextIs(ref, next);
      assert.equal(await open("quiet"), value);
      assert.ok(untilTime(edge) === 0, "not before the edge");
    }
    const opened = await eventAbout(cp, ref, "WindowOpened");
    assert.deepEqual(
      [opened["note"], opened["type"], opened.metadata.namespace],
      [`Rule rule, gate night: open since ${opens}, until ${closes}`, "Normal", "default"],
    );
    const closed = await eventAbout(cp, ref, "WindowClosed");
    assert.equal(closed["note"], `Rule rule, gate night: closed since ${closes}, until ${reopens}`);
    for (const [event, edge] of [
      [opened, opens],
      [closed, closes],
    ] as const) {
      assert.ok(Date.parse(event["eventTime"]) >= Date.parse(edge), "not before the edge");
    }
    assert.equal(await lab.operator.metric("hookpolicy_hook_calls_total"), 0);
  });

  test("let rows go and bring them back, and every answer ends at the next edge", async () => {
    const ref = policyRef("rows", "p");
    await createCluster(cp, { namespace: "rows", name: "c1", version: NEXT_VERSION });
    const [opens, closes] = [inSeconds(15), inSeconds(30)];
    await windowed(ref, {
      allow: [
        { from: opens, to: closes },
        { from: inSeconds(900), to: inSeconds(901) },
      ],
    });
    const left = untilTime(opens) / 1000;
    const { retryAfterSeconds = 0, message = "" } = await lab.ask(HOOK, "rows", "c1");
    assert.ok(
      retryAfterSeconds >= 1 && retryAfterSeconds <= Math.ceil(left),
      `${retryAfterSeconds} of ${left} s`,
    );
    assert.match(message, new RegExp(`gate night waits for its window, which opens at ${opens}`));
    const row = await policyRow(cp, ref, "c1", HOOK);
    assert.equal(row.earliestRelease, opens);
    await noRow(cp, ref, "c1", HOOK);
    const again = await policyRow(cp, ref, "c1", HOOK);
    assert.deepEqual([again.firstAsked, again.since >= closes], [row.firstAsked, true]);
    assert.ok(again.earliestRelease !== undefined && again.earliestRelease > closes, "the next allow entry");
    assert.equal((await lab.ask(HOOK, "rows", "c1")).retryAfterSeconds, RETRY);
  });

  test("of a schedule open on the wall clock of their zone", async () => {
    const ref = policyRef("zoned", "p");
    // Every minute of every day: open at any time, whatever the clock says.
    await windowed(ref, { timeZone: "Pacific/Chatham", allow: [{ schedule: "* * * * *", duration: "2m" }] });
    await createCluster(cp, { namespace: "zoned", name: "c1", version: NEXT_VERSION });
    await lab.releases("the window that is open", HOOK, "zoned", "c1");
    const now = new Date();
    const month = ((now.getUTCMonth() + 6) % 12) + 1;
    await windowed(ref, {
      timeZone: "Pacific/Chatham",
      allow: [{ schedule: `15 2 10 ${month} *`, duration: "8h" }],
    });
    const { message = "" } = await lab.ask(HOOK, "zoned", "c1");
    const [, at = ""] = /which opens at (\S+Z)/.exec(message) ?? [];
    const wall = new Date(at).toLocaleString("sv-SE", { timeZone: "Pacific/Chatham" });
    assert.match(wall, new RegExp(`-${String(month).padStart(2, "0")}-10 02:15:00$`), message);
    await nextIs(ref, at);
    assert.equal((await conditionIs(cp, ref, "Restrictive", "OpensByTime")).status, "False");
  });

  test("go on while Clusters cannot be read yet", async () => {
    const ref = policyRef("early", "p");
    lab.proxy.failAll(403, / \/apis\/cluster\.x-k8s\.io\//);
    await lab.operator.daemon.stop();
    const [opens, closes] = [inSeconds(30), inSeconds(900)];
    await storePolicy(cp, ref, windowRule({ allow: [{ from: opens, to: closes }] }));
    const operator = await lab.start({ waitReady: false });
    await conditionIs(cp, ref, "Ready", "ClustersForbidden");
    await nextIs(ref, closes);
    await cp.waitFor("the metric to say so", async () => {
      return (await operator.metric("hookpolicy_window_open", 'namespace="early"')) === 1;
    });
    await eventAbout(cp, ref, "WindowOpened");
    lab.proxy.resume();
    await conditionIs(cp, ref, "Ready", "Loaded");
  });

  test("that opened while the operator was down are open, and it tells of no old edge", async () => {
    const ref = policyRef("down", "p");
    await createCluster(cp, { namespace: "down", name: "c1", version: NEXT_VERSION });
    const [opens, closes] = [inSeconds(20), inSeconds(900)];
    await windowed(ref, { allow: [{ from: opens, to: closes }] });
    await lab.ask(HOOK, "down", "c1");
    await policyRow(cp, ref, "c1", HOOK);
    await lab.operator.daemon.stop("SIGKILL");
    await cp.waitFor("the window to open", () => untilTime(opens) === 0);
    await lab.start();
    await noRow(cp, ref, "c1", HOOK);
    await nextIs(ref, closes);
    assert.equal(await lab.operator.metric("hookpolicy_window_open", 'namespace="down"'), 1);
    await lab.releases("the window that has opened", HOOK, "down", "c1");
    const events = { apiVersion: "events.k8s.io/v1", kind: "Event", namespace: "down" };
    await holdsFor(2000, async () => {
      const found: KubeObject[] = await cp.list(events);
      assert.deepEqual(
        found.map((event): string => event["reason"]).filter((reason) => reason.startsWith("Window")),
        [],
      );
    });
  });
});
