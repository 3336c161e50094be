/** Whom the hook server answers: real TLS on both sides. */

import assert from "node:assert/strict";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { Agent, request as httpsRequest, type AgentOptions } from "node:https";
import { join } from "node:path";
import { mock, test, type TestContext } from "node:test";
import type { TLSSocket } from "node:tls";

import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";
import { errorText } from "../../../src/lib/thrown.ts";
import { ClientAuthority, type ClientAuthorityOptions } from "../../../src/certificates/client-authority.ts";
import { createHookServer } from "../../../src/server/hook-server.ts";
import type { TlsServer } from "../../../src/server/tls-server.ts";
import { type CertificateAuthority, createCertificateAuthority } from "../../controlplane/certificates.ts";
import { scratch, until } from "../kube/fixtures.ts";
import { SIGNAL } from "../certificates/own-certificates-lab.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";

const NAME = "capi-controller-manager";
const FLAG = { flag: "--client-ca-file", remedy: "show another certificate" };
const serving = await issue("serving");
const clients = await createCertificateAuthority("clients");
const others = await createCertificateAuthority("others");

interface Lab {
  readonly file: string;
  readonly authority: ClientAuthority;
  readonly server: TlsServer;
  readonly port: number;
  readonly log: ReturnType<typeof createRecorder>;
}

async function start(t: TestContext, more: Partial<ClientAuthorityOptions> = {}): Promise<Lab> {
  const file = join(scratch(t), "client-ca.crt");
  await writeFile(file, clients.certificate);
  const log = createRecorder();
  const authority: ClientAuthority = new ClientAuthority({
    caFile: file,
    ...FLAG,
    names: [NAME, "kcp"],
    log,
    now: () => new Date(),
    onChange: () => server.clientsChanged(),
    ...more,
  });
  await authority.load(SIGNAL);
  const server = createHookServer({
    host: "127.0.0.1",
    port: 0,
    tls: serving,
    clients: authority,
    routes: [
      { path: "/hook", authenticated: true, handle: () => '"answered"' },
      { path: "/discovery", handle: () => '"answered"' },
    ],
    undecodable: (_, reason) => JSON.stringify(reason),
    log,
    limits: { bodyBytes: 1024 },
  });
  const { port } = await server.listen();
  t.after(() => server.close(0));
  return { file, authority, server, port, log };
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly connection: unknown;
  readonly socket: TLSSocket;
}

async function ask(
  port: number,
  client: AgentOptions | Agent,
  { path = "/hook", body = "{}" } = {},
): Promise<Answer> {
  const agent = client instanceof Agent ? client : new Agent({ ...client, rejectUnauthorized: false });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = httpsRequest({ host: "127.0.0.1", port, path, method: "POST", agent }, (response) => {
    let text = "";
    const { socket, statusCode: status, headers } = response;
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    response.on("end", () =>
      resolve({ status, text, connection: headers.connection, socket: socket as TLSSocket }),
    );
  });
  request.once("error", reject).end(body);
  return await promise;
}

async function clientOf(
  authority: CertificateAuthority,
  request: Partial<Parameters<CertificateAuthority["issue"]>[0]> = {},
): Promise<AgentOptions> {
  const { certificate: cert, key } = await authority.issue({ commonName: NAME, ...request });
  return { cert, key };
}

/** One connection with a good certificate. */
async function keptAgent(t: TestContext): Promise<Agent> {
  const options = { keepAlive: true, maxSockets: 1, rejectUnauthorized: false };
  const agent = new Agent({ ...(await clientOf(clients)), ...options });
  t.after(() => agent.destroy());
  return agent;
}

/** At once, as a mounted Secret changes. */
async function put(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

test("a client with a good certificate is answered, and so is one of another allowed name", async (t) => {
  const { port } = await start(t);
  for (const commonName of [NAME, "kcp"]) {
    const { status, text } = await ask(port, await clientOf(clients, { commonName }));
    assert.deepEqual([status, text], [200, '"answered"']);
  }
});

const STRANGERS: Record<string, { client: () => Promise<AgentOptions>; reason: RegExp }> = {
  "no certificate": { client: async () => ({}), reason: /^no client certificate$/ },
  "a certificate of another authority": {
    client: async () => await clientOf(others),
    reason: /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT/,
  },
  "a certificate that it has signed itself": {
    client: async () => await issue(NAME),
    reason: /DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO/,
  },
  "another common name": {
    client: async () => await clientOf(clients, { commonName: "somebody" }),
    reason: /another common name$/,
  },
  "an expired certificate": {
    client: async () => await clientOf(clients, { validMs: -1000 }),
    reason: /CERT_HAS_EXPIRED/,
  },
};
for (const [name, { client, reason }] of Object.entries(STRANGERS)) {
  test(`a client with ${name} is refused with status 200, and may ask what is served`, async (t) => {
    const { port, log } = await start(t);
    const options = await client();
    const refused = await ask(port, options);
    assert.deepEqual([refused.status, refused.text], [200, '"unauthenticated"']);
    const { text } = await ask(port, options, { path: "/discovery" });
    assert.equal(text, '"answered"');
    const warnings = log.entries.filter(({ level }) => level === "warn");
    assert.equal(warnings.length, 1);
    assert.match(String(warnings[0]?.fields?.["reason"]), reason);
  });
}

test("a certificate for servers does not make a client", async (t) => {
  const authority = await createAuthority(new Date());
  const { cert, key } = await issueLeaf(authority, [NAME], new Date());
  const { port, file, authority: accepted, server } = await start(t);
  await writeFile(file, authority.cert);
  await accepted.load(SIGNAL);
  server.clientsChanged();
  const { text } = await ask(port, { cert, key });
  assert.equal(text, '"unauthenticated"');
});

test("without names, every certificate of the authority is good", async (t) => {
  const { port } = await start(t, { names: [] });
  assert.equal((await ask(port, await clientOf(clients, { commonName: "x" }))).text, '"answered"');
  assert.equal((await ask(port, {})).text, '"unauthenticated"');
});

test("unauthenticated clients cannot fill the log, and nothing of their bodies is read", async (t) => {
  const { port, log } = await start(t);
  for (let call = 0; call < 5; call++) await ask(port, {});
  assert.equal(log.entries.filter(({ level }) => level === "warn").length, 1);
  const body = "x".repeat(2048);
  assert.equal((await ask(port, {}, { body })).text, '"unauthenticated"');
  for (let call = 0; call < 5; call++)
    assert.equal((await ask(port, {}, { path: "/discovery", body })).text, '"too-large"');
  assert.equal(log.entries.filter(({ level }) => level === "warn").length, 2);
});

test("a certificate that expires on an open connection is no longer accepted", async (t) => {
  let late = false;
  const { port } = await start(t, { now: () => new Date(Date.now() + (late ? 10 * 86_400_000 : 0)) });
  const agent = await keptAgent(t);
  const first = await ask(port, agent);
  assert.equal(first.text, '"answered"');
  late = true;
  const second = await ask(port, agent);
  assert.equal(second.socket, first.socket);
  assert.equal(second.text, '"unauthenticated"');
});

test("a changed file counts for new connections, and ends the others with their next answer", async (t) => {
  const lab = await start(t);
  const agent = await keptAgent(t);
  const other = await clientOf(others);
  const first = await ask(lab.port, agent);
  assert.notEqual(first.connection, "close");
  await put(lab.file, others.certificate);
  await lab.authority.look(SIGNAL);
  assert.equal((await ask(lab.port, other)).text, '"answered"');
  const last = await ask(lab.port, agent);
  assert.equal(last.socket, first.socket);
  assert.equal(last.connection, "close");
  assert.equal((await ask(lab.port, agent)).text, '"unauthenticated"');
  const later = new Agent({ ...other, keepAlive: true, rejectUnauthorized: false });
  t.after(() => later.destroy());
  assert.notEqual((await ask(lab.port, later)).connection, "close");
});

test("a session of before the change is not resumed", async (t) => {
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    const lab = await start(t);
    const client = { ...(await clientOf(clients)), maxVersion };
    const sessions: Buffer[] = [];
    const agent = new Agent({ ...client, keepAlive: true, rejectUnauthorized: false });
    agent.on("keylog", (_, socket: TLSSocket) => socket.on("session", (session) => sessions.push(session)));
    await ask(lab.port, agent);
    await until("a session", () => sessions.length > 0);
    agent.destroy();
    const session = sessions.at(-1);
    const resumed = await ask(lab.port, { ...client, ...(session !== undefined && { session }) });
    assert.deepEqual([resumed.text, resumed.socket.isSessionReused()], ['"answered"', true], maxVersion);
    await put(lab.file, others.certificate);
    await lab.authority.load(SIGNAL);
    lab.server.clientsChanged();
    const after = await ask(lab.port, { ...client, ...(session !== undefined && { session }) });
    assert.equal(after.text, '"unauthenticated"', maxVersion);
  }
});

test("a new serving certificate leaves the client authorities as they are", async (t) => {
  const { port, server } = await start(t);
  server.setCertificate(await issue("renewed"));
  assert.equal((await ask(port, await clientOf(clients))).text, '"answered"');
  assert.equal((await ask(port, await clientOf(others))).text, '"unauthenticated"');
});

const UNUSABLE: Record<string, string> = {
  "an empty file": "",
  "no PEM": "secret",
  "a broken certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
};
for (const [name, content] of Object.entries(UNUSABLE)) {
  test(`${name} cannot be begun with, and keeps the old authorities later, said once`, async (t) => {
    const lab = await start(t);
    await put(lab.file, content);
    await lab.authority.look(SIGNAL);
    await lab.authority.look(SIGNAL);
    assert.equal(lab.log.entries.filter(({ level }) => level === "warn").length, 1);
    assert.equal(lab.authority.pem, clients.certificate);
    assert.equal((await ask(lab.port, await clientOf(clients))).text, '"answered"');
    await put(lab.file, content);
    const { file } = lab;
    const fresh = new ClientAuthority({
      caFile: file,
      ...FLAG,
      names: [],
      log: lab.log,
      now: () => new Date(),
      onChange: () => undefined,
    });
    await assert.rejects(fresh.load(SIGNAL), (error) => {
      assert.match(errorText(error), /^cannot use \S+client-ca\.crt \(--client-ca-file\): /);
      assert.doesNotMatch(errorText(error), /secret|\n/);
      return true;
    });
  });
}

test("a file that cannot be read is one line", async (t) => {
  const lab = await start(t);
  await rm(lab.file);
  await assert.rejects(lab.authority.load(SIGNAL), { message: /^cannot read \S+ \(--client-ca-file\)/ });
  await mkdir(lab.file);
  await assert.rejects(lab.authority.load(SIGNAL), { message: /^cannot read \S+ \(--client-ca-file\)/ });
});

test("the authority that ends first is the one to know about", async (t) => {
  mock.timers.enable({ apis: ["Date"], now: Date.now() - 3_600_000 });
  const older = await createCertificateAuthority("older");
  mock.timers.reset();
  const lab = await start(t);
  await put(lab.file, clients.certificate);
  await lab.authority.load(SIGNAL);
  const ends = lab.authority.current?.notAfter ?? new Date(0);
  await put(lab.file, `${clients.certificate}\n${older.certificate}`);
  await lab.authority.load(SIGNAL);
  assert.ok((lab.authority.current?.notAfter ?? ends) < ends);
});
