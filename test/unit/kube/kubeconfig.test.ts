import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { loadKubeConfig, serverText } from "../../../src/kube/kubeconfig.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { scratch, setEnvironment, writeKubeConfig } from "./fixtures.ts";

function complaint(load: () => unknown): string {
  try {
    load();
  } catch (error) {
    assert.ok(error instanceof KubeError);
    assert.equal(error.reason, "InvalidKubeConfig");
    assert.equal(error.cause, undefined);
    return error.message;
  }
  throw new assert.AssertionError({ message: "did not complain" });
}

const user = { name: "u", user: { token: "hunter2-hunter2" } };
const cluster = { name: "c", cluster: { server: "https://host:6443" } };
const context = { name: "x", context: { cluster: "c", user: "u" } };
const good = { "current-context": "x", contexts: [context], clusters: [cluster], users: [user] };

const broken: Record<string, { text: string; says: RegExp }> = {
  "an empty file": { text: "", says: /current-context is not set/ },
  "a scalar": { text: "hello", says: /not a kubeconfig \(not a mapping\)/ },
  "broken YAML": { text: "users:\n- token: hunter2-hunter2\n  x: [\n", says: /not valid YAML at line \d+/ },
  "no current context": {
    text: JSON.stringify({ ...good, "current-context": "" }),
    says: /current-context is not set/,
  },
  "an unknown context": {
    text: JSON.stringify({ ...good, "current-context": "y" }),
    says: /context "y" does not exist/,
  },
  "an unknown cluster": {
    text: JSON.stringify({ ...good, clusters: [] }),
    says: /cluster "c" does not exist/,
  },
  "an unknown user": { text: JSON.stringify({ ...good, users: [] }), says: /user "u" does not exist/ },
  "no server": {
    text: JSON.stringify({ ...good, clusters: [{ name: "c", cluster: {} }] }),
    says: /cluster "c" has no server/,
  },
  "a name that is there twice": {
    text: JSON.stringify({ ...good, users: [user, user] }),
    says: /users: the name "u" is there twice/,
  },
  "a plugin without interactiveMode": {
    text: JSON.stringify({
      ...good,
      users: [{ name: "u", user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "x" } } }],
    }),
    says: /user "u": exec\.interactiveMode "": allowed: Never, IfAvailable, Always/,
  },
  "a group to impersonate, and no user": {
    text: JSON.stringify({ ...good, users: [{ name: "u", user: { token: "t", "as-groups": ["a"] } }] }),
    says: /needs the name of a user \(as\)/,
  },
  "an authority and no need of one": {
    text: JSON.stringify({
      ...good,
      clusters: [
        {
          name: "c",
          cluster: { server: "https://host", "insecure-skip-tls-verify": true, "certificate-authority": "x" },
        },
      ],
    }),
    says: /one or the other/,
  },
  "a server that is no URL": {
    text: JSON.stringify({ ...good, clusters: [{ name: "c", cluster: { server: "host:6443" } }] }),
    says: /server "host:6443" is not an http\(s\) URL/,
  },
};

for (const [name, { text, says }] of Object.entries(broken)) {
  test(`a kubeconfig with ${name} gives one clear line`, (t) => {
    const file = join(scratch(t), "config");
    writeFileSync(file, text);
    const message = complaint(() => loadKubeConfig({ kubeconfig: file }));
    assert.match(message, says);
    assert.ok(message.startsWith(`kubeconfig ${file}: `), message);
    assert.doesNotMatch(message, /hunter2|\n/);
  });
}

test("a missing file gives one clear line", () => {
  assert.equal(
    complaint(() => loadKubeConfig({ kubeconfig: "/no/such" })),
    "kubeconfig /no/such: no such file",
  );
});

test("a directory gives one clear line", (t) => {
  assert.match(
    complaint(() => loadKubeConfig({ kubeconfig: scratch(t) })),
    /cannot be read \(EISDIR\)/,
  );
});

test("an explicit path wins over the Pod and the environment", (t) => {
  const root = serviceAccount(t);
  setEnvironment(t, {
    KUBERNETES_SERVICE_HOST: "10.0.0.1",
    KUBERNETES_SERVICE_PORT: "443",
    KUBECONFIG: "/no/such",
  });
  const kubeconfig = writeKubeConfig(t, "https://explicit:6443");
  assert.equal(loadKubeConfig({ kubeconfig }, root).getCurrentCluster()?.server, "https://explicit:6443");
});

/** As in a Pod of another cluster: a CI runner, for example. */
const IN_POD = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };

test("in a Pod $KUBECONFIG wins over the service account", (t) => {
  const root = serviceAccount(t);
  setEnvironment(t, { ...IN_POD, KUBECONFIG: writeKubeConfig(t, "https://management:6443") });
  assert.equal(loadKubeConfig({}, root).getCurrentCluster()?.server, "https://management:6443");
});

test("in a Pod ~/.kube/config wins over the service account", (t) => {
  const [root, home] = [serviceAccount(t), scratch(t)];
  mkdirSync(join(home, ".kube"));
  writeFileSync(join(home, ".kube", "config"), JSON.stringify(good));
  setEnvironment(t, { ...IN_POD, KUBECONFIG: undefined, HOME: home });
  assert.equal(loadKubeConfig({}, root).getCurrentCluster()?.server, "https://host:6443");
});

test("in a Pod without a kubeconfig, as the operator's, the service account is used", (t) => {
  setEnvironment(t, { ...IN_POD, KUBECONFIG: undefined, HOME: "/no/home" });
  assert.equal(loadKubeConfig({}, serviceAccount(t)).getCurrentCluster()?.server, "https://10.0.0.1:443");
});

test("a kubeconfig that $KUBECONFIG names and that is missing never leads to the Pod's own cluster", (t) => {
  const root = serviceAccount(t);
  setEnvironment(t, { ...IN_POD, KUBECONFIG: "/no/such" });
  assert.equal(
    complaint(() => loadKubeConfig({}, root)),
    "kubeconfig /no/such: no such file",
  );
});

test("a context is one of a kubeconfig: it never leads to the Pod's own cluster", (t) => {
  setEnvironment(t, { ...IN_POD, KUBECONFIG: undefined, HOME: "/no/home" });
  assert.match(
    complaint(() => loadKubeConfig({ context: "prod" }, serviceAccount(t))),
    /^no kubeconfig: /,
  );
});

test("the server is named with its context, or as that of the Pod", (t) => {
  setEnvironment(t, { ...IN_POD, KUBECONFIG: undefined, HOME: "/no/home" });
  const kubeconfig = writeKubeConfig(t, "https://management:6443");
  const loaded = loadKubeConfig({ kubeconfig });
  assert.equal(serverText(loaded), `https://management:6443, context ${loaded.getCurrentContext()}`);
  assert.equal(
    serverText(loadKubeConfig({}, serviceAccount(t))),
    "https://10.0.0.1:443, the service account of this Pod",
  );
});

test("$KUBECONFIG wins over the home directory; files of the list that are missing are skipped", (t) => {
  const first = writeKubeConfig(t, "https://first:6443");
  setEnvironment(t, { KUBERNETES_SERVICE_HOST: undefined, KUBECONFIG: `/no/such:${first}` });
  assert.equal(loadKubeConfig().getCurrentCluster()?.server, "https://first:6443");
});

test("a $KUBECONFIG without any existing file names it", (t) => {
  setEnvironment(t, { KUBERNETES_SERVICE_HOST: undefined, KUBECONFIG: "/no/such" });
  assert.equal(
    complaint(() => loadKubeConfig()),
    "kubeconfig /no/such: no such file",
  );
});

test("else ~/.kube/config is used", (t) => {
  const home = scratch(t);
  mkdirSync(join(home, ".kube"));
  writeFileSync(join(home, ".kube", "config"), JSON.stringify(good));
  setEnvironment(t, { KUBERNETES_SERVICE_HOST: undefined, KUBECONFIG: undefined, HOME: home });
  assert.equal(loadKubeConfig().getCurrentCluster()?.server, "https://host:6443");
});

test("nothing at all says where it looked, and never falls back to localhost", (t) => {
  setEnvironment(t, { KUBERNETES_SERVICE_HOST: undefined, KUBECONFIG: undefined, HOME: scratch(t) });
  assert.match(
    complaint(() => loadKubeConfig()),
    /^no kubeconfig: KUBECONFIG is not set, \S+ does not exist, and there is no service account of a Pod$/,
  );
});

function serviceAccount(t: TestContext): string {
  const root = scratch(t);
  const directory = join(root, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "token"), "t");
  return root;
}
