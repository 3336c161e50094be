import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";

import { CertificateKeeper, type KeeperOptions, type Step } from "../../../src/certificates/keeper.ts";
import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";
import {
  AUTHORITY_LIFE_MS,
  KEEP_OLD_AUTHORITY_MS,
  LEAF_LIFE_MS,
  SETTLE_MS,
} from "../../../src/certificates/lifetime.ts";
import { holds, parseCertificates } from "../../../src/certificates/pem.ts";
import { authoritySecretName, type SecretStore } from "../../../src/certificates/steps.ts";
import type { SecretData, StoredSecret } from "../../../src/certificates/stored.ts";
import type { KeyPair } from "../../../src/server/certificate.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import { issue } from "../server/certificates.ts";

const SERVING = "serving";
const AUTHORITY = authoritySecretName(SERVING);
const NAMES = ["hooks.system.svc", "hooks.system.svc.cluster.local"] as const;
const SIGNAL = new AbortController().signal;

/** Secrets as the API server keeps them: created once, replaced by who has seen the last version. */
class Secrets implements SecretStore {
  readonly kept = new Map<string, StoredSecret>();
  /** Called before each write; throws where it is to fail. */
  beforeWrite: (name: string) => void = () => undefined;
  afterWrite: (name: string) => void = () => undefined;
  failure: Error | undefined;
  #version = 0;

  put(name: string, data: SecretData, ours = true): void {
    this.#version += 1;
    this.kept.set(name, { uid: `uid-${name}`, resourceVersion: String(this.#version), ours, data });
  }

  async read(name: string): Promise<StoredSecret | undefined> {
    if (this.failure !== undefined) throw this.failure;
    return this.kept.get(name);
  }

  async create(name: string, data: SecretData): Promise<boolean> {
    this.beforeWrite(name);
    if (this.kept.has(name)) return false;
    this.put(name, data);
    this.afterWrite(name);
    return true;
  }

  async replace(name: string, { resourceVersion }: StoredSecret, data: SecretData): Promise<boolean> {
    this.beforeWrite(name);
    const now = this.kept.get(name);
    if (now?.resourceVersion !== resourceVersion) return false;
    this.put(name, { ...now.data, ...data });
    this.afterWrite(name);
    return true;
  }

  get(name: string, key: string): string {
    return this.kept.get(name)?.data[key] ?? "";
  }
}

class Lab {
  now = new Date("2026-11-21T12:00:00Z");
  readonly secrets = new Secrets();
  readonly log = new MemoryLogger();
  readonly steps: Step[] = [];
  readonly pairs: KeyPair[] = [];
  /** What the one object that calls us trusts; `undefined`: there is none. */
  clientBundle: string | undefined;
  leading = true;
  trustFailure: Error | undefined;

  keeper(more: Partial<KeeperOptions> = {}): CertificateKeeper {
    return new CertificateKeeper({
      store: this.secrets,
      trust: {
        distrusting: async (authority) => {
          if (this.trustFailure !== undefined) throw this.trustFailure;
          const { clientBundle } = this;
          return clientBundle === undefined || holds(clientBundle, authority)
            ? []
            : ["extensionconfigs hookpolicy"];
        },
      },
      secretName: SERVING,
      names: NAMES,
      leading: () => this.leading,
      log: this.log,
      now: () => this.now,
      onPair: (pair) => this.pairs.push(pair),
      onStep: (step) => this.steps.push(step),
      remedyOf: () => "grant it",
      intervalMs: 1,
      ...more,
    });
  }

  pass(ms: number): void {
    this.now = new Date(this.now.getTime() + ms);
  }

  actions(): string[] {
    return this.steps.splice(0).map(({ action }) => action);
  }

  warnings(): MemoryLogger["lines"] {
    return this.log.lines.filter(({ level }) => level === "warn");
  }

  leaf(): X509Certificate {
    return new X509Certificate(this.secrets.get(SERVING, "tls.crt"));
  }

  /** Whether the client trusts what is served. */
  trusts(): boolean {
    return parseCertificates(this.clientBundle ?? "").some((each) => this.leaf().verify(each.publicKey));
  }

  follow(): void {
    this.clientBundle = this.secrets.get(SERVING, "ca.crt");
  }
}

test("from nothing: an authority that may sign servers, and a serving certificate of the Service's names", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), ["CreateAuthority", "CreateServing"]);
  const authority = new X509Certificate(lab.secrets.get(AUTHORITY, "tls.crt"));
  assert.ok(authority.ca);
  assert.equal(authority.validToDate.toISOString(), "2036-11-18T12:00:00.000Z");
  const leaf = lab.leaf();
  assert.ok(!leaf.ca && leaf.verify(authority.publicKey));
  assert.deepEqual(leaf.subjectAltName, NAMES.map((name) => `DNS:${name}`).join(", "));
  assert.deepEqual(leaf.keyUsage, ["1.3.6.1.5.5.7.3.1"]); // serverAuth alone
  assert.equal(leaf.publicKey.asymmetricKeyDetails?.namedCurve, "prime256v1");
  assert.equal(leaf.validFromDate.toISOString(), "2026-11-21T11:00:00.000Z");
  assert.equal(leaf.validToDate.toISOString(), "2027-02-19T12:00:00.000Z");
  assert.equal(lab.secrets.get(SERVING, "ca.crt"), lab.secrets.get(AUTHORITY, "tls.crt"));
  assert.equal(lab.secrets.get(SERVING, "ca.key"), "", "the authority's key stays in its own Secret");
  assert.equal(keeper.bundle, lab.secrets.get(SERVING, "ca.crt"));
  assert.equal(lab.pairs.at(-1)?.cert, lab.secrets.get(SERVING, "tls.crt"));
});

test("at rest nothing is written", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.look(SIGNAL);
  lab.secrets.beforeWrite = (name) => assert.fail(`wrote ${name}`);
  for (let look = 0; look < 5; look++) await keeper.look(SIGNAL);
  assert.deepEqual(lab.log.messages("warn"), []);
});

test("replicas that start at once come to the same certificates, without a leader", async () => {
  const lab = new Lab();
  lab.leading = false;
  const shown: string[][] = [[], [], []];
  await Promise.all(
    shown.map(async (certs) => await lab.keeper({ onPair: ({ cert }) => certs.push(cert) }).look(SIGNAL)),
  );
  const cert = lab.secrets.get(SERVING, "tls.crt");
  assert.deepEqual(
    shown.map((certs) => certs.at(-1)),
    [cert, cert, cert],
  );
  assert.ok(lab.leaf().verify(new X509Certificate(lab.secrets.get(AUTHORITY, "tls.crt")).publicKey));
  assert.deepEqual(lab.actions().toSorted(), ["CreateAuthority", "CreateServing"]);
});

test("renews in time, by the leader alone, under the same authority", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.look(SIGNAL);
  const [authority, first] = [lab.secrets.get(SERVING, "ca.crt"), lab.secrets.get(SERVING, "tls.crt")];
  lab.follow();
  lab.actions();
  lab.pass(LEAF_LIFE_MS * 0.67);
  lab.leading = false;
  await keeper.look(SIGNAL);
  assert.equal(lab.secrets.get(SERVING, "tls.crt"), first);
  lab.leading = true;
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
  assert.notEqual(lab.secrets.get(SERVING, "tls.crt"), first);
  assert.equal(lab.secrets.get(SERVING, "ca.crt"), authority);
  assert.ok(lab.trusts());
});

test("a deleted authority is a rotation: published, trusted by all for a while, served, and alone a day later", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.look(SIGNAL);
  lab.follow();
  lab.secrets.kept.delete(AUTHORITY);
  lab.actions();
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), ["CreateAuthority", "PublishAuthority"]);
  assert.equal(parseCertificates(lab.secrets.get(SERVING, "ca.crt")).length, 2);
  assert.ok(lab.trusts());
  lab.pass(30 * 86_400_000);
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  assert.ok(lab.trusts());
  const said = lab.warnings().at(-1);
  assert.match(said?.message ?? "", /^Waiting until the new certificate authority is trusted/);
  assert.deepEqual(said?.fields["waitingFor"], ["extensionconfigs hookpolicy"]);
  lab.follow();
  await keeper.look(SIGNAL);
  lab.pass(SETTLE_MS - 1);
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  lab.pass(1);
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
  assert.ok(lab.trusts());
  lab.pass(KEEP_OLD_AUTHORITY_MS);
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), ["DropOldAuthorities"]);
  assert.equal(lab.secrets.get(SERVING, "ca.crt"), lab.secrets.get(AUTHORITY, "tls.crt"));
  assert.ok(lab.trusts());
});

test("who falls back to the old authority while it is waited for begins the wait anew", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.look(SIGNAL);
  lab.follow();
  const old = lab.clientBundle;
  lab.secrets.kept.delete(AUTHORITY);
  await keeper.look(SIGNAL);
  lab.follow();
  await keeper.look(SIGNAL);
  lab.clientBundle = old;
  lab.pass(SETTLE_MS);
  await keeper.look(SIGNAL);
  lab.follow();
  await keeper.look(SIGNAL);
  lab.actions();
  lab.pass(SETTLE_MS - 1);
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), []);
});

/** Everybody trusts the new authority, and the keeper has just seen it. */
async function waiting(lab: Lab, keeper: CertificateKeeper): Promise<void> {
  await keeper.look(SIGNAL);
  lab.follow();
  lab.secrets.kept.delete(AUTHORITY);
  await keeper.look(SIGNAL);
  lab.follow();
  await keeper.look(SIGNAL);
  lab.actions();
}

test("who leads again begins the wait anew: nobody has looked meanwhile", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await waiting(lab, keeper);
  lab.leading = false;
  await keeper.look(SIGNAL);
  lab.pass(SETTLE_MS);
  lab.leading = true;
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  lab.pass(SETTLE_MS);
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
});

test("yet another authority, published by another replica between two looks, begins the wait anew", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await waiting(lab, keeper);
  lab.secrets.kept.delete(AUTHORITY);
  await lab.keeper().look(SIGNAL);
  lab.follow();
  lab.pass(SETTLE_MS);
  lab.actions();
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  assert.ok(lab.trusts());
});

test("a serving certificate ends no later than its authority", async () => {
  const now = new Date();
  const authority = await createAuthority(new Date(now.getTime() - AUTHORITY_LIFE_MS + 86_400_000));
  const leaf = new X509Certificate((await issueLeaf(authority, NAMES, now)).cert);
  assert.deepEqual(leaf.validToDate, new X509Certificate(authority.cert).validToDate);
});

test("without a look at who calls there is no swap", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.look(SIGNAL);
  lab.secrets.kept.delete(AUTHORITY);
  lab.trustFailure = new Error("forbidden");
  const first = lab.secrets.get(SERVING, "tls.crt");
  await assert.rejects(keeper.look(SIGNAL), /forbidden/);
  lab.pass(LEAF_LIFE_MS * 0.9);
  await assert.rejects(keeper.look(SIGNAL), /forbidden/);
  assert.equal(lab.secrets.get(SERVING, "tls.crt"), first);
});

test("a crash before or after any write is continued by another process, and the client trusts what is served throughout", async () => {
  for (const when of ["beforeWrite", "afterWrite"] as const) {
    for (let crashAt = 1; crashAt <= 4; crashAt++) {
      const lab = new Lab();
      await lab.keeper().look(SIGNAL);
      lab.follow();
      lab.secrets.kept.delete(AUTHORITY);
      let writes = 0;
      lab.secrets[when] = () => {
        writes += 1;
        if (writes === crashAt) throw new Error("crashed");
      };
      let keeper = lab.keeper();
      for (let look = 0; look < 8; look++) {
        await keeper.look(SIGNAL).catch(() => (keeper = lab.keeper()));
        assert.ok(lab.trusts(), `${when} ${crashAt}, look ${look}`);
        lab.follow();
        lab.pass(look < 5 ? SETTLE_MS : KEEP_OLD_AUTHORITY_MS);
      }
      assert.ok(writes >= crashAt, "it crashed");
      assert.equal(lab.secrets.get(SERVING, "ca.crt"), lab.secrets.get(AUTHORITY, "tls.crt"));
      assert.ok(lab.leaf().verify(new X509Certificate(lab.secrets.get(AUTHORITY, "tls.crt")).publicKey));
    }
  }
});

test("what is damaged in our Secrets is made anew", async () => {
  const damages: Record<string, SecretData> = {
    "no key": { "tls.key": "" },
    "another key": { "tls.key": (await issue("other")).key },
    "no certificate": { "tls.crt": "nonsense" },
    "somebody else's certificate": { ...rename(await issue("other")) },
    "no authorities": { "ca.crt": "" },
  };
  for (const [name, damage] of Object.entries(damages)) {
    const lab = new Lab();
    const keeper = lab.keeper();
    await keeper.look(SIGNAL);
    lab.secrets.put(SERVING, { ...lab.secrets.kept.get(SERVING)?.data, ...damage });
    await keeper.look(SIGNAL);
    lab.follow();
    assert.ok(lab.trusts(), name);
    assert.ok(lab.leaf().checkHost(NAMES[0]), name);
  }
});

test("a damaged authority is replaced, and rotated to", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.look(SIGNAL);
  lab.follow();
  lab.secrets.put(AUTHORITY, rename(await issue("no authority")));
  lab.actions();
  await keeper.look(SIGNAL);
  assert.deepEqual(lab.actions(), ["ReplaceAuthority", "PublishAuthority"]);
  assert.ok(lab.trusts());
});

test("other names are a new serving certificate at once", async () => {
  const lab = new Lab();
  await lab.keeper().look(SIGNAL);
  lab.follow();
  await lab.keeper({ names: ["other.system.svc"] }).look(SIGNAL);
  assert.equal(lab.leaf().subjectAltName, "DNS:other.system.svc");
  assert.ok(lab.trusts());
});

test("what somebody else has made is served and left alone, and said once", async () => {
  const pair = await issue("theirs");
  for (const name of [SERVING, AUTHORITY]) {
    const lab = new Lab();
    lab.secrets.put(name, rename(pair), false);
    lab.secrets.beforeWrite = (written) => assert.fail(`wrote ${written}`);
    const keeper = lab.keeper();
    for (let look = 0; look < 3; look++) await keeper.look(SIGNAL);
    assert.equal(lab.log.messages("warn").length, 1);
    assert.deepEqual(lab.pairs.at(-1), name === SERVING ? pair : undefined);
  }
});

test("a failing API server is said once with its remedy, and tried again", async () => {
  const lab = new Lab();
  lab.secrets.failure = new Error("refused");
  const stop = new AbortController();
  let reads = 0;
  lab.secrets.read = async () => {
    reads += 1;
    if (reads > 20) stop.abort();
    throw new Error("refused");
  };
  await lab.keeper().run(stop.signal);
  assert.equal(lab.log.messages("warn").length, 1);
  assert.equal(lab.warnings()[0]?.fields["remedy"], "grant it");
});

function rename({ cert, key }: KeyPair): SecretData {
  return { "tls.crt": cert, "tls.key": key };
}
