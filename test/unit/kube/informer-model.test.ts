/** Whatever the server does, the informer ends with the server's objects, and its changes replay to them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { runs } from "../../generated.ts";
import { dropConnection, status } from "./fake-api-server.ts";
import type { FakeApiServer } from "./fake-api-server.ts";
import { startInformer } from "./informer-lab.ts";
import type { InformerLab } from "./informer-lab.ts";

type Step = (lab: InformerLab) => void;
const onServer =
  (act: (server: FakeApiServer) => void): Step =>
  ({ server }) =>
    act(server);

const key = fc.constantFrom("team-a/w1", "team-a/w2", "team-b/w1", "team-b/w3");
const gone = fc.constantFrom("status" as const, "event" as const);
const steps: fc.Arbitrary<readonly [string, Step | "breathe"]> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(key, fc.nat(9))
      .map(([k, n]) => [`put ${k} ${n}`, onServer((s) => void s.put(k, n))] as const),
  },
  { weight: 3, arbitrary: key.map((k) => [`remove ${k}`, onServer((s) => s.remove(k))] as const) },
  {
    weight: 2,
    arbitrary: key.map((k) => [`recreate ${k}`, onServer((s) => (s.remove(k), s.put(k, 0)))] as const),
  },
  { weight: 4, arbitrary: fc.constant(["breathe", "breathe"] as const) },
  fc.constant(["drop the watch", onServer((s) => s.dropWatches())] as const),
  fc.constant(["end the watch", onServer((s) => s.endWatches())] as const),
  fc.constant(["bookmark", onServer((s) => s.bookmark())] as const),
  gone.map((how) => [`compact, told as ${how}`, onServer((s) => (s.compact(), (s.goneAs = how)))] as const),
  fc.constant(["fail a list", onServer((s) => s.next("list", status(500, "InternalError")))] as const),
  fc.constant(["fail a watch", onServer((s) => s.next("watch", status(503, "ServiceUnavailable")))] as const),
  fc.constant(["drop a request", onServer((s) => s.next("watch", dropConnection))] as const),
  fc.constant(["an unreadable line", onServer((s) => s.sendLine("{oops"))] as const),
  fc.constant(["refresh", ({ informer }: InformerLab) => informer.refresh()] as const),
);

test("the store ends equal to the server, and the changes replay to it", async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 25 }), async (sequence) => {
      const lab = await startInformer(t);
      for (const [, step] of sequence) {
        if (step === "breathe") await new Promise((resolve) => setTimeout(resolve, 2));
        else step(lab);
      }
      await lab.caughtUp();
      const onTheServer = [...lab.server.objects].map(([name, { spec }]) => [name, spec.size] as const);
      assert.deepEqual(lab.replayed(), new Map(onTheServer));
      lab.stop.abort();
      await lab.done;
      await lab.close();
    }),
    { ...runs(100), examples: [[[["put", onServer((s) => void s.put("team-a/w1", 1))]]]] },
  );
});
