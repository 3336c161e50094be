import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createConnection } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import tls from "node:tls";
import type { TestContext } from "node:test";
import { KubeClient } from "../../../src/kube/kube-client.ts";
import type { KubeClientOptions } from "../../../src/kube/kube-client.ts";
import { loadKubeConfig } from "../../../src/kube/kubeconfig.ts";
import { isUnreachable } from "../../../src/kube/kube-error.ts";
import { FakeApiServer, WIDGETS } from "./fake-api-server.ts";
import { issue } from "../server/certificates.ts";
import { scratch, writeKubeConfig, failure } from "./fixtures.ts";

const identity = await issue("fake-apiserver");
const KEY = { namespace: "team-a", name: "w1" };

interface TlsLab {
  readonly server: FakeApiServer;
  readonly connect: (user: object, cluster?: object, options?: KubeClientOptions) => KubeClient;
}

async function startTlsLab(t: TestContext): Promise<TlsLab> {
  const server = new FakeApiServer({ ...identity });
  const address = await server.start();
  server.put("team-a/w1", 1);
  t.after(() => server.stop());
  const connect = (user: object, more: object = {}, options: KubeClientOptions = {}): KubeClient => {
    const cluster = { "certificate-authority-data": Buffer.from(identity.cert).toString("base64"), ...more };
    const kubeconfig = writeKubeConfig(t, `https://${address}`, { cluster, user });
    const client = new KubeClient(loadKubeConfig({ kubeconfig }), options);
    t.after(() => client.close());
    return client;
  };
  return { server, connect };
}

const PLUGIN_API = "client.authentication.k8s.io/v1";

/** An exec plugin that is the shell script. */
function plugin(t: TestContext, script: string, more: object = {}): object {
  const command = join(scratch(t), "plugin");
  writeFileSync(command, `#!/bin/sh\n${script}\n`);
  chmodSync(command, 0o755);
  return { exec: { apiVersion: PLUGIN_API, command, interactiveMode: "Never", ...more } };
}

function credential(token: string, more: object = {}): string {
  const status = { token, expirationTimestamp: "2001-01-01T00:00:00Z", ...more };
  return `echo '${JSON.stringify({ apiVersion: PLUGIN_API, kind: "ExecCredential", status })}'`;
}

test("a hundred reads use at most two connections", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const client = connect({ token: "t" });
  for (let i = 0; i < 100; i++) await client.get(WIDGETS, KEY);
  assert.ok(server.connections <= 2, `${server.connections} connections`);
});

test("the memory in which an answer arrived is given back with it, and the next answers are whole", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const client = connect({ token: "t" });
  for (let i = 0; i < 20; i++)
    server.put(`team-a/w${i}`, i, { annotations: { big: String(i).repeat(50_000) } });
  const concat = t.mock.method(Buffer, "concat");
  const pooled = Buffer.from("of the pool of Node.js");
  const { items } = await client.list(WIDGETS);
  const chunks = concat.mock.calls.flatMap(({ arguments: [joined] }) => [...joined]);
  const left = chunks.reduce((sum, { length }) => sum + length, 0);
  assert.ok(left < 500_000, `${left} bytes of 1.5 MB: only what came from the pool of Node.js is left`);
  assert.equal(pooled.toString(), "of the pool of Node.js");
  for (const { metadata } of items)
    assert.deepEqual(
      await client.get(WIDGETS, { ...metadata, namespace: "team-a" }),
      server.objects.get(`team-a/${metadata.name}`),
    );
});

test("parallel reads are bounded to sixteen connections", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const client = connect({ token: "t" });
  await Promise.all(Array.from({ length: 60 }, () => client.get(WIDGETS, KEY)));
  assert.ok(server.connections <= 16, `${server.connections} connections`);
});

test("a changed CA file is used without a restart, an unchanged one keeps its connections", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const other = await issue("other");
  const file = join(scratch(t), "ca.crt");
  writeFileSync(file, other.cert);
  const client = connect({}, { "certificate-authority-data": undefined, "certificate-authority": file });
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "TLS");
  writeFileSync(file, identity.cert);
  await client.get(WIDGETS, KEY);
  const before = server.connections;
  for (let i = 0; i < 20; i++) {
    writeFileSync(file, identity.cert);
    await client.get(WIDGETS, KEY);
  }
  assert.ok(server.connections <= before + 1, `${server.connections - before} more connections`);
});

test("the cluster's CA is used for a context without a user", async (t) => {
  const { server } = await startTlsLab(t);
  const file = join(scratch(t), "config");
  const ca = Buffer.from(identity.cert).toString("base64");
  const cluster = { server: `https://127.0.0.1:${server.port}`, "certificate-authority-data": ca };
  const contexts = [{ name: "x", context: { cluster: "c" } }];
  writeFileSync(
    file,
    JSON.stringify({ "current-context": "x", contexts, clusters: [{ name: "c", cluster }] }),
  );
  const client = new KubeClient(loadKubeConfig({ kubeconfig: file }));
  t.after(() => client.close());
  await client.get(WIDGETS, KEY);
});

test("where the cluster has an authority of its own, those of the machine are not read", async (t) => {
  const read = t.mock.method(tls, "getCACertificates");
  const { connect } = await startTlsLab(t);
  await connect({}).get(WIDGETS, KEY);
  assert.equal(read.mock.callCount(), 0);
});

test("an unknown CA and a closed port are transport errors", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const error = await failure(connect({}, { "certificate-authority-data": undefined }).get(WIDGETS, KEY));
  assert.equal(error.reason, "TLS");
  assert.ok(isUnreachable(error));
  await server.stop();
  assert.equal((await failure(connect({}).get(WIDGETS, KEY))).reason, "ConnectionRefused");
  await server.start();
});

test("goes through the kubeconfig's proxy, and keeps its connections", async (t) => {
  const { connect } = await startTlsLab(t);
  let tunnels = 0;
  const proxy = createServer().on("connect", (request, socket: Socket) => {
    tunnels++;
    const [host = "", port = ""] = (request.url ?? "").split(":");
    const upstream = createConnection(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on("error", () => undefined);
    t.after(() => void (socket.destroy(), upstream.destroy()));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.after(() => proxy.close());
  const address = proxy.address();
  assert.ok(address !== null && typeof address !== "string");
  const client = connect({ token: "t" }, { "proxy-url": `http://127.0.0.1:${address.port}` });
  for (let i = 0; i < 10; i++) await client.get(WIDGETS, KEY);
  assert.ok(tunnels === 1 || tunnels === 2, `${tunnels} tunnels`);
});

test("sends the kubeconfig's token", async (t) => {
  const { server, connect } = await startTlsLab(t);
  server.token = "s3cr3t-s3cr3t";
  await connect({ token: "s3cr3t-s3cr3t" }).get(WIDGETS, KEY);
  const error = await failure(connect({ token: "wrong" }).get(WIDGETS, KEY));
  assert.deepEqual([error.code, error.reason], [401, "Unauthorized"]);
});

test("a credentials plugin's token is asked for again when it has expired", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const file = join(scratch(t), "n");
  const client = connect(plugin(t, `echo x >> ${file}; n=$(wc -l < ${file}); ${credential("token-'$n'")}`));
  await client.get(WIDGETS, KEY);
  await client.get(WIDGETS, KEY);
  const tokens = server.requests.map(({ headers }) => headers.authorization);
  assert.deepEqual(tokens, ["Bearer token-1", "Bearer token-2"]);
});

const plugins: Record<string, { script: string; says: RegExp }> = {
  "exits with an error": {
    script: "exit 3",
    says: /credentials: the credentials plugin \S+ failed: exit code 3/,
  },
  "is killed": { script: "kill -9 $$", says: /plugin \S+ failed: SIGKILL/ },
  "prints a bare token": { script: "echo s3cr3t-s3cr3t", says: /printed no ExecCredential/ },
  "prints another JSON": { script: "echo '{}'", says: /printed no ExecCredential/ },
  "prints another apiVersion": {
    script: `echo '{"kind":"ExecCredential","apiVersion":"v2"}'`,
    says: /printed no ExecCredential of client\.authentication\.k8s\.io\/v1/,
  },
  "prints no credential": { script: credential(""), says: /neither a token nor a client certificate/ },
  "prints a certificate alone": {
    script: credential("", { clientCertificateData: "s3cr3t" }),
    says: /a client certificate without its key/,
  },
};
for (const [name, { script, says }] of Object.entries(plugins)) {
  test(`a credentials plugin that ${name} is an error to try again`, async (t) => {
    const { connect } = await startTlsLab(t);
    const error = await failure(connect(plugin(t, script)).get(WIDGETS, KEY));
    assert.equal(error.reason, "Credentials");
    assert.ok(isUnreachable(error));
    assert.match(error.message, says);
    assert.doesNotMatch(error.message, /s3cr3t/);
    assert.equal(error.cause, undefined);
  });
}

test("a credentials plugin that is not there says how to install it", async (t) => {
  const { connect } = await startTlsLab(t);
  const exec = plugin(t, "", { command: "/no/such/plugin", installHint: "Install it with brew." });
  const error = await failure(connect(exec).get(WIDGETS, KEY));
  assert.equal(error.reason, "Credentials");
  assert.match(
    error.message,
    /the credentials plugin \/no\/such\/plugin was not found\. Install it with brew\.$/,
  );
});

test("the time that a person takes for a plugin does not count against the request", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const client = connect(plugin(t, `sleep 1.2; ${credential("t")}`), {}, { timeoutMs: 1000 });
  await client.get(WIDGETS, KEY);
  assert.equal(server.last("get").headers.authorization, "Bearer t");
});

test("who gives a request up does not wait for a plugin that hangs", async (t) => {
  const { connect } = await startTlsLab(t);
  const stop = new AbortController();
  const reading = connect(plugin(t, "exec sleep 2")).get(WIDGETS, KEY, { signal: stop.signal });
  stop.abort();
  assert.equal((await failure(reading)).reason, "Aborted");
});

test("a credential that the API server refuses is asked for again, once", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const file = join(scratch(t), "n");
  const forever = { expirationTimestamp: undefined };
  const script = `echo x >> ${file}; n=$(wc -l < ${file}); ${credential("token-'$n'", forever)}`;
  const client = connect(plugin(t, script));
  server.token = "token-1";
  await client.get(WIDGETS, KEY);
  await client.get(WIDGETS, KEY);
  server.token = "token-2";
  await client.get(WIDGETS, KEY);
  server.token = "revoked";
  assert.equal((await failure(client.get(WIDGETS, KEY))).code, 401);
  const tokens = server.requests.map(({ headers }) => headers.authorization?.replace("Bearer token-", ""));
  assert.deepEqual(tokens, ["1", "1", "1", "2", "2", "3"]);
});

test("many requests at once ask a plugin once, and it learns for which cluster", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const folder = scratch(t);
  const script = `echo "$KUBERNETES_EXEC_INFO" >> ${folder}/info; echo "$MODE" >> ${folder}/mode; ${credential("t", { expirationTimestamp: undefined })}`;
  const env = [{ name: "MODE", value: "mfa" }];
  const extension = { name: "client.authentication.k8s.io/exec", extension: { audience: "a" } };
  const client = connect(plugin(t, script, { provideClusterInfo: true, env }), { extensions: [extension] });
  await Promise.all(Array.from({ length: 9 }, async () => await client.get(WIDGETS, KEY)));
  assert.equal(readFileSync(join(folder, "mode"), "utf8"), "mfa\n");
  const info = JSON.parse(readFileSync(join(folder, "info"), "utf8"));
  assert.deepEqual(info, {
    kind: "ExecCredential",
    apiVersion: PLUGIN_API,
    spec: {
      interactive: false,
      cluster: {
        server: `https://127.0.0.1:${server.port}`,
        "certificate-authority-data": Buffer.from(identity.cert).toString("base64"),
        config: { audience: "a" },
      },
    },
  });
});

test("a user who impersonates sends all of whom", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const user = {
    token: "t",
    as: "jane",
    "as-uid": "7",
    "as-groups": ["a", "b"],
    "as-user-extra": { "x/y": ["1"] },
  };
  await connect(user).get(WIDGETS, KEY);
  const { headers } = server.last("get");
  const sent = Object.entries(headers).filter(([name]) => name.startsWith("impersonate-"));
  assert.deepEqual(Object.fromEntries(sent), {
    "impersonate-user": "jane",
    "impersonate-uid": "7",
    "impersonate-group": "a, b",
    "impersonate-extra-x%2fy": "1",
  });
});

test("a token file that disappears is an error to try again, and its line feed is not sent", async (t) => {
  const { server, connect } = await startTlsLab(t);
  const tokenFile = join(scratch(t), "token");
  const client = connect({ "auth-provider": { name: "tokenFile", config: { tokenFile } } });
  assert.equal((await failure(client.get(WIDGETS, KEY))).reason, "Credentials");
  writeFileSync(tokenFile, "t0ken\n");
  await client.get(WIDGETS, KEY);
  assert.equal(server.last("get").headers.authorization, "Bearer t0ken");
});
