import { NOW } from "../rollouts/fixtures.ts";
import { ROLLOUT } from "./rollout-clusters.ts";
import { RolloutFleet, type RolloutScenario } from "./rollout-fleet.ts";

/** The story begins at rest: with the rollout as the operator has left it. */
export async function restedRollout(scenario: RolloutScenario): Promise<RolloutScenario> {
  const fleet = new RolloutFleet(scenario);
  await fleet.prepare();
  const creationTimestamp = new Date(NOW.getTime() - (scenario.createdAgo ?? 0)).toISOString();
  fleet.api.edit("hookrollouts", ROLLOUT, (object) => ({
    ...object,
    metadata: { ...object.metadata, creationTimestamp },
  }));
  const lists = ["hookrollouts", "clusters"].map((plural) => [plural, fleet.api.list(plural)]);
  return { ...scenario, objects: Object.fromEntries(lists) };
}
