/** The protocol's fixed parts: names, paths, what is advertised, bodies in and out. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { HOOK_NAMES } from "../../../src/api/runtime-hooks.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { handlerName, hookPath, servedHooks } from "../../../src/api/hook-catalog.ts";
import { discoveryResponse, encodeResponse, failureResponse } from "../../../src/extension/codec.ts";
import { decodeRequest, type Subject } from "../../../src/hooks/hook-request.ts";

test("a path is the hook in lower case and the handler in kebab-case", () => {
  assert.equal(
    hookPath("BeforeClusterDelete"),
    "/hooks.runtime.cluster.x-k8s.io/v1alpha1/beforeclusterdelete/before-cluster-delete",
  );
  assert.equal(handlerName("AfterControlPlaneInitialized"), "after-control-plane-initialized");
});

test("every handler name is a DNS-1123 label without a dot, and unique", () => {
  const names = HOOK_NAMES.map(handlerName);
  assert.equal(new Set(names).size, 9);
  for (const name of names) assert.match(name, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
});

describe("what is advertised", () => {
  const cases = {
    "all nine hooks at 1.14": { minor: 14, hooks: 9, blocking: 8 },
    "all nine hooks at 1.12": { minor: 12, hooks: 9, blocking: 8 },
    "six hooks at 1.11, of which AfterClusterUpgrade does not wait": { minor: 11, hooks: 6, blocking: 4 },
    "all nine hooks at a minor of the future": { minor: 99, hooks: 9, blocking: 8 },
  };
  for (const [name, { minor, hooks, blocking }] of Object.entries(cases)) {
    test(name, () => {
      const served = servedHooks(minor);
      assert.deepEqual([served.advertised.size, served.blocking.size], [hooks, blocking]);
      const { handlers } = JSON.parse(discoveryResponse(served)) as { handlers: { name: string }[] };
      assert.equal(handlers.length, hooks);
      assert.deepEqual(
        handlers.map((handler) => handler.name),
        handlers.map((handler) => handler.name).toSorted(),
      );
    });
  }

  test("every handler is failurePolicy Fail with a time-out that Cluster API accepts", () => {
    const { handlers } = JSON.parse(discoveryResponse(servedHooks(14))) as {
      handlers: { failurePolicy: string; timeoutSeconds: number; requestHook: object }[];
    };
    for (const { failurePolicy, timeoutSeconds } of handlers) {
      assert.equal(failurePolicy, "Fail");
      assert.ok(timeoutSeconds >= 1 && timeoutSeconds <= 30);
    }
  });
});

describe("a request", () => {
  const metadata = { name: "c", namespace: "n", uid: "u" };
  const body = (over: object): string => JSON.stringify({ cluster: { metadata }, ...over });

  test("needs no more than the Cluster's name, namespace and uid", () => {
    const request = decodeRequest("BeforeClusterDelete", body({}))?.request;
    assert.deepEqual(request?.call, { hook: "BeforeClusterDelete", settings: {} });
    assert.equal(request?.cluster.metadata.uid, "u");
  });

  const fromTo = { fromKubernetesVersion: "v1.31.0", toKubernetesVersion: "v1.32.0" };
  const upgrade = (over: object): Subject | undefined =>
    decodeRequest("BeforeClusterUpgrade", body({ ...fromTo, ...over }))?.subject;

  const others = {
    "to another version": { toKubernetesVersion: "v1.33.0" },
    "from another version": { fromKubernetesVersion: "v1.30.0" },
    "of another Cluster of the name": { cluster: { metadata: { ...metadata, uid: "u2" } } },
    "of a Cluster of another name": { cluster: { metadata: { ...metadata, name: "c2" } } },
    "of a Cluster of another namespace": { cluster: { metadata: { ...metadata, namespace: "n2" } } },
  };
  for (const [which, over] of Object.entries(others)) {
    test(`${which} is about another operation`, () => {
      assert.notEqual(upgrade(over)?.operation, upgrade({})?.operation);
    });
  }

  test("about a later version of the Cluster is about the same", () => {
    assert.deepEqual(upgrade({ cluster: { metadata: { ...metadata, resourceVersion: "2" } } }), upgrade({}));
  });

  test("with other settings, however long, differs by them alone", () => {
    const [one, other] = ["1", "2"].map((end) => upgrade({ settings: { a: "x".repeat(1000) + end } }));
    assert.notEqual(one?.settings, other?.settings);
    assert.equal(one?.operation, other?.operation);
  });

  test("has the topology of the Cluster where it has one", () => {
    const read = (spec: object): Cluster | undefined =>
      decodeRequest("BeforeClusterDelete", body({ cluster: { metadata, spec } }))?.request.cluster;
    const variables = [{ name: "a", value: 1 }];
    const cluster = read({ topology: { class: "small", version: "v1.32.0", variables }, paused: true });
    assert.deepEqual(cluster?.topology, { className: "small", version: "v1.32.0", variables: '{"a":1}' });
    assert.equal(cluster.paused, true);
    assert.deepEqual({ ...cluster }.topology, cluster.topology);
    assert.equal("topology" in (read({ paused: true }) ?? {}), false);
  });

  test("of an upgrade carries its versions and settings", () => {
    const request = decodeRequest(
      "BeforeClusterUpgrade",
      body({
        fromKubernetesVersion: "v1.31.0",
        toKubernetesVersion: "v1.32.0",
        settings: { a: "b" },
        extra: 1,
      }),
    )?.request;
    assert.deepEqual(request?.call, {
      hook: "BeforeClusterUpgrade",
      fromKubernetesVersion: "v1.31.0",
      toKubernetesVersion: "v1.32.0",
      settings: { a: "b" },
    });
  });

  test("of workers that are gone has no version that they come from, but one that they go to", () => {
    const decode = (to: string): unknown =>
      decodeRequest("BeforeWorkersUpgrade", body({ fromKubernetesVersion: "", toKubernetesVersion: to }))
        ?.request.call;
    const call = { hook: "BeforeWorkersUpgrade", toKubernetesVersion: "v1.32.0", settings: {} };
    assert.deepEqual(decode("v1.32.0"), call);
    assert.equal(decode(""), undefined);
  });

  const broken: Record<string, string> = {
    "an empty body": "",
    "no JSON": "{",
    null: "null",
    "a list": "[]",
    "no cluster": "{}",
    "a cluster without metadata": body({ cluster: {} }),
    "a cluster without uid": body({ cluster: { metadata: { name: "c", namespace: "n" } } }),
    "an empty name": body({ cluster: { metadata: { ...metadata, name: "" } } }),
    "labels that are not strings": body({ cluster: { metadata: { ...metadata, labels: { a: 1 } } } }),
    "annotations that are a list": body({ cluster: { metadata: { ...metadata, annotations: [] } } }),
    "invalid UTF-8 instead of JSON": Buffer.from([0xff, 0xfe, 0x00]).toString(),
  };
  for (const [name, text] of Object.entries(broken)) {
    test(`with ${name} is not one`, () =>
      assert.equal(decodeRequest("BeforeClusterDelete", text), undefined));
  }

  test("with more settings than any ExtensionConfig has, which would be kept, is not one", () => {
    const versions = { fromKubernetesVersion: "v1.31.0", toKubernetesVersion: "v1.32.0" };
    const decode = (settings: object): unknown =>
      decodeRequest("BeforeClusterUpgrade", body({ ...versions, settings }));
    assert.notEqual(decode({ a: "b".repeat(60_000) }), undefined);
    assert.equal(decode({ a: "b".repeat(70_000) }), undefined);
    assert.equal(decode({ ["a".repeat(70_000)]: "b" }), undefined);
  });

  test("of an upgrade without a version is not one", () => {
    assert.equal(decodeRequest("BeforeClusterUpgrade", body({})), undefined);
  });

  test("nested 100,000 deep does not overflow the stack", () => {
    const deep = `{"cluster":{"metadata":${JSON.stringify(metadata)},"spec":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
    assert.equal(decodeRequest("BeforeClusterDelete", deep)?.request.cluster.metadata.name, "c");
  });

  test("with __proto__ keys changes no prototype and finds no annotation", () => {
    const text =
      '{"cluster":{"metadata":{"name":"c","namespace":"n","uid":"u","annotations":{"__proto__":"x"}}}}';
    const request = decodeRequest("BeforeClusterDelete", text)?.request;
    assert.equal(request?.cluster.metadata.name, "c");
    assert.equal(({} as Record<string, unknown>)["x"], undefined);
  });
});

describe("an answer", () => {
  const go = { status: "Success", retryAfterSeconds: 0, message: "" } as const;

  test("that releases carries no message, because Cluster API would show it", () => {
    assert.equal(
      encodeResponse("BeforeClusterDelete", go, true),
      '{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"BeforeClusterDeleteResponse","status":"Success","retryAfterSeconds":0}',
    );
  });

  test("is on one line, because Cluster API shows it in a terminal", () => {
    const wait = { status: "Success", retryAfterSeconds: 5, message: "a\n\u001B[2J" } as const;
    const { message } = JSON.parse(encodeResponse("BeforeClusterDelete", wait, true));
    assert.equal(message, String.raw`a\n\u001b[2J`);
  });

  test("to a hook that does not wait has no retryAfterSeconds", () => {
    assert.doesNotMatch(encodeResponse("AfterControlPlaneInitialized", go, false), /retryAfterSeconds/);
  });

  test("to what is no request is Failure with a static text", () => {
    assert.deepEqual(JSON.parse(failureResponse("BeforeClusterDelete", "undecodable", true)), {
      apiVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1",
      kind: "BeforeClusterDeleteResponse",
      status: "Failure",
      message: "the request is not a valid BeforeClusterDeleteRequest",
      retryAfterSeconds: 0,
    });
  });
});
