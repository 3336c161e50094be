import assert from "node:assert/strict";
import test from "node:test";
import type { ApprovalPlan, ApprovedMark } from "../../../../src/cli/approve/approval.ts";
import { writeMarks, type MarkWriter } from "../../../../src/cli/approve/write-marks.ts";
import { ALL_HOOKS } from "../../builders.ts";

const onCluster: ApprovedMark = { on: "Cluster", field: "annotation", key: "a", value: "1" };
const onNamespace: ApprovedMark = { on: "Namespace", field: "label", key: "b", value: "2" };
const metadata = { namespace: "team-a", name: "prod-1", uid: "u1", resourceVersion: "1" };

function plan(marks: readonly ApprovedMark[], over: Partial<ApprovalPlan> = {}): ApprovalPlan {
  return {
    cluster: { metadata, paused: false, created: false },
    namespace: { metadata: { name: "team-a", uid: "n", resourceVersion: "1" } },
    served: ALL_HOOKS,
    operations: [],
    marks,
    alsoReleases: [],
    ...over,
  };
}

interface Case {
  /** One after the other; the last one again and again. */
  readonly looks: readonly ApprovalPlan[];
  readonly conflicts?: number;
}

async function write(shown: ApprovalPlan, { looks, conflicts = 0 }: Case): Promise<string[]> {
  const said: string[] = [];
  let [looked, written] = [0, 0];
  const writing: MarkWriter = {
    look: async () => looks[Math.min(looked++, looks.length - 1)] ?? shown,
    set: async (on, { name }, marks) => {
      said.push(`${on} ${name} ${marks.map(({ key }) => key).join()}`);
      return ++written > conflicts;
    },
    say: (text) => void said.push(text),
  };
  await writeMarks(shown, writing).catch((error: Error) => said.push(error.message));
  return said;
}

test("each object is written once, as it is when its turn comes", async () => {
  const both = plan([onCluster, onNamespace]);
  assert.deepEqual(await write(both, { looks: [both] }), [
    "Cluster prod-1 a",
    "set annotation a=1 on Cluster team-a/prod-1",
    "Namespace team-a b",
    "set label b=2 on Namespace team-a; this reaches every Cluster there",
  ]);
  assert.deepEqual(await write(both, { looks: [plan([])] }), [], "another client was faster");
});

test("a conflict is looked at again, and written again if it is still the same", async () => {
  const shown = plan([onCluster]);
  assert.deepEqual(await write(shown, { looks: [shown], conflicts: 2 }), [
    ...Array<string>(3).fill("Cluster prod-1 a"),
    "set annotation a=1 on Cluster team-a/prod-1",
  ]);
  const never = await write(shown, { looks: [shown], conflicts: Infinity });
  assert.deepEqual([never.length, never.at(-1)], [11, "the Cluster changes all the time: try again"]);
});

test("what was not shown is not written: another value, Cluster, or operation that proceeds", async () => {
  const shown = plan([onCluster]);
  const others = {
    value: plan([{ ...onCluster, value: "2" }]),
    cluster: plan([onCluster], { cluster: { ...shown.cluster, metadata: { ...metadata, uid: "u2" } } }),
    operation: plan([onCluster], { alsoReleases: [{ call: { hook: "BeforeClusterDelete" } }] }),
  };
  for (const [name, other] of Object.entries(others)) {
    const said = "what holds the Cluster has changed meanwhile: look at it again";
    assert.deepEqual(await write(shown, { looks: [other] }), [said], name);
    const late = await write(shown, { looks: [shown, other], conflicts: 1 });
    assert.deepEqual(late, ["Cluster prod-1 a", said], `${name}, after a conflict`);
  }
});
