/** The operator issues, rotates and serves its own certificates, against a real API server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { DISCOVERY_PATH } from "../../src/api/hook-catalog.ts";
import { parseCertificates } from "../../src/certificates/pem.ts";
import { objectsOf, type Ref } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import {
  installHookPolicy,
  NAMESPACE,
  type Operator,
  SERVICE_HOST,
  startOperator,
  writeServingCertificate,
} from "../controlplane/operator.ts";
import { may } from "../controlplane/may.ts";
import { type Proxy, startProxy } from "../controlplane/proxy.ts";
import { eventAbout } from "../controlplane/policies.ts";

const MANIFESTS = resolve(import.meta.dirname, "../../manifests");
const SERVING: Ref = {
  apiVersion: "v1",
  kind: "Secret",
  namespace: NAMESPACE,
  name: "hookpolicy-webhook-service-cert",
};
const AUTHORITY: Ref = { ...SERVING, name: `${SERVING.name}-ca` };
const WEBHOOKS: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};

let cp: ControlPlane;
let proxy: Proxy;
let first: Operator;
let second: Operator;

const FLAGS = { "cert-management": "Self", "leader-elect": "true", namespace: NAMESPACE };

before(async () => {
  cp = await startControlPlane({ seed: "hookpolicy" });
  await installHookPolicy(cp);
  proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const webhooks = objectsOf(await cp.kubectl("kustomize", MANIFESTS)).find(
    ({ kind }) => kind === WEBHOOKS.kind,
  );
  assert.ok(webhooks);
  await cp.apply(webhooks);
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url });
  [first, second] = (await Promise.all(
    ["one", "two"].map(async (name) => await startOperator(cp, { name, kubeconfig, flags: FLAGS })),
  )) as [Operator, Operator];
});
after(async () => {
  await cp?.stop();
  await proxy?.stop();
});

async function field(ref: Ref, key: string): Promise<string> {
  return Buffer.from((await cp.get(ref))["data"][key], "base64").toString();
}

/** The arguments of the kubectl command in docs/certificates.md that looks so. */
function documented(pattern: RegExp): string[] {
  const page = readFileSync(resolve(MANIFESTS, "../docs/certificates.md"), "utf8");
  const commands = [...page.matchAll(/^kubectl (.*)$/gm)].map(([, rest = ""]) => rest);
  assert.equal(commands.length, 4, "all of them are tried here");
  const command = commands.find((each) => pattern.test(each));
  assert.ok(command);
  return command.split(" ");
}

/** The authorities that are published, newest first, as fingerprints. */
async function published(): Promise<string[]> {
  return parseCertificates(await field(SERVING, "ca.crt")).map(({ fingerprint256 }) => fingerprint256);
}

/** What a client that trusts `ca` and asks for the Service's name is shown; rejects when it does not trust it. */
async function handshake({ ports }: Operator, ca: string): Promise<X509Certificate> {
  const socket: TLSSocket = connect({ host: "127.0.0.1", port: ports.webhook, ca, servername: SERVICE_HOST });
  await once(socket, "secureConnect");
  const certificate = socket.getPeerX509Certificate();
  socket.destroy();
  assert.ok(certificate);
  return certificate;
}

/** The port from which the answered call came: one connection has one. */
async function discover(port: number, agent: Agent): Promise<number | undefined> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<number | undefined>();
  request(
    { host: "127.0.0.1", port, path: DISCOVERY_PATH, method: "POST", agent, servername: SERVICE_HOST },
    (response) => {
      const { localPort } = response.socket;
      assert.equal(response.statusCode, 200);
      response.resume().once("end", () => answered(localPort));
    },
  )
    .once("error", reject)
    .end("{}");
  return await promise;
}

async function bundlesOfWebhooks(): Promise<string[]> {
  const { webhooks } = await cp.get(WEBHOOKS);
  return webhooks.map(({ clientConfig }: { clientConfig: { caBundle?: string } }) =>
    Buffer.from(clientConfig.caBundle ?? "", "base64").toString(),
  );
}

test("two replicas that start at once come to one authority and one serving certificate", async () => {
  const ca = await field(SERVING, "ca.crt");
  assert.equal(ca, await field(AUTHORITY, "tls.crt"));
  const [one, two] = await Promise.all([handshake(first, ca), handshake(second, ca)]);
  assert.equal(one.fingerprint256, two.fingerprint256);
  assert.equal(one.fingerprint256, new X509Certificate(await field(SERVING, "tls.crt")).fingerprint256);
  assert.equal(one.subjectAltName, `DNS:${SERVICE_HOST}, DNS:${SERVICE_HOST}.cluster.local`);
  assert.equal((await cp.get(SERVING))["type"], "kubernetes.io/tls");
});

test("the API server is told of the authority, and asks the webhook", async () => {
  const ca = await field(SERVING, "ca.crt");
  await cp.waitFor("the caBundle", async () => (await bundlesOfWebhooks()).every((bundle) => bundle === ca));
});

test("openssl finds nothing to say against the certificates", async () => {
  const folder = join(cp.folder, "openssl");
  await mkdir(folder);
  await writeFile(join(folder, "ca.crt"), await field(SERVING, "ca.crt"));
  await writeFile(join(folder, "tls.crt"), await field(SERVING, "tls.crt"));
  const args = ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", SERVICE_HOST];
  const files = ["-CAfile", join(folder, "ca.crt"), join(folder, "tls.crt")];
  const { stdout } = await promisify(execFile)("openssl", [...args, ...files]);
  assert.match(stdout, /tls\.crt: OK/);
});

test("the ServiceAccount may read and change these two Secrets, and no other", async () => {
  const account = `system:serviceaccount:${NAMESPACE}:hookpolicy`;
  const mayDo = async (verb: string, name: string): Promise<boolean> =>
    await may(cp, account, { verb, resource: "secrets", name, namespace: NAMESPACE });
  for (const { name } of [SERVING, AUTHORITY]) {
    for (const verb of ["get", "patch"]) assert.equal(await mayDo(verb, name), true);
    for (const verb of ["delete", "update", "list", "watch"]) assert.equal(await mayDo(verb, name), false);
  }
  for (const verb of ["get", "patch"]) assert.equal(await mayDo(verb, "another"), false);
});

test("a rotation by hand fails no handshake, with the authorities as they are published at each instant", async () => {
  const old = await published();
  const oldLeaf = await field(SERVING, "tls.crt");
  const stop = new AbortController();
  const kept = new Agent({ keepAlive: true, maxSockets: 1, ca: await field(SERVING, "ca.crt") });
  const connections = new Set<number | undefined>();
  let handshakes = 0;
  let calls = 0;
  const calling = (async () => {
    while (!stop.signal.aborted) {
      // What Cluster API and the API server trust: never newer than what is published.
      const [webhook = ""] = await bundlesOfWebhooks();
      for (const operator of [first, second]) {
        await handshake(operator, webhook);
        handshakes += 1;
      }
      connections.add(await discover(first.ports.webhook, kept));
      calls += 1;
      await sleep(20);
    }
  })();
  /** A call that fails ends the wait. */
  const meanwhile = async (what: string, done: () => Promise<boolean>): Promise<void> => {
    await Promise.race([calling, cp.waitFor(what, done)]);
  };
  await cp.kubectl(...documented(/^delete secret/));
  await meanwhile("the new authority beside the old one", async () => (await published()).length === 2);
  assert.deepEqual((await published()).slice(1), old);
  assert.equal(await field(SERVING, "tls.crt"), oldLeaf, "nobody is shown what not everybody trusts");
  await meanwhile("the new serving certificate", async () => (await field(SERVING, "tls.crt")) !== oldLeaf);
  const leaf = new X509Certificate(await field(SERVING, "tls.crt"));
  assert.ok(leaf.verify(parseCertificates(await field(AUTHORITY, "tls.crt"))[0]!.publicKey));
  const shows = async (operator: Operator): Promise<boolean> =>
    (await handshake(operator, await field(SERVING, "ca.crt"))).fingerprint256 === leaf.fingerprint256;
  await meanwhile("both replicas to show it", async () => (await shows(first)) && (await shows(second)));
  stop.abort();
  await calling;
  kept.destroy();
  assert.ok(handshakes > 20 && calls > 10, `${handshakes} handshakes, ${calls} calls`);
  assert.equal(connections.size, 1, "a connection that was there before lives on");
  assert.equal((await published()).length, 2, "the old authority stays for a day");
  const steps = [first, second].flatMap((operator) => operator.lines().map(({ msg }) => msg));
  for (const step of ["Created a certificate authority", "Issued a new serving certificate"]) {
    assert.equal(steps.filter((msg) => msg === step).length, step.startsWith("Created") ? 2 : 1, step);
  }
});

test("Events on the Secret tell of it", async () => {
  assert.match(await cp.kubectl(...documented(/^get events/)), /CertificateAuthorityRotation/);
  const events = await cp.list({
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    namespace: NAMESPACE,
  });
  const { uid } = (await cp.get(SERVING)).metadata;
  const own = events.filter(({ regarding }) => regarding.kind === "Secret" && regarding.uid === uid);
  const reasons = new Set(own.map(({ reason }) => reason));
  assert.deepEqual(reasons, new Set(["CertificateIssued", "CertificateAuthorityRotation"]));
});

test("the metric says when serving certificate and authority end", async () => {
  const leaf = new X509Certificate(await field(SERVING, "tls.crt"));
  const name = "hookpolicy_certificate_expiry_timestamp_seconds";
  assert.equal(await first.metric(name, 'certificate="serving"'), leaf.validToDate.getTime() / 1000);
  const [authority] = parseCertificates(await field(AUTHORITY, "tls.crt"));
  assert.equal(await first.metric(name, 'certificate="authority"'), authority!.validToDate.getTime() / 1000);
});

test("a certificate that ends soon is told of by log, Event and metric, and readiness stays", async () => {
  const certDir = join(cp.folder, "ends-soon");
  // Backdated by an hour: nine tenths of its life have passed.
  const pair = await cp.authority.issue({
    commonName: SERVICE_HOST,
    names: [SERVICE_HOST],
    validMs: 400_000,
  });
  await writeServingCertificate(certDir, pair);
  const operator = await startOperator(cp, {
    name: "files",
    flags: { namespace: NAMESPACE, "webhook-cert-dir": certDir },
  });
  const ends = new X509Certificate(pair.certificate).validToDate;
  const event = await eventAbout(cp, SERVING, "CertificateExpiring");
  assert.equal(event["type"], "Warning");
  assert.match(
    event["note"],
    /^The serving certificate ends at .*stays held; .* upgraded\. Its issuer must renew it/,
  );
  assert.ok(operator.lines().some(({ msg, level }) => msg === event["note"] && level === "warn"));
  const name = "hookpolicy_certificate_expiry_timestamp_seconds";
  assert.equal(await operator.metric(name, 'certificate="serving"'), ends.getTime() / 1000);
  assert.ok(await operator.ready());
  await operator.daemon.stop();
});

test("a restart takes the certificate from its volume, without any API server", async () => {
  const { ports } = second;
  await second.daemon.stop();
  const certDir = join(cp.folder, "volume");
  await mkdir(certDir);
  for (const key of ["tls.crt", "tls.key", "ca.crt"])
    await writeFile(join(certDir, key), await field(SERVING, key));
  const ca = await field(SERVING, "ca.crt");
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url });
  await proxy.stop();
  second = await startOperator(cp, {
    name: "again",
    kubeconfig,
    ports,
    flags: { ...FLAGS, "webhook-cert-dir": certDir },
    waitReady: false,
  });
  const agent = new Agent({ ca });
  await cp.waitFor(
    "discovery to be answered",
    async () => (await discover(ports.webhook, agent)) !== undefined,
  );
  assert.ok(second.lines().some(({ msg }) => msg === "Loaded the serving certificate"));
});

test("the documented commands take the rights to Secrets and webhooks away", async () => {
  const account = `system:serviceaccount:${NAMESPACE}:hookpolicy`;
  const secret = { verb: "get", resource: "secrets", name: SERVING.name, namespace: NAMESPACE };
  const webhooks = {
    verb: "patch",
    resource: "validatingwebhookconfigurations.admissionregistration.k8s.io",
    name: WEBHOOKS.name,
  };
  const rights = async (): Promise<boolean[]> =>
    await Promise.all([secret, webhooks].map(async (right) => await may(cp, account, right)));
  assert.deepEqual(await rights(), [true, true]);
  for (const command of [/^delete role,/, /^delete clusterrole,/]) await cp.kubectl(...documented(command));
  await cp.waitFor("the rights to be gone", async () => !(await rights()).includes(true));
});
