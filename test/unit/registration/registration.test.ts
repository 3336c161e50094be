/** What Cluster API's ExtensionConfigs say about whether a policy is asked. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import {
  isOurs,
  misplaced,
  notCalled,
  type Registration,
  viewRegistration,
} from "../../../src/registration/registration.ts";
import { clusterHookPolicy, compiled, hookPolicy, rule } from "../builders.ts";

const SERVICE = "hookpolicy-webhook-service";
const DISCOVERED = { type: "Discovered", status: "True", reason: "Discovered", message: "" };

function raw(spec: object = {}, status: object = {}, name = "hookpolicy"): Record<string, unknown> {
  return {
    metadata: { name, generation: 2 },
    spec: { clientConfig: { service: { namespace: "s", name: "hookpolicy-webhook-service" } }, ...spec },
    status: {
      conditions: [{ ...DISCOVERED, observedGeneration: 2 }],
      handlers: [
        { name: `before-cluster-delete.${name}`, requestHook: { hook: "BeforeClusterDelete" } },
        { name: `before-cluster-upgrade.${name}`, requestHook: { hook: "BeforeClusterUpgrade" } },
      ],
      ...status,
    },
  };
}

const registration = (...args: Parameters<typeof raw>): Registration => viewRegistration(raw(...args));
const failed = { conditions: [{ ...DISCOVERED, status: "False", message: "Error in discovery" }] };
const undiscovered = { ...failed, handlers: [] };

describe("the view", () => {
  test("of v1beta2", () => {
    const view = registration({
      clientConfig: { url: "https://a/", caBundle: "Zm9v" },
      namespaceSelector: { matchLabels: { a: "b" } },
    });
    assert.equal(view.url, "https://a/");
    assert.equal(view.caBundle, "Zm9v");
    assert.equal(view.service, undefined);
    assert.deepEqual(view.namespaceSelector, { matchLabels: { a: "b" } });
    assert.equal(view.discovered, "True");
    assert.equal(view.current, true);
    assert.deepEqual(view.handlers[0], { name: "before-cluster-delete", hook: "BeforeClusterDelete" });
  });

  test("of v1alpha1, with its new conditions or only with the old ones", () => {
    const old = { type: "Discovered", status: "False", message: "m" };
    assert.equal(registration({}, { conditions: [old] }).discovered, "False");
    const both = { conditions: [old], v1beta2: { conditions: [{ ...DISCOVERED, observedGeneration: 1 }] } };
    assert.equal(registration({}, both).discovered, "True");
    assert.equal(registration({}, both).current, false);
  });

  test("of what has nothing in it", () => {
    const view = viewRegistration({});
    assert.deepEqual([view.discovered, view.handlers, view.message], [undefined, [], ""]);
  });
});

describe("an ExtensionConfig is ours", () => {
  const foreign = { clientConfig: { url: "https://a/" } };
  const handler = { name: "generate-patches.other", requestHook: { hook: "GeneratePatches" } };
  const cases: Record<string, [Registration, boolean]> = {
    "by its name": [registration(foreign, { handlers: [] }), true],
    "by the name of its Service": [registration({}, { handlers: [] }, "other"), true],
    "where nothing but our handlers was discovered": [registration(foreign, {}, "other"), true],
    "not without handlers": [registration(foreign, { handlers: [] }, "other"), false],
    "not with others' handlers": [registration(foreign, { handlers: [handler] }, "other"), false],
  };
  for (const [name, [view, want]] of Object.entries(cases)) {
    test(name, () => assert.equal(isOurs(view, SERVICE), want));
  }
});

describe("an operator that no ExtensionConfig points to says so", () => {
  const place = { namespace: "platform-hooks", serviceName: SERVICE };
  const to = (namespace: string, status: object, name = SERVICE): Registration =>
    registration({ clientConfig: { service: { namespace, name } } }, status);
  const cases: Record<string, [readonly Registration[], boolean]> = {
    "where its Service is in another namespace": [[to("hookpolicy-system", undiscovered)], true],
    "not where it is in the operator's": [[to("platform-hooks", undiscovered)], false],
    "not where another ExtensionConfig leads here": [
      [to("hookpolicy-system", undiscovered), to("platform-hooks", undiscovered)],
      false,
    ],
    "not where Cluster API reaches it, however that is": [[to("hookpolicy-system", {})], false],
    "not of a Service with another name": [[to("gateway", undiscovered, "other")], false],
    "not of a URL": [[registration({ clientConfig: { url: "https://a/" } }, undiscovered)], false],
    "not without an ExtensionConfig": [[], false],
  };
  for (const [name, [found, isSaid]] of Object.entries(cases)) {
    test(name, () => assert.equal(misplaced(found, place) !== undefined, isSaid));
  }
});

type Found = ReturnType<typeof notCalled>;
const reasonOf = (found: Found): string | undefined => (found === "Unknown" ? found : found?.reason);
const messageOf = (found: Found): string => (found === "Unknown" ? found : (found?.message ?? ""));

describe("a policy is not called", () => {
  const own = compiled(hookPolicy());
  const everywhere = compiled(clusterHookPolicy());
  const observer = compiled(hookPolicy({ rules: [{ name: "r", hooks: ["BeforeClusterDelete"] }] }));
  const create = compiled(hookPolicy({ rules: [rule({ hooks: ["BeforeClusterCreate"] })] }));
  const selecting = registration({ namespaceSelector: { matchLabels: { hooks: "on" } } });
  const yes = { hooks: "on" };
  const cases: Record<string, [Found, string | undefined]> = {
    "without an ExtensionConfig": [notCalled(own, [], {}), "NotRegistered"],
    "before it was discovered": [notCalled(own, [registration({}, undiscovered)], {}), "NotDiscovered"],
    "when discovery was never tried": [
      notCalled(own, [registration({}, { conditions: [], handlers: [] })], {}),
      "NotDiscovered",
    ],
    "in a namespace that is left out": [notCalled(own, [selecting], {}), "NamespaceNotSelected"],
    "in a namespace without labels": [notCalled(own, [selecting], undefined), "NamespaceNotSelected"],
    "about a hook without handler": [notCalled(create, [registration()], {}), "HookNotRegistered"],
    "– but it is when discovered": [notCalled(own, [registration()], undefined), undefined],
    "about a hook without handler, also when a later discovery has failed": [
      notCalled(create, [registration({}, failed)], {}),
      "HookNotRegistered",
    ],
    "– but it is in a selected namespace": [notCalled(own, [selecting], yes), undefined],
    "– but one of several is enough": [
      notCalled(own, [registration({}, undiscovered), selecting, registration({}, {}, "b")], {}),
      undefined,
    ],
    "– but a ClusterHookPolicy is somewhere": [notCalled(everywhere, [selecting], undefined), undefined],
    "– but one that holds nothing need not be": [notCalled(observer, [], {}), undefined],
  };
  for (const [name, [found, want]] of Object.entries(cases)) {
    test(name, () => assert.equal(reasonOf(found), want));
  }

  test("is not known where a selector decides, and the labels of the namespace are not known", () => {
    assert.equal(notCalled(own, [selecting], "unknown"), "Unknown");
    assert.equal(notCalled(own, [selecting, registration({}, undiscovered)], "unknown"), "Unknown");
    assert.equal(notCalled(own, [registration(), selecting], "unknown"), undefined);
    assert.equal(reasonOf(notCalled(create, [registration()], "unknown")), "HookNotRegistered");
    assert.equal(notCalled(everywhere, [selecting], "unknown"), undefined);
  });

  test("is not known while discovery fails: Cluster API still calls by the selector that it discovered", () => {
    const selector = { namespaceSelector: { matchLabels: { hooks: "on" } } };
    for (const spec of [{}, selector])
      for (const labels of [yes, undefined])
        assert.equal(notCalled(own, [registration(spec, failed)], labels), "Unknown");
    assert.equal(notCalled(own, [registration({}, failed), registration()], {}), undefined);
    assert.equal(notCalled(everywhere, [registration(selector, failed)], {}), undefined);
  });

  test("in words that do not depend on order or on what Cluster API's error says", () => {
    const [a, b] = [registration({}, undiscovered, "a"), registration({}, undiscovered, "b")];
    const found = notCalled(own, [b, a], {});
    assert.deepEqual(found, notCalled(own, [a, b], {}));
    assert.match(messageOf(found), /ExtensionConfig a, b$/);
    const message = "requestHook h/BeforeWorkersUpgrade is not in the Runtime SDK catalog";
    const refused = { conditions: [{ ...DISCOVERED, status: "False", message }], handlers: [] };
    assert.match(
      messageOf(notCalled(own, [registration({}, refused)], {})),
      /set the operator's --capi-version/,
    );
    const missing = /no handler for BeforeClusterCreate: /;
    for (const [status, cure] of [
      [{}, /annotate it with anything/],
      [failed, /the last discovery has failed, see its condition Discovered$/],
    ] as const)
      for (const text of [missing, cure])
        assert.match(messageOf(notCalled(create, [registration({}, status)], {})), text);
  });
});
