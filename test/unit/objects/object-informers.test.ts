import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { ObjectDemand } from "../../../src/policy/policy.ts";
import { dropConnection, json, status } from "../kube/fake-api-server.ts";
import type { FakeApiServer } from "../kube/fake-api-server.ts";
import { until } from "../kube/fixtures.ts";
import { brief, objectLab, serving, WIDGET } from "./object-lab.ts";

const METADATA: ObjectDemand = { kind: WIDGET, whole: false };
const WHOLE: ObjectDemand = { kind: WIDGET, whole: true };
const FORBIDDEN = status(403, "Forbidden");

const others = (count: number): ObjectDemand[] =>
  Array.from({ length: count }, (_, i) => ({
    kind: { apiVersion: "none.example.com/v1", kind: `K${i}` },
    whole: false,
  }));

test("a refusal lasts while contact is lost, and ends with the next watch", async (t) => {
  const { server, objects, run, untilFound, found, available } = await objectLab(t);
  server.put("team-a/w1", 1);
  void run();
  objects.want([METADATA]);
  await untilFound("w1");
  server.always("list", FORBIDDEN);
  server.always("watch", FORBIDDEN);
  server.dropWatches();
  await untilFound("ObjectsForbidden");
  server.always("list", dropConnection);
  const asked = server.count("list");
  await until("lists that fail otherwise", () => server.count("list") > asked + 2);
  assert.equal(found(), "ObjectsForbidden");
  assert.equal(available.length, 2);
  server.always("list", undefined);
  server.always("watch", undefined);
  await untilFound("w1");
});

test("being out of contact leaves memory as it is", async (t) => {
  const { server, objects, run, untilFound, found, available } = await objectLab(t);
  server.put("team-a/w1", 1);
  void run();
  objects.want([METADATA]);
  await untilFound("w1");
  const [first] = objects.informers();
  for (const verb of ["other", "list", "watch"] as const)
    server.always(verb, status(503, "ServiceUnavailable"));
  server.dropWatches();
  await until("contact is lost", () => (first?.[1].restarts ?? 0) > 3);
  assert.equal(found(), "w1");
  assert.equal(available.length, 1);
});

test("where only the list is allowed nothing is found, not even for a moment", async (t) => {
  const { server, objects, run, found, available } = await objectLab(t);
  server.put("team-a/w1", 1);
  server.always("watch", (request, response) => {
    assert.notEqual(found(), "w1");
    FORBIDDEN(request, response);
  });
  void run();
  objects.want([METADATA]);
  await until("watches that are refused", () => server.count("watch") > 3);
  const refusal = objects.find(WIDGET, "team-a");
  assert.match(refusal.ok ? "" : refusal.message, /^the operator may not read widgets\.example\.com: /);
  assert.equal(available.length, 1);
});

test("a 404 of a kind that was served is not an empty list", async (t) => {
  const { server, objects, run, untilFound } = await objectLab(t);
  void run();
  objects.want([METADATA]);
  await untilFound("");
  server.always("list", status(404, "NotFound"));
  server.always("watch", status(404, "NotFound"));
  server.dropWatches();
  await untilFound("ObjectKindUnknown");
});

test("an operator that may not discover says so", async (t) => {
  const { server, objects, run, untilFound } = await objectLab(t);
  server.always("other", FORBIDDEN);
  void run();
  objects.want([METADATA]);
  await untilFound("ObjectsForbidden");
  const refusal = objects.find(WIDGET, "team-a");
  assert.match(refusal.ok ? "" : refusal.message, /bind it to the ClusterRole system:discovery$/);
});

test("finds objects in their namespace, and reports changes by it", async (t) => {
  const { server, objects, run, untilFound, changes } = await objectLab(t);
  server.put("team-a/w1", 1);
  server.put("team-b/w2", 1);
  void run();
  objects.want([METADATA]);
  await untilFound("w1");
  assert.equal(brief(objects.find(WIDGET, "team-b")), "w2");
  assert.deepEqual(changes, []);
  server.put("team-b/w3", 1);
  server.remove("team-a/w1");
  await untilFound("");
  assert.deepEqual(changes, ["team-b", "team-a"]);
});

test("one demand for whole objects is enough, in any order, and metadata alone asks for no more", async (t) => {
  const { server, objects, run, untilFound } = await objectLab(t);
  server.put("team-a/w1", 7);
  void run();
  objects.want([WHOLE, METADATA]);
  await untilFound("w1");
  assert.doesNotMatch(String(server.last("list").headers.accept), /PartialObjectMetadata/);
  const found = objects.find(WIDGET, "team-a");
  assert.deepEqual(found.ok && found.objects[0]?.raw?.["spec"], { size: 7 });
  assert.equal(server.count("list"), 1);
  objects.want([METADATA]);
  await until("the lean watch", () => {
    const now = objects.find(WIDGET, "team-a");
    return now.ok && now.objects[0]?.raw === undefined && server.watchCount === 1;
  });
  assert.match(String(server.last("list").headers.accept), /as=PartialObjectMetadataList/);
  assert.match(String(server.last("watch").headers.accept), /as=PartialObjectMetadata;/);
});

test("what needs no other watch keeps the one that it has", async (t) => {
  const { server, objects, run, untilFound } = await objectLab(t);
  void run();
  objects.want([METADATA]);
  await untilFound("");
  objects.want([METADATA, ...others(1)]);
  objects.want([METADATA]);
  assert.equal(server.count("watch"), 1);
  assert.deepEqual(
    [...objects.informers()].map(([name]) => name),
    ["Widget.v1.example.com"],
  );
});

/** The next watch gets no answer; tells whether its client has given it up. */
function hangingWatch(server: FakeApiServer): () => boolean {
  let abandoned = false;
  server.next("watch", (_, response) => void response.once("close", () => (abandoned = true)));
  return () => abandoned;
}

test("a change of mind on the way to whole objects keeps the watch that serves", async (t) => {
  const { server, objects, run, untilFound, available, changes } = await objectLab(t);
  server.put("team-a/w1", 1);
  void run();
  objects.want([METADATA]);
  await untilFound("w1");
  const abandoned = hangingWatch(server);
  objects.want([WHOLE]);
  await until("the second watch is asked for", () => server.count("watch") === 2);
  objects.want([WHOLE, METADATA]);
  server.put("team-a/w2", 1);
  await untilFound("w1 w2");
  assert.equal(abandoned(), false, "what is on its way already is not started again");
  objects.want([METADATA]);
  await until("the second watch is given up", abandoned);
  for (let i = 0; i < 3; i++) await objects.read(WIDGET, "team-a", { whole: false });
  assert.equal(server.count("watch"), 2, "nothing was started again");
  assert.deepEqual(changes, ["team-a"], "told once");
  assert.equal(available.length, 1);
  objects.want([WHOLE]);
  await until("whole objects", () => {
    const found = objects.find(WIDGET, "team-a");
    return found.ok && found.objects.every(({ raw }) => raw !== undefined) && server.watchCount === 1;
  });
  assert.equal(available.length, 2);
});

test("every watch of a kind that is no longer wanted is closed", async (t) => {
  const { server, objects, run, untilFound, found } = await objectLab(t);
  void run();
  objects.want([METADATA]);
  await untilFound("");
  const abandoned = hangingWatch(server);
  objects.want([WHOLE]);
  await until("the second watch is asked for", () => server.count("watch") === 2);
  objects.want([]);
  assert.equal(found(), "ObjectsNotLoaded");
  await until("the second watch is given up", abandoned);
  await until("the first watch is closed", () => server.watchCount === 0);
});

test("does not report a watch that is made again", async (t) => {
  const { server, objects, run, untilFound, available } = await objectLab(t);
  void run();
  objects.want([METADATA]);
  await untilFound("");
  server.dropWatches();
  server.put("team-a/w1", 1);
  await untilFound("w1");
  assert.equal(available.length, 1);
});

test("a kind that is refused once it is wanted whole no longer answers from the old watch", async (t) => {
  const { server, objects, run, untilFound } = await objectLab(t);
  server.put("team-a/w1", 1);
  void run();
  objects.want([METADATA]);
  await untilFound("w1");
  server.always("list", FORBIDDEN);
  objects.want([WHOLE]);
  await untilFound("ObjectsForbidden");
  await until("the old watch is closed", () => server.watchCount === 0);
});

test("the first 50 kinds are watched, in the order in which they are named", async (t) => {
  const { objects, run, untilFound, found, available } = await objectLab(t);
  void run();
  objects.want([...others(49), METADATA]);
  await untilFound("");
  await until("each kind is told", () => available.length === 50);
  available.length = 0;
  objects.want([...others(50), METADATA]);
  const refusal = objects.find(WIDGET, "team-a");
  assert.deepEqual(refusal, {
    ok: false,
    reason: "TooManyKinds",
    message: "kind Widget in example.com/v1 is not watched: policies name more than 50 kinds of objects",
  });
  assert.deepEqual(available, ["example.com/v1 Widget"]);
  assert.equal([...objects.informers()].length, 50);
  objects.want([METADATA, ...others(50)]);
  assert.equal(found(), "ObjectsNotLoaded");
  await untilFound("");
});

test("kinds that are named twice, and Secrets, take no place of the 50", async (t) => {
  const { server, objects, run, untilFound } = await objectLab(t);
  const secret = { apiVersion: "v1", kind: "Secret" };
  void run();
  objects.want([{ kind: secret, whole: true }, ...others(49), ...others(49), METADATA]);
  await untilFound("");
  assert.equal(brief(objects.find(secret, "team-a")), "SecretsRefused");
  assert.equal(brief(await objects.read(secret, "team-a", { whole: false, name: "s" })), "SecretsRefused");
  assert.ok(server.requests.every(({ path }) => !/secrets|\/api\/v1/.test(path)));
});

test("a kind of another group may be called Secret", async (t) => {
  const { objects } = await objectLab(t);
  const sealed = { apiVersion: "vault.example.com/v1", kind: "Secret" };
  assert.equal(brief(objects.find(sealed, "team-a")), "ObjectsNotLoaded");
});

test("what is wanted before the start begins with it, and what is wanted after the end does not", async (t) => {
  const { server, objects, run, untilFound, found, stop } = await objectLab(t);
  objects.want([METADATA]);
  assert.equal(found(), "ObjectsNotLoaded");
  const done = run();
  await untilFound("");
  stop.abort();
  await done;
  await until("the watch is closed", () => server.watchCount === 0);
  const asked = server.requests.length;
  objects.want([WHOLE, ...others(1)]);
  await objects.run(stop.signal);
  assert.equal(server.requests.length, asked);
});

test("a handler that throws is logged, and the watch continues", async (t) => {
  const { objects, run, untilFound, log } = await objectLab(t, {
    onAvailability: () => {
      throw new Error("broken");
    },
  });
  void run();
  objects.want([METADATA]);
  await untilFound("");
  assert.deepEqual(log.messages("error"), ["Availability handler failed"]);
  assert.deepEqual(log.messages("warn"), []);
});

test("a read asks for the present, as a whole or not, and for one object where it is named", async (t) => {
  const { server, objects } = await objectLab(t);
  server.put("team-a/w1", 7);
  const all = await objects.read(WIDGET, "team-a", { whole: false });
  assert.ok(all.ok);
  assert.deepEqual(Object.keys(all.objects[0] ?? {}), ["metadata"]);
  assert.equal(server.last("list").path, "/apis/example.com/v1/namespaces/team-a/widgets");
  assert.equal(server.last("list").query.get("resourceVersion"), null);
  assert.match(String(server.last("list").headers.accept), /as=PartialObjectMetadataList/);
  const one = await objects.read(WIDGET, "team-a", { whole: true, name: "w1" });
  assert.deepEqual(one.ok && one.objects[0]?.raw?.["spec"], { size: 7 });
  assert.equal(brief(await objects.read(WIDGET, "team-a", { whole: true, name: "w2" })), "");
});

test("fields without use are left out of an object, and its kind is always present", async (t) => {
  const { server, objects } = await objectLab(t);
  const annotations = {
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "example.com/note": "kept",
  };
  const widget = server.put("team-a/w1", 1, { annotations, managedFields: [{ manager: "kubectl" }] });
  const items = [{ ...widget, apiVersion: undefined, kind: undefined }];
  server.next("list", (_, response) => json(response, 200, { metadata: { resourceVersion: "1" }, items }));
  const found = await objects.read(WIDGET, "team-a", { whole: true });
  const { name, namespace, uid, resourceVersion } = widget.metadata;
  assert.deepEqual(found.ok && found.objects[0]?.raw, {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name, namespace, uid, resourceVersion, annotations: { "example.com/note": "kept" } },
    spec: { size: 1 },
  });
});

test("a kind that goes while it is read was not empty", async (t) => {
  const { server, objects } = await objectLab(t);
  const gone = status(404, "NotFound");
  const removed = serving({ verbs: ["delete", "get", "list", "watch"] });
  for (const [after, reason] of [
    [gone, "ObjectKindUnknown"],
    [removed, "ObjectKindTerminating"],
    [serving({ namespaced: false }), "ObjectsNotLoaded"],
  ] as const) {
    for (const options of [{ whole: false }, { whole: false, name: "w1" }]) {
      server.next("other", serving());
      server.next("other", after);
      assert.equal(brief(await objects.read(WIDGET, "team-a", options)), reason);
    }
  }
});

test("a read that may not be made names what may not be read, and one that fails otherwise rejects", async (t) => {
  const { server, objects } = await objectLab(t);
  for (const [verb, options] of [
    ["list", { whole: false }],
    ["get", { whole: false, name: "w1" }],
  ] as const) {
    server.next(verb, FORBIDDEN);
    const found = await objects.read(WIDGET, "team-a", options);
    assert.match(found.ok ? "" : found.message, /^the operator may not read widgets\.example\.com: /);
    server.next(verb, status(503, "ServiceUnavailable"));
    await assert.rejects(
      objects.read(WIDGET, "team-a", options),
      (error) => error instanceof KubeError && error.code === 503,
    );
  }
  await assert.rejects(objects.read(WIDGET, "", { whole: false }), /not a valid name/);
});

test("a kind becomes cluster-scoped by the next list", async (t) => {
  const { server, objects, run, untilFound, available } = await objectLab(t);
  server.put("team-a/w1", 1);
  void run();
  objects.want([METADATA]);
  await untilFound("w1");
  server.always("other", serving({ namespaced: false }));
  server.remove("team-a/w1");
  server.always("list", (_, response) => {
    const metadata = { name: "everywhere", uid: "u", resourceVersion: server.version };
    json(response, 200, { metadata: { resourceVersion: server.version }, items: [{ metadata }] });
  });
  server.compact();
  server.advance();
  server.next("watch", status(410, "Expired"));
  server.dropWatches();
  await untilFound("everywhere");
  const found = objects.find(WIDGET, "team-b");
  assert.deepEqual([found.ok && found.namespaced, brief(found)], [false, "everywhere"]);
  assert.equal(available.length, 2);
});
