/** The pages of docs/recipes/ with a HookRollout, done for real: whole fleets go through them, and keep to the plan. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import { type KubeObject, objectsOf } from "../controlplane/client.ts";
import { createCluster, NEXT_VERSION, provision, topologyMessage, upgrade } from "../controlplane/lab.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import { Recipe, startRecipeFleet, untyped } from "./recipe-fleet.ts";
import { createFleet, FleetObserver, REGION, rolloutStatus, runningCreations } from "./rollout-fleet.ts";
import { ROLLOUT_PAGES } from "./recipe-pages.ts";

const fleet = await startRecipeFleet();
after(async () => await fleet.stop());

async function isReady(name: string): Promise<void> {
  await fleet.cp.waitFor(`HookRollout ${name} to be Ready`, async () =>
    (await rolloutStatus(fleet.cp, name)).conditions?.some(
      ({ type, status }) => type === "Ready" && status === "True",
    ),
  );
}

interface PlannedCluster {
  readonly name: string;
  readonly stage: string;
  readonly begins: string;
  readonly ends: string;
}

/** As `rollout plan -o json` prints it. */
interface PlanJson {
  readonly stages: readonly { readonly name: string; readonly clusters: number }[];
  readonly clusters: readonly PlannedCluster[];
  readonly never: readonly string[];
}

/** One after the other: each fleet keeps Cluster API busy. */
describe("the recipe", () => {
  test("canary, staging, production", async () => {
    const { cp } = fleet;
    const name = "canary-staging-production";
    const page = new Recipe(cp, name);
    const stages = ["canary", "staging", "production"];
    const names = await createFleet(
      cp,
      name,
      stages.map((wave) => ({ wave, namespace: wave, count: 4 })),
    );
    for (const stage of stages) await page.type(`kubectl label namespace ${stage}`);

    // With nothing changed but the soak times, in the page's own way.
    await page.write("rollout.yaml", page.yaml("kind: HookRollout\nmetadata"));
    await page.write("kustomization.yaml", page.yaml("kind: Kustomization"));
    const [rollout = assert.fail("no rollout")] = objectsOf(
      await cp.kubectl("kustomize", await page.folder()),
    );
    await cp.kubectl("apply", "--validate=strict", "-k", await page.folder());
    await isReady(name);
    await page.shows("hookpolicy rollout plan");
    const plan = await planOf(name);
    const status = await page.follow("hookpolicy rollout status");

    const seen = Promise.withResolvers<void>();
    const observer = new FleetObserver(cp, ...stages);
    observer.run({ upgradeMs: 1000, from: seen.promise });
    try {
      for (const each of plan.clusters) await upgrade(cp, each.stage, each.name);
      await page.shows("kubectl get hookrollout");
      seen.resolve();
      await cp.waitFor("the whole fleet to be upgraded", () => observer.ends.size === names.length, 900_000);
      await cp.waitFor("the last stage to pass", () => /production .* passed/.test(status.output()));
    } catch (error) {
      throw new Error(`The status is ${JSON.stringify(await rolloutStatus(cp, name))}`, { cause: error });
    } finally {
      seen.resolve();
      await observer.stop();
      status.stop();
    }
    keptTo(plan, observer, rollout);
    tells(status.output());
  });

  test("one upgrade per region", async () => {
    const { cp } = fleet;
    const page = new Recipe(cp, "one-per-region");
    const { namespace } = page;
    const names = await createFleet(cp, namespace, [{ wave: "prod", count: 4 }]);
    await page.type("kubectl label namespace");
    await page.apply("kind: HookRollout");
    await isReady("one-per-region");
    const seen = Promise.withResolvers<void>();
    const observer = new FleetObserver(cp, namespace);
    observer.run({ upgradeMs: 1000, from: seen.promise });
    try {
      await Promise.all(names.map((each) => upgrade(cp, namespace, each)));
      await page.shows("kubectl get hookrollout");
      seen.resolve();
      await cp.waitFor("all to be upgraded", () => observer.ends.size === names.length, 600_000);
    } finally {
      seen.resolve();
      await observer.stop();
    }
    for (const { running } of observer.sights) {
      const regions = running.map(({ region }) => region);
      assert.equal(new Set(regions).size, regions.length, `${REGION}: ${regions.join()}`);
    }
    assert.ok(observer.sights.some(({ running }) => running.length === 2));
  });

  test("few creations at a time", async () => {
    const { cp } = fleet;
    const page = new Recipe(cp, "few-creations-at-a-time");
    const { namespace } = page;
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await page.type("kubectl label namespace");
    // Twenty Clusters would take minutes.
    await page.apply("kind: HookRollout", (yaml) => yaml.replace("maxConcurrency: 20", "maxConcurrency: 2"));
    await isReady("creations");
    const names = ["prod-1", "prod-2", "prod-3"];
    for (const name of names) await createCluster(cp, { namespace, name });
    await page.shows("kubectl get hookrollout", { page: " 20 ", here: async () => " 2 " });
    // The slot is there before Cluster API has had its answer.
    const begun = await cp.waitFor("two creations to begin", async () => {
      const running = await runningCreations(cp, namespace);
      return running.length > 1 && new Set(running);
    });
    assert.equal(begun.size, 2);
    for (const name of names.filter((each) => !begun.has(each)))
      await cp.waitFor(`${name} to say what it waits for`, async () =>
        /HookRollout creations: waits for a free slot/.test(await topologyMessage(cp, namespace, name)),
      );
    const [first = ""] = begun;
    await provision(cp, namespace, first);
    const next = await cp.waitFor("the next to begin", async () =>
      (await runningCreations(cp, namespace)).find((each) => !begun.has(each)),
    );
    assert.ok(names.includes(next));
    assert.ok((await runningCreations(cp, namespace)).length <= 2);
  });
});

async function planOf(name: string): Promise<PlanJson> {
  const words = ["rollout", "plan", name, "--duration", "40m", "--to-version", NEXT_VERSION, "-o", "json"];
  const { stdout, stderr } = await hookpolicy([...words, "--kubeconfig", fleet.cp.adminKubeconfig]);
  assert.equal(stderr, "");
  return JSON.parse(stdout) as PlanJson;
}

/** What was planned for these Clusters has happened, in that order. */
function keptTo(plan: PlanJson, { begins, ends, begun, sights }: FleetObserver, rollout: KubeObject): void {
  const stageOf = new Map(plan.clusters.map(({ name, stage }) => [name, stage]));
  assert.deepEqual(plan.never, []);
  assert.deepEqual(
    plan.stages.map(({ name, clusters }) => [name, clusters]),
    [
      ["canary", 4],
      ["staging", 4],
      ["production", 4],
    ],
  );
  const limits = atOnce(plan);
  assert.deepEqual(Object.fromEntries(limits), { canary: 4, staging: 2, production: 1 });
  for (const { running } of sights)
    for (const [stage, limit] of limits)
      assert.ok(running.filter(({ wave }) => wave === stage).length <= limit, stage);
  // A Cluster that asks a moment later may be overtaken by as many as have a slot beside it.
  const planned = plan.clusters.map(({ name }) => name);
  assert.deepEqual(begun.toSorted(), planned.toSorted());
  begun.forEach((name, place) => {
    const stage = stageOf.get(name) ?? "";
    const waiting = planned
      .slice(0, planned.indexOf(name))
      .filter((each) => !begun.slice(0, place).includes(each));
    assert.ok(waiting.length < (limits.get(stage) ?? 0), `${name} began before ${waiting.join()}`);
  });
  const soaks: { name: string; minSuccessTime?: string }[] = rollout["spec"].stages;
  soaks.slice(1).forEach(({ name }, index) => {
    const previous = soaks[index];
    const own = planned.filter((each) => stageOf.get(each) === name).map((each) => begins.get(each));
    const earlier = planned
      .filter((each) => stageOf.get(each) === previous?.name)
      .map((each) => ends.get(each));
    const first = Math.min(...own.map((at) => at?.getTime() ?? Number.NaN));
    const last = Math.max(...earlier.map((at) => at?.getTime() ?? Number.NaN));
    assert.equal(previous?.minSuccessTime, "5s");
    // The status counts in whole seconds, and a busy observer sees the last success late.
    assert.ok(first - last > 2500, `${name} began ${first - last} ms after ${previous?.name}`);
  });
}

/** By stage: how many Clusters the plan upgrades at the same time. */
function atOnce({ stages, clusters }: PlanJson): ReadonlyMap<string, number> {
  const runs = ({ begins, ends }: PlannedCluster, at: string): boolean => begins <= at && at < ends;
  const most = (own: readonly PlannedCluster[]): number =>
    Math.max(...own.map(({ begins }) => own.filter((each) => runs(each, begins)).length));
  return new Map(stages.map(({ name }) => [name, most(clusters.filter(({ stage }) => stage === name))]));
}

/** Each stage is open, soaks and passes, one after the other. */
function tells(output: string): void {
  const story = [
    /canary +\d\/4 .* open/,
    /staging +0\/4 .* waits for canary/,
    /canary +4\/4 .* soaks for 5s/,
    /canary +4\/4 .* passed/,
    /staging +\d\/4 .* open/,
    /staging +4\/4 .* soaks for 5s/,
    /production +\d\/4 .* open/,
    /production +4\/4 .* passed/,
  ];
  // Colours of a terminal are left out.
  let rest = output.replaceAll(new RegExp(String.raw`${"\u001B"}\[[\d;]*[A-Za-z]`, "g"), "");
  for (const chapter of story) {
    const found = chapter.exec(rest);
    assert.ok(found, `${String(chapter)} in ${rest.slice(0, 4000)}`);
    rest = rest.slice(found.index);
  }
}

test("every command of the recipes with a HookRollout was typed", () => {
  for (const page of ROLLOUT_PAGES) assert.deepEqual(untyped(page), [], page);
});
