// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 does not load without it
import "reflect-metadata";

import assert from "node:assert/strict";
import { test } from "node:test";

import { X509Certificate } from "@peculiar/x509";

import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const LONG = `${"a".repeat(63)}.hookpolicy-system.svc`;
const authority = await createAuthority(NOW);
const leaf = await issueLeaf(authority, [LONG, "other.svc"], NOW);

const SUBJECT_KEY = "2.5.29.14";
const hex = (value: string): string => Buffer.from(value).toString("hex");

/** In order, with "critical" and the content in hexadecimal digits. */
function extensionsOf({ extensions }: X509Certificate): string[] {
  return Array.from(extensions, ({ type, critical, value }) =>
    [type, ...(critical ? ["critical"] : []), Buffer.from(value).toString("hex")].join(" "),
  );
}

/** Of 124 random bits, one of the first 60 is set: as good as certain. */
function isRandom({ serialNumber }: X509Certificate): boolean {
  const serial = BigInt(`0x${serialNumber}`);
  return serial >> 64n > 0n && serial >> 124n === 0n;
}

test("an authority signs itself and servers' certificates, and no other authority", async () => {
  const certificate = new X509Certificate(authority.cert);
  assert.equal(certificate.subject, `CN=hookpolicy-ca@${NOW.getTime()}`);
  assert.equal(certificate.issuer, certificate.subject);
  assert.ok(await certificate.isSelfSigned());
  assert.ok(isRandom(certificate));
  assert.deepEqual(
    [certificate.notBefore, certificate.notAfter].map((date) => date.toISOString()),
    ["2026-11-21T11:00:00.000Z", "2036-11-18T12:00:00.000Z"],
  );
  const [constraints, usage, subject, ...others] = extensionsOf(certificate);
  assert.deepEqual(
    [constraints, usage, others],
    ["2.5.29.19 critical 30060101ff020100", "2.5.29.15 critical 03020106", []],
  );
  assert.match(subject ?? "", /^2\.5\.29\.14 0414[0-9a-f]{40}$/);
});

test("a serving certificate is for servers of its names, and says who has signed it", () => {
  const certificate = new X509Certificate(leaf.cert);
  const signer = new X509Certificate(authority.cert);
  assert.equal(certificate.subject, `CN=${LONG.slice(0, 64)}`);
  assert.equal(certificate.issuer, signer.subject);
  assert.ok(isRandom(certificate));
  const keyOf = (of: X509Certificate): string =>
    extensionsOf(of)
      .find((each) => each.startsWith(SUBJECT_KEY))
      ?.slice(-40) ?? "";
  const names = `82${LONG.length.toString(16)}${hex(LONG)}8209${hex("other.svc")}`;
  assert.deepEqual(extensionsOf(certificate), [
    "2.5.29.19 critical 3000",
    "2.5.29.15 critical 03020780",
    "2.5.29.37 300a06082b06010505070301",
    `2.5.29.17 30${(names.length / 2).toString(16)}${names}`,
    `${SUBJECT_KEY} 0414${keyOf(certificate)}`,
    `2.5.29.35 30168014${keyOf(signer)}`,
  ]);
});
