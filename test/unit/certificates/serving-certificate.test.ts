import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { errorText } from "../../../src/lib/thrown.ts";
import { Certificates, type CertificatesOptions } from "../../../src/certificates/certificates.ts";
import type { KeyPair } from "../../../src/server/tls-server.ts";
import { MemoryLogger, scratch, until } from "../kube/fixtures.ts";

const NOW = new Date();
const DAY_MS = 86_400_000;
const HOST = "hookpolicy-webhook-service.hookpolicy-system.svc";
const SERVING = "hookpolicy-webhook-service-cert";

type SecretObject = KubeObject & { readonly data: Readonly<Record<string, string>> };

class Lab {
  readonly dir: string;
  readonly log = new MemoryLogger();
  readonly secrets = new Map<string, SecretObject>();
  readonly created: unknown[] = [];
  readonly served: KeyPair[] = [];
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
      namespace: "hookpolicy-system",
      uid: `uid-${name}`,
      resourceVersion: "1",
      labels,
    };
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
    this.secrets.set(name, { metadata, data: Object.fromEntries(encoded) });
  }

  serving(certManagement: "Self" | "Files"): Certificates {
    const client: CertificatesOptions["client"] = {
      get: async ({ kind }, { name }) => {
        if (this.failure !== undefined) throw this.failure;
        const found = kind === "Secret" ? this.secrets.get(name) : undefined;
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
      mergePatch: async (_, { name }, patch) => {
        const found = this.secrets.get(name)!;
        this.secrets.set(name, { ...found, data: { ...found.data, ...(patch as SecretObject).data } });
        return this.secrets.get(name)!;
      },
      list: async () => ({ items: [], resourceVersion: "1" }),
      getPath: async () => ({ versions: [] }),
    };
    return new Certificates({
      options: {
        certManagement,
        webhookCertDir: this.dir,
        webhookCertName: "tls.crt",
        webhookKeyName: "tls.key",
        webhookConfiguration: "hookpolicy",
        webhookServiceName: "hookpolicy-webhook-service",
        webhookSecretName: SERVING,
        namespace: "hookpolicy-system",
      },
      client,
      leading: () => this.leading,
      events: { tell: () => undefined },
      log: this.log,
      servers: () => assert.fail("no clients are checked"),
      serving: () => [{ setCertificate: (pair) => this.served.push(pair) }],
    });
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
