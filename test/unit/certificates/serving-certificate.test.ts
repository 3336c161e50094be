import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import type { EventText } from "../../../src/api/event-text.ts";
import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { timestamp } from "../../../src/lib/instant.ts";
import { errorText } from "../../../src/lib/thrown.ts";
import { Certificates, type CertificatesOptions } from "../../../src/certificates/certificates.ts";
import type { KeyPair } from "../../../src/server/tls-server.ts";
import { MemoryLogger, scratch, until } from "../kube/fixtures.ts";

const NOW = new Date();
const DAY_MS = 86_400_000;
const HOST = "hookpolicy-webhook-service.hookpolicy-system.svc";
const SERVING = "hookpolicy-webhook-service-cert";

const NAMESPACE = "hookpolicy-system";

type SecretObject = KubeObject & { readonly data: Readonly<Record<string, string>> };
type Configuration = KubeObject & { readonly webhooks: { readonly clientConfig: { caBundle: string } }[] };
const base64 = (text: string): string => Buffer.from(text).toString("base64");

class Lab {
  readonly dir: string;
  readonly log = new MemoryLogger();
  readonly secrets = new Map<string, SecretObject>();
  readonly created: unknown[] = [];
  readonly served: KeyPair[] = [];
  readonly events: EventText[] = [];
  /** The caBundles, PEM, of the webhook configurations that exist. */
  readonly bundles = new Map<string, string>();
  failure: KubeError | undefined;
  leading = true;

  constructor(t: TestContext) {
    this.dir = scratch(t);
  }

  async mount(pair: KeyPair): Promise<void> {
    await writeFile(join(this.dir, "tls.key"), pair.key);
    await writeFile(join(this.dir, "new"), pair.cert);
    await rename(join(this.dir, "new"), join(this.dir, "tls.crt"));
  }

  store(name: string, pair: KeyPair, more: { ours?: boolean; ca?: string } = {}): void {
    const data = {
      "tls.crt": pair.cert,
      "tls.key": pair.key,
      ...(more.ca !== undefined && { "ca.crt": more.ca }),
    };
    const labels: Record<string, string> =
      more.ours === false ? {} : { "app.kubernetes.io/managed-by": "hookpolicy" };
    const metadata = {
      name,
      namespace: NAMESPACE,
      uid: `uid-${name}`,
      resourceVersion: "1",
      labels,
    };
    const encoded = Object.entries(data).map(([key, value]) => [key, base64(value)]);
    this.secrets.set(name, { metadata, data: Object.fromEntries(encoded) });
  }

  serving(certManagement: "Self" | "Files"): Certificates {
    const client: CertificatesOptions["client"] = {
      get: async ({ kind }, { name }) => {
        if (this.failure !== undefined) throw this.failure;
        const found = kind === "Secret" ? this.secrets.get(name) : this.#configuration(name);
        if (found === undefined) throw new KubeError("gone", { code: 404, reason: "NotFound" });
        return found;
      },
      create: async (_, object) => {
        this.created.push(object);
        const { data } = object as unknown as SecretObject;
        const pair = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
        this.store(
          object.metadata.name,
          { cert: pair("tls.crt"), key: pair("tls.key") },
          { ca: pair("ca.crt") },
        );
        return this.secrets.get(object.metadata.name)!;
      },
      mergePatch: async ({ kind }, { name }, patch) => {
        if (kind !== "Secret") {
          const [webhook] = (patch as Configuration).webhooks;
          this.bundles.set(name, Buffer.from(webhook?.clientConfig.caBundle ?? "", "base64").toString());
          return this.#configuration(name)!;
        }
        const found = this.secrets.get(name)!;
        this.secrets.set(name, { ...found, data: { ...found.data, ...(patch as SecretObject).data } });
        return this.secrets.get(name)!;
      },
      list: async () => ({ items: [], resourceVersion: "1" }),
      getPath: async () => ({ versions: [] }),
    };
    return new Certificates({
      settings: {
        certManagement,
        webhookCertDir: this.dir,
        webhookCertName: "tls.crt",
        webhookKeyName: "tls.key",
        webhookConfiguration: "hookpolicy",
        webhookServiceName: "hookpolicy-webhook-service",
        webhookSecretName: SERVING,
        namespace: NAMESPACE,
      },
      client,
      leading: () => this.leading,
      events: { tell: (text) => this.events.push(text) },
      log: this.log,
      servers: () => assert.fail("no clients are checked"),
      serving: () => [{ setCertificate: (pair) => this.served.push(pair) }],
    });
  }

  #configuration(name: string): Configuration | undefined {
    const pem = this.bundles.get(name);
    if (pem === undefined) return undefined;
    const metadata = { name, uid: `uid-${name}`, resourceVersion: "1" };
    return { metadata, webhooks: [{ clientConfig: { caBundle: base64(pem) } }] };
  }

  /** Our own two Secrets, issued so long ago. */
  async storeOwn(ageMs = 0): Promise<KeyPair> {
    const at = new Date(NOW.getTime() - ageMs);
    const authority = await createAuthority(at);
    const leaf = await issueLeaf(authority, [HOST, `${HOST}.cluster.local`], at);
    this.store(`${SERVING}-ca`, authority);
    this.store(SERVING, leaf, { ca: authority.cert });
    return leaf;
  }
}

const namesOf = (certificates: Certificates): string[] =>
  certificates.expiries().map(({ labels }) => labels.certificate);

const never = new AbortController().signal;

async function running(serving: Certificates, work: () => Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const done = serving.run(stop.signal);
  try {
    await work();
  } finally {
    stop.abort();
    await done;
  }
}

test("with files, nothing is asked of the API server", async (t) => {
  const lab = new Lab(t);
  const pair = await new Lab(t).storeOwn();
  await lab.mount(pair);
  lab.failure = new KubeError("asked", { code: 500, reason: "InternalError" });
  const serving = lab.serving("Files");
  const { cert, key } = await serving.load(never);
  assert.deepEqual({ cert, key }, pair);
  assert.deepEqual(namesOf(serving), ["serving"]);
});

test("with an empty volume, Self serves at once what it has created", async (t) => {
  const lab = new Lab(t);
  const serving = lab.serving("Self");
  const { cert } = await serving.load(never);
  assert.equal(lab.created.length, 2);
  for (const secret of lab.created as SecretObject[]) {
    assert.equal((secret as unknown as { type: string }).type, "kubernetes.io/tls");
    assert.equal(secret.metadata.namespace, "hookpolicy-system");
  }
  assert.equal(cert, Buffer.from(lab.secrets.get(SERVING)!.data["tls.crt"]!, "base64").toString());
  assert.deepEqual(namesOf(serving), ["serving", "authority"]);
});

test("with a filled volume, Self starts without any API server, and serves the newer one of the Secret later", async (t) => {
  const lab = new Lab(t);
  const mounted = await lab.storeOwn(2 * DAY_MS);
  await lab.mount(mounted);
  lab.failure = new KubeError("down", { code: 0, reason: "ConnectionRefused" });
  const serving = lab.serving("Self");
  assert.equal((await serving.load(never)).cert, mounted.cert);
  const renewed = await lab.storeOwn(DAY_MS);
  lab.failure = undefined;
  await running(serving, async () => await until("the renewed one", () => lab.served.length > 0));
  assert.deepEqual(
    lab.served.map(({ cert }) => cert),
    [renewed.cert],
  );
});

test("Self starts with the certificate that was replaced during the start, when there is no server yet", async (t) => {
  const lab = new Lab(t);
  const old = await lab.storeOwn(70 * DAY_MS);
  const { cert } = await lab.serving("Self").load(never);
  assert.notEqual(cert, old.cert);
  assert.deepEqual(lab.served, []);
  assert.deepEqual(lab.log.messages("warn"), []);
});

test("when everything has expired, Self needs no leader to continue", async (t) => {
  const lab = new Lab(t);
  const expired = await lab.storeOwn(100 * DAY_MS);
  await lab.mount(expired);
  lab.leading = false;
  const { cert } = await lab.serving("Self").load(never);
  assert.notEqual(cert, expired.cert);
  assert.equal(lab.created.length, 0);
});

test("a leader renews; another replica serves what it finds", async (t) => {
  const lab = new Lab(t);
  const old = await lab.storeOwn(70 * DAY_MS);
  lab.leading = false;
  const serving = lab.serving("Self");
  assert.equal((await serving.load(never)).cert, old.cert);
  lab.leading = true;
  await running(serving, async () => await until("a renewed one", () => lab.served.length > 0));
  assert.notEqual(lab.served[0]?.cert, old.cert);
  assert.ok(lab.log.messages("info").includes("Issued a new serving certificate"));
  assert.deepEqual(
    lab.events.map(({ reason, action }) => [reason, action]),
    [["CertificateIssued", "IssueLeaf"]],
  );
});

test("a foreign Secret is served and not touched; a broken one is reported", async (t) => {
  const lab = new Lab(t);
  const theirs = await new Lab(t).storeOwn();
  lab.store(SERVING, theirs, { ours: false, ca: "their authority" });
  const serving = lab.serving("Self");
  assert.equal((await serving.load(never)).cert, theirs.cert);
  lab.store(SERVING, { cert: "nonsense", key: "" }, { ours: false });
  await running(serving, async () => {
    await until("a warning", () => lab.log.messages("warn").includes("Keeping the old serving certificate"));
  });
  assert.deepEqual([lab.created, lab.served], [[], []]);
});

test("without permission there is one line that says what to do", async (t) => {
  const lab = new Lab(t);
  lab.failure = new KubeError("get secrets: forbidden", { code: 403, reason: "Forbidden" });
  const stop = new AbortController();
  const loading = lab.serving("Self").load(stop.signal);
  stop.abort();
  await assert.rejects(loading, (error) => {
    assert.match(
      errorText(error),
      /^no serving certificate to start with \(--cert-management=Self\); apply the Role .*--cert-management=Files: get secrets: forbidden$/,
    );
    return true;
  });
});

test("Self tells each of its steps as an Event about the Secret of the serving certificate", async (t) => {
  const lab = new Lab(t);
  const serving = lab.serving("Self");
  await serving.load(never);
  lab.secrets.delete(`${SERVING}-ca`);
  await running(serving, async () => await until("the rotation", () => lab.events.length > 3));
  const secret = { apiVersion: "v1", kind: "Secret", namespace: NAMESPACE, name: SERVING };
  const regarding = { ...secret, uid: `uid-${SERVING}` };
  assert.deepEqual(
    lab.events.map(({ type, reason, action, note, regarding: { uid } }) => [type, reason, action, note, uid]),
    [
      ["Normal", "CertificateIssued", "CreateAuthority", "Created a certificate authority", ""],
      ["Normal", "CertificateIssued", "CreateServing", "Issued the serving certificate", regarding.uid],
      ["Normal", "CertificateIssued", "CreateAuthority", "Created a certificate authority", regarding.uid],
      [
        "Normal",
        "CertificateAuthorityRotation",
        "PublishAuthority",
        "Published the new certificate authority beside the old one",
        regarding.uid,
      ],
    ],
  );
  assert.deepEqual(lab.events[0]?.regarding, { ...regarding, uid: "" });
  assert.deepEqual(lab.events.at(-1)?.regarding, regarding);
  assert.match(lab.events.at(-1)?.identity ?? "", new RegExp(`^uid-${SERVING} PublishAuthority 2\\S+Z$`));
});

const HOUR_MS = 3_600_000;

interface Behind {
  readonly lab: Lab;
  readonly pair: KeyPair;
  readonly older: KeyPair;
  readonly newer: KeyPair;
}

/** The Secret has an older authority than the one webhook configuration; the other has none. */
async function behind(t: TestContext): Promise<Behind> {
  const lab = new Lab(t);
  const at = (hours: number): Date => new Date(NOW.getTime() - hours * HOUR_MS);
  const [older, newer] = [await createAuthority(at(2)), await createAuthority(at(1))];
  const pair = await issueLeaf(older, [HOST, `${HOST}.cluster.local`], NOW);
  lab.store(`${SERVING}-ca`, older);
  lab.store(SERVING, pair, { ca: older.cert });
  lab.bundles.set("hookpolicy", newer.cert).set("hookpolicy-clusters", "");
  return { lab, pair, older, newer };
}

test("with files, an older authority is written where there is none, and not over a newer one", async (t) => {
  const { lab, pair, older, newer } = await behind(t);
  await lab.mount(pair);
  await writeFile(join(lab.dir, "ca.crt"), older.cert);
  const serving = lab.serving("Files");
  await serving.load(never);
  await running(serving, async () => {
    await until("the second caBundle", () => lab.bundles.get("hookpolicy-clusters") !== "");
  });
  assert.deepEqual(Object.fromEntries(lab.bundles), {
    hookpolicy: newer.cert,
    "hookpolicy-clusters": older.cert,
  });
});

test("Self writes the authorities of its Secret into both webhook configurations", async (t) => {
  const { lab, older } = await behind(t);
  await writeFile(join(lab.dir, "ca.crt"), "another");
  const serving = lab.serving("Self");
  await serving.load(never);
  await running(serving, async () => {
    await until("both caBundles", () => [...lab.bundles.values()].every((pem) => pem === older.cert));
  });
});

test("a certificate that ends soon is told by log and Event", async (t) => {
  const lab = new Lab(t);
  await lab.mount(await lab.storeOwn(80 * DAY_MS));
  const serving = lab.serving("Files");
  await serving.load(never);
  const [expiry] = serving.expiries();
  const notAfter = timestamp(new Date((expiry?.value ?? 0) * 1000));
  await running(serving, async () => await until("the Event", () => lab.events.length > 0));
  const [event] = lab.events;
  const regarding = { apiVersion: "v1", kind: "Secret", namespace: NAMESPACE, name: SERVING, uid: "" };
  const note = `The serving certificate ends at ${notAfter}: then Cluster API cannot call HookPolicy, and every Cluster that waits for a hook stays held; with the webhook of Clusters, none can be created, deleted or upgraded. Its issuer must renew it; the operator loads the new file by itself`;
  assert.deepEqual(event, {
    identity: [NAMESPACE, SERVING, "serving", notAfter, false].join(" "),
    type: "Warning",
    reason: "CertificateExpiring",
    action: "Renew",
    note,
    regarding,
  });
  assert.ok(lab.log.messages("warn").includes(note));
});
