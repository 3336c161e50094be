/** Secrets with content that no client can trust: whatever happened to them, the next certificate is trusted. */

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";

import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";
import { LEAF_LIFE_MS } from "../../../src/certificates/lifetime.ts";
import type { SecretData } from "../../../src/certificates/secrets.ts";
import { issue } from "../server/certificates.ts";
import { AUTHORITY, Lab, NAMES, secretOf, SERVING, SIGNAL } from "./own-certificates-lab.ts";

test("replaces what is damaged in the operator's Secrets", async () => {
  const damages: Record<string, SecretData> = {
    "no key": { "tls.key": "" },
    "another key": { "tls.key": (await issue("other")).key },
    "no certificate": { "tls.crt": "nonsense" },
    "a foreign certificate": { ...secretOf(await issue("other")) },
    "no authorities": { "ca.crt": "" },
  };
  for (const [name, damage] of Object.entries(damages)) {
    const lab = new Lab();
    const keeper = lab.keeper();
    await keeper.advance(SIGNAL);
    lab.secrets.put(SERVING, { ...lab.secrets.kept.get(SERVING)?.data, ...damage });
    await keeper.advance(SIGNAL);
    lab.follow();
    assert.ok(lab.trusts(), name);
    assert.ok(lab.leaf().checkHost(NAMES[0]), name);
  }
});

test("a damaged authority is replaced, and rotated to", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.advance(SIGNAL);
  lab.follow();
  lab.secrets.put(AUTHORITY, secretOf(await issue("no authority")));
  lab.actions();
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["ReplaceAuthority", "PublishAuthority"]);
  assert.ok(lab.trusts());
});

test("replaces at once what was issued by a clock that was ahead", async () => {
  const lab = new Lab();
  await lab.keeper().advance(SIGNAL);
  const { now } = lab;
  lab.pass(LEAF_LIFE_MS * 0.7);
  const keeper = lab.keeper();
  await keeper.advance(SIGNAL);
  lab.follow();
  lab.now = now;
  lab.actions();
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
  assert.ok(lab.leaf().validFromDate <= now && lab.trusts());
});

test("an authority of a clock that was ahead is replaced with its serving certificate at once", async () => {
  const lab = new Lab();
  const { now } = lab;
  lab.pass(LEAF_LIFE_MS);
  const keeper = lab.keeper();
  await keeper.advance(SIGNAL);
  lab.now = now;
  lab.actions();
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["ReplaceAuthority", "IssueLeaf"]);
  const authority = new X509Certificate(lab.secrets.get(AUTHORITY, "tls.crt"));
  assert.ok(authority.validFromDate <= now && lab.leaf().verify(authority.publicKey));
});

test("replaces at once a serving certificate whose authority is not valid yet", async () => {
  const lab = new Lab();
  const keeper = lab.keeper();
  await keeper.advance(SIGNAL);
  const signer = await createAuthority(new Date(lab.now.getTime() + LEAF_LIFE_MS));
  lab.secrets.put(SERVING, { ...secretOf(await issueLeaf(signer, NAMES, lab.now)), "ca.crt": signer.cert });
  lab.actions();
  await keeper.advance(SIGNAL);
  assert.deepEqual(lab.actions(), ["IssueLeaf"]);
});
