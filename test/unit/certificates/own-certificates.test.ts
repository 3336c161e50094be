import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";

import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";
import {
  AUTHORITY_LIFE_MS,
  KEEP_OLD_AUTHORITY_MS,
  LEAF_LIFE_MS,
  SETTLE_MS,
} from "../../../src/certificates/lifetime.ts";
import type { OwnCertificates } from "../../../src/certificates/own-certificates.ts";
import { parseCertificates } from "../../../src/certificates/pem.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { issue } from "../server/certificates.ts";
import { AUTHORITY, Lab, NAMES, secretOf, SERVING, SIGNAL } from "./own-certificates-lab.ts";

interface Started {
  readonly lab: Lab;
  readonly keeper: OwnCertificates;
}

/** The keeper has looked once, at an API server without Secrets. */
async function started(): Promise<Started> {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.advance(SIGNAL);
  return { lab, keeper };
}

test("from nothing: an authority that may sign servers, and a serving certificate of the Service's names", async () => {
  const { lab, keeper } = await started();
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
  assert.equal((await keeper.currentPair(SIGNAL)).cert, lab.secrets.get(SERVING, "tls.crt"));
});

test("at rest nothing is written", async () => {
  const { lab, keeper } = await started();
  lab.secrets.beforeWrite = (name) => assert.fail(`wrote ${name}`);
  for (let look = 0; look < 5; look++) await keeper.advance(SIGNAL);
  assert.deepEqual(lab.log.messages("warn"), []);
});

test("looks at the two Secrets, and at the callers while it awaits their trust as the leader", async () => {
  const { lab, keeper } = await started();
  const asked = async (): Promise<string[]> => {
    lab.requests.length = 0;
    await keeper.advance(SIGNAL);
    return [...lab.requests];
  };
  const secrets = [`get secrets ${AUTHORITY}`, `get secrets ${SERVING}`];
  const webhooks = ["hookpolicy", "hookpolicy-clusters"].map(
    (name) => `get validatingwebhookconfigurations ${name}`,
  );
  const callers = [...webhooks, "get /apis/runtime.cluster.x-k8s.io", "list extensionconfigs"];
  const creates = [`create ${AUTHORITY}`, ...secrets, `create ${SERVING}`, ...secrets];
  assert.deepEqual(lab.requests, [...secrets, ...creates]);
  assert.deepEqual(await asked(), secrets);
  lab.follow();
  lab.secrets.kept.delete(AUTHORITY);
  const rotates = [...secrets, `create ${AUTHORITY}`, ...secrets, `patch ${SERVING}`];
  assert.deepEqual(await asked(), [...rotates, ...secrets, ...callers]);
  assert.deepEqual(await asked(), [...secrets, ...callers]);
  lab.leading = false;
  assert.deepEqual(await asked(), secrets);
  lab.leading = true;
  lab.follow();
  await keeper.advance(SIGNAL);
  lab.pass(SETTLE_MS);
  assert.deepEqual(await asked(), [...secrets, ...callers, `patch ${SERVING}`, ...secrets]);
  assert.deepEqual(await asked(), secrets);
});

test("knows its authority while the API server cannot be asked, also when it has expired meanwhile", async () => {
  const { lab, keeper } = await started();
  const { validFromDate, validToDate } = new X509Certificate(lab.secrets.get(AUTHORITY, "tls.crt"));
  lab.secrets.failure = new Error("the API server is away");
  lab.pass(AUTHORITY_LIFE_MS);
  await assert.rejects(keeper.advance(SIGNAL), /away/);
  const { notBefore, notAfter } = keeper.authority ?? {};
  assert.deepEqual([notBefore, notAfter], [validFromDate, validToDate]);
});

test("replicas that start at the same time agree on certificates, without a leader", async () => {
  const lab = new Lab();
  lab.leading = false;
  const replicas = [lab.keeper(), lab.keeper(), lab.keeper()];
  const pairs = await Promise.all(replicas.map(async (replica) => await replica.currentPair(SIGNAL)));
  const cert = lab.secrets.get(SERVING, "tls.crt");
  assert.deepEqual(
    pairs.map((pair) => pair.cert),
    [cert, cert, cert],
  );
  assert.ok(lab.leaf().verify(new X509Certificate(lab.secrets.get(AUTHORITY, "tls.crt")).publicKey));
  assert.deepEqual(lab.actions().toSorted(), ["CreateAuthority", "CreateServing"]);
});

test("renews in time, by the leader alone, under the same authority", async () => {
  const { lab, keeper } = await started();
  const [authority, first] = [lab.secrets.get(SERVING, "ca.crt"), lab.secrets.get(SERVING, "tls.crt")];
  lab.follow();
  lab.actions();
  lab.pass(LEAF_LIFE_MS * 0.67);
  lab.leading = false;
  await keeper.advance(SIGNAL);
  assert.equal(lab.secrets.get(SERVING, "tls.crt"), first);
  lab.leading = true;
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
  assert.notEqual(lab.secrets.get(SERVING, "tls.crt"), first);
  assert.equal(lab.secrets.get(SERVING, "ca.crt"), authority);
  assert.ok(lab.trusts());
});

test("a deleted authority is a rotation: published, trusted by all for a while, served, and alone a day later", async () => {
  const { lab, keeper } = await started();
  lab.follow();
  lab.secrets.kept.delete(AUTHORITY);
  lab.actions();
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["CreateAuthority", "PublishAuthority"]);
  const newestFirst = `${lab.secrets.get(AUTHORITY, "tls.crt")}${lab.clientBundle}`;
  assert.equal(lab.secrets.get(SERVING, "ca.crt"), newestFirst);
  assert.equal(parseCertificates(newestFirst).length, 2);
  assert.ok(lab.trusts());
  lab.pass(30 * 86_400_000);
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  assert.ok(lab.trusts());
  assert.equal(lab.warnings().length, 1);
  const said = lab.warnings().at(-1);
  assert.match(said?.message ?? "", /^Waiting until the new certificate authority is trusted/);
  assert.deepEqual(said?.fields["waitingFor"], ["extensionconfigs.runtime.cluster.x-k8s.io hookpolicy"]);
  lab.follow();
  await keeper.advance(SIGNAL);
  lab.pass(SETTLE_MS - 1);
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  lab.pass(1);
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
  assert.ok(lab.trusts());
  lab.pass(KEEP_OLD_AUTHORITY_MS);
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["DropOldAuthorities"]);
  assert.equal(lab.secrets.get(SERVING, "ca.crt"), lab.secrets.get(AUTHORITY, "tls.crt"));
  assert.ok(lab.trusts());
});

test("a client that falls back to the old authority during the wait restarts it", async () => {
  const { lab, keeper } = await started();
  lab.follow();
  const old = lab.clientBundle;
  lab.secrets.kept.delete(AUTHORITY);
  await keeper.advance(SIGNAL);
  lab.follow();
  await keeper.advance(SIGNAL);
  lab.clientBundle = old;
  lab.pass(SETTLE_MS);
  await keeper.advance(SIGNAL);
  lab.follow();
  await keeper.advance(SIGNAL);
  lab.actions();
  lab.pass(SETTLE_MS - 1);
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), []);
});

/** All callers trust the new authority, and the keeper has just seen it. */
async function waiting(): Promise<Started> {
  const { lab, keeper } = await started();
  lab.follow();
  lab.secrets.kept.delete(AUTHORITY);
  await keeper.advance(SIGNAL);
  lab.follow();
  await keeper.advance(SIGNAL);
  lab.actions();
  return { lab, keeper };
}

test("a new leader restarts the wait, because no replica has looked meanwhile", async () => {
  const { lab, keeper } = await waiting();
  lab.leading = false;
  await keeper.advance(SIGNAL);
  lab.pass(SETTLE_MS);
  lab.leading = true;
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  lab.pass(SETTLE_MS);
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
});

test("looks that fail do not count, and the wait begins again after them", async () => {
  for (const what of ["trust", "secrets"] as const) {
    const { lab, keeper } = await waiting();
    const failure = new Error("the API server is away");
    if (what === "trust") lab.trustFailure = failure;
    else lab.secrets.failure = failure;
    await assert.rejects(keeper.advance(SIGNAL), failure);
    lab.trustFailure = lab.secrets.failure = undefined;
    lab.pass(SETTLE_MS);
    await keeper.advance(SIGNAL);
    assert.deepEqual(lab.actions(), [], what);
    lab.pass(SETTLE_MS);
    await keeper.advance(SIGNAL);
    assert.deepEqual(lab.actions(), ["IssueLeaf"], what);
  }
});

test("another authority, published by another replica between two looks, restarts the wait", async () => {
  const { lab, keeper } = await waiting();
  lab.secrets.kept.delete(AUTHORITY);
  await lab.keeper().advance(SIGNAL);
  lab.follow();
  lab.pass(SETTLE_MS);
  lab.actions();
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), []);
  assert.ok(lab.trusts());
});

test("a serving certificate ends no later than its authority", async () => {
  const now = new Date();
  const authority = await createAuthority(new Date(now.getTime() - AUTHORITY_LIFE_MS + 86_400_000));
  const leaf = new X509Certificate((await issueLeaf(authority, NAMES, now)).cert);
  assert.deepEqual(leaf.validToDate, new X509Certificate(authority.cert).validToDate);
});

test("never swaps without having looked at who calls", async () => {
  const { lab, keeper } = await started();
  lab.secrets.kept.delete(AUTHORITY);
  lab.trustFailure = new Error("forbidden");
  const first = lab.secrets.get(SERVING, "tls.crt");
  await assert.rejects(keeper.advance(SIGNAL), /forbidden/);
  lab.pass(LEAF_LIFE_MS * 0.9);
  await assert.rejects(keeper.advance(SIGNAL), /forbidden/);
  assert.equal(lab.secrets.get(SERVING, "tls.crt"), first);
});

test("a crash before or after any write is continued by another process, and the client trusts what is served throughout", async () => {
  for (const when of ["beforeWrite", "afterWrite"] as const) {
    for (let crashAt = 1; crashAt <= 4; crashAt++) {
      const lab = new Lab();
      await lab.keeper().advance(SIGNAL);
      lab.follow();
      lab.secrets.kept.delete(AUTHORITY);
      let writes = 0;
      lab.secrets[when] = () => {
        writes += 1;
        if (writes === crashAt) throw new Error("crashed");
      };
      let keeper = lab.keeper();
      for (let look = 0; look < 8; look++) {
        await keeper.advance(SIGNAL).catch(() => (keeper = lab.keeper()));
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

test("other names are a new serving certificate at once", async () => {
  const lab = new Lab();
  await lab.keeper().advance(SIGNAL);
  lab.follow();
  await lab.keeper({ service: "other" }).advance(SIGNAL);
  assert.equal(lab.leaf().subjectAltName, "DNS:other.system.svc, DNS:other.system.svc.cluster.local");
  assert.ok(lab.trusts());
});

test("a foreign certificate is served, left alone, and reported once", async () => {
  const pair = await issue("theirs");
  for (const name of [SERVING, AUTHORITY]) {
    const lab = new Lab();
    lab.secrets.put(name, secretOf(pair), false);
    lab.secrets.beforeWrite = (written) => assert.fail(`wrote ${written}`);
    const keeper = lab.keeper();
    for (let look = 0; look < 3; look++) await keeper.advance(SIGNAL);
    assert.equal(lab.log.messages("warn").length, 1);
    if (name === AUTHORITY) return await assert.rejects(keeper.currentPair(SIGNAL), /was not read yet/);
    const { cert, key } = await keeper.currentPair(SIGNAL);
    assert.deepEqual({ cert, key }, pair);
  }
});

test("a failing API server is said once with its remedy, and tried again", async () => {
  const lab = new Lab();
  lab.secrets.failure = new KubeError("refused", { code: 403, reason: "Forbidden" });
  const keeper = lab.keeper();
  for (let look = 0; look < 3; look += 1)
    await assert.rejects(keeper.currentPair(SIGNAL), /was not read yet/);
  assert.equal(lab.log.messages("warn").length, 1);
  assert.match(String(lab.warnings()[0]?.fields["remedy"]), /^apply the Role and the ClusterRole/);
});

test("what another replica has stored is served even if this one cannot take its own step", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.currentPair(SIGNAL);
  lab.secrets.kept.delete(AUTHORITY);
  lab.trustFailure = new Error("forbidden");
  const { cert } = await keeper.currentPair(SIGNAL);
  assert.equal(cert, lab.secrets.get(SERVING, "tls.crt"));
  assert.deepEqual(lab.log.messages("warn"), ["Cannot look after the certificates"]);
});
