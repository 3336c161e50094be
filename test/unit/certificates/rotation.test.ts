import assert from "node:assert/strict";
import { test } from "node:test";

import * as fc from "fast-check";

import { createAuthority, issueLeaf } from "../../../src/certificates/issue.ts";
import {
  AUTHORITY_LIFE_MS,
  BACKDATED_MS,
  KEEP_OLD_AUTHORITY_MS,
  LEAF_LIFE_MS,
  renewalOf,
  SETTLE_MS,
  warningOf,
} from "../../../src/certificates/lifetime.ts";
import type { OwnCertificates } from "../../../src/certificates/own-certificates.ts";
import { isSignedBy, parseCertificates } from "../../../src/certificates/pem.ts";
import {
  needsLeader,
  nextAction,
  type Action,
  type StoredCertificates,
} from "../../../src/certificates/rotation.ts";
import type { StoredSecret } from "../../../src/certificates/secrets.ts";
import type { KeyPair } from "../../../src/server/tls-server.ts";
import { runs } from "../../generated.ts";
import { issue } from "../server/certificates.ts";
import { AUTHORITY, Lab, NAMES, secretOf, SERVING, SIGNAL } from "./own-certificates-lab.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const after = (ms: number): Date => new Date(NOW.getTime() + ms);

const [A, B] = [await createAuthority(NOW), await createAuthority(after(1000))];
const [AHEAD, OLD] = [
  await createAuthority(after(DAY_MS)),
  await createAuthority(after(-0.6 * AUTHORITY_LIFE_MS)),
];
const leafOf = async (signer: KeyPair, issued = NOW): Promise<KeyPair> =>
  await issueLeaf(signer, NAMES, issued);
const [OF_A, OF_B, OF_AHEAD] = [await leafOf(A), await leafOf(B), await leafOf(AHEAD)];

interface Situation extends Partial<StoredCertificates> {
  readonly trustedSince?: Date;
}

function nextOf({ authority, serving, trustedSince }: Situation, now: Date): Action {
  return nextAction({ authority, serving }, NAMES, { now, trustedSince });
}

function secret(pair: KeyPair, bundle?: readonly KeyPair[]): StoredSecret {
  const ca = bundle && { "ca.crt": bundle.map(({ cert }) => cert).join("") };
  return { uid: "u", resourceVersion: "1", ours: true, data: { ...secretOf(pair), ...ca } };
}

function stored(signs: KeyPair, served: KeyPair, bundle: readonly KeyPair[]): Situation {
  return { authority: secret(signs), serving: secret(served, bundle) };
}

/** With the last bit of the signature flipped. */
function forged({ cert, key }: KeyPair): KeyPair {
  const [certificate] = parseCertificates(cert);
  const der = Buffer.from(certificate?.raw ?? "");
  der[der.length - 1]! ^= 1;
  const lines = der.toString("base64").replace(/.{64}/g, "$&\n");
  return { cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`, key };
}

const ONLY_AUTHORITY: Situation = { authority: secret(A) };
const AT_REST = stored(A, OF_A, [A]);
const UNPUBLISHED = stored(B, OF_A, [A]);
const PUBLISHED = stored(B, OF_A, [B, A]);
const SWAPPED = stored(B, OF_B, [B, A]);
const signing = (pair: KeyPair): Situation => ({ ...AT_REST, authority: secret(pair) });
const serves = (pair: KeyPair, bundle = [A]): Situation => stored(A, pair, bundle);
const trustedFor = (ms: number): Situation => ({ ...PUBLISHED, trustedSince: after(-ms) });
const CASES: Record<string, readonly [situation: Situation, action: Action, at?: Date]> = {
  "nothing is stored": [{}, "CreateAuthority"],
  "the authority's Secret was deleted": [{ serving: secret(OF_A, [A]) }, "CreateAuthority"],
  "the authority's Secret holds no certificate": [signing({ ...A, cert: "nonsense" }), "ReplaceAuthority"],
  "the authority's Secret holds no key": [signing({ ...A, key: "" }), "ReplaceAuthority"],
  "the authority's Secret holds another key": [signing({ ...A, key: B.key }), "ReplaceAuthority"],
  "the authority's Secret holds a serving certificate": [signing(OF_A), "ReplaceAuthority"],
  "the authority's Secret holds a certificate that has signed itself, and may sign no other": [
    signing(await issue("server", { notBefore: after(-HOUR_MS), notAfter: after(AUTHORITY_LIFE_MS) })),
    "ReplaceAuthority",
  ],
  "the authority has not signed itself": [signing(forged(A)), "ReplaceAuthority"],
  "the authority is not valid yet": [signing(AHEAD), "ReplaceAuthority"],
  "the authority is old": [AT_REST, "ReplaceAuthority", after(AUTHORITY_LIFE_MS * 0.67)],
  "the authority has expired": [AT_REST, "ReplaceAuthority", after(AUTHORITY_LIFE_MS)],
  "the authority is old, and there is nothing else": [
    ONLY_AUTHORITY,
    "ReplaceAuthority",
    after(AUTHORITY_LIFE_MS * 0.67),
  ],
  "the authority is of middle age, and has not been published": [signing(OLD), "PublishAuthority"],
  "there is an authority only": [ONLY_AUTHORITY, "CreateServing"],
  "all is well": [AT_REST, "None"],
  "there is no serving certificate in its Secret": [serves({ ...OF_A, cert: "" }), "IssueLeaf"],
  "the serving certificate has another key": [serves({ ...OF_A, key: OF_B.key }), "IssueLeaf"],
  "the serving certificate lacks a name": [serves(await issueLeaf(A, [NAMES[0]], NOW)), "IssueLeaf"],
  "the serving certificate is not valid yet": [serves(await leafOf(A, after(DAY_MS))), "IssueLeaf"],
  "no authority is published": [serves(OF_A, []), "IssueLeaf"],
  "no published authority has signed the serving certificate": [serves(OF_A, [B]), "IssueLeaf"],
  "the serving certificate is signed by no authority": [serves(forged(OF_A)), "IssueLeaf"],
  "the authority of the serving certificate is not valid yet": [serves(OF_AHEAD, [A, AHEAD]), "IssueLeaf"],
  "the serving certificate is old": [AT_REST, "IssueLeaf", after(LEAF_LIFE_MS * 0.67)],
  "the serving certificate is of middle age": [AT_REST, "None", after(LEAF_LIFE_MS * 0.6)],
  "a new authority is not published": [UNPUBLISHED, "PublishAuthority"],
  "a new authority is not published, and the serving certificate is old": [
    UNPUBLISHED,
    "PublishAuthority",
    after(LEAF_LIFE_MS * 0.9),
  ],
  "a new authority is not published, and the serving certificate cannot be used": [
    stored(B, { ...OF_A, key: "" }, [A]),
    "IssueLeaf",
  ],
  "a new authority is not published, and the serving certificate has expired": [
    UNPUBLISHED,
    "IssueLeaf",
    after(LEAF_LIFE_MS),
  ],
  "a new authority is published, and not all callers have seen it": [PUBLISHED, "AwaitTrust"],
  "a new authority is published behind the old one": [stored(B, OF_A, [A, B]), "AwaitTrust"],
  "all callers have just come to trust the new authority": [trustedFor(SETTLE_MS - 1), "AwaitTrust"],
  "all callers have trusted the new authority for a while": [trustedFor(SETTLE_MS), "IssueLeaf"],
  "the serving certificate is old, and not all callers trust the new authority": [
    PUBLISHED,
    "AwaitTrust",
    after(LEAF_LIFE_MS * 0.9),
  ],
  "the serving certificate has expired, and not all callers trust the new authority": [
    PUBLISHED,
    "IssueLeaf",
    after(LEAF_LIFE_MS),
  ],
  "the serving certificate was swapped": [SWAPPED, "None", after(KEEP_OLD_AUTHORITY_MS - 1)],
  "the serving certificate was swapped a day ago": [
    SWAPPED,
    "DropOldAuthorities",
    after(KEEP_OLD_AUTHORITY_MS),
  ],
  "the serving certificate was swapped long ago": [SWAPPED, "IssueLeaf", after(LEAF_LIFE_MS * 0.67)],
};
for (const [name, [situation, action, at = NOW]] of Object.entries(CASES)) {
  test(`when ${name}: ${action}`, () => {
    assert.equal(nextOf(situation, at), action);
  });
}

test("only what creates a Secret needs no leader", () => {
  const free = Object.values(CASES)
    .map(([, action]) => action)
    .filter((action) => !needsLeader(action));
  assert.deepEqual(new Set(free), new Set(["CreateAuthority", "CreateServing"]));
});

test("renewal comes at two thirds of the life, and before the warning", () => {
  fc.assert(
    fc.property(fc.integer({ min: 60_000, max: AUTHORITY_LIFE_MS }), (lifeMs) => {
      const certificate = { notBefore: after(-BACKDATED_MS), notAfter: after(lifeMs) };
      const { notBefore, notAfter } = certificate;
      const part = (at: Date): number =>
        (at.getTime() - notBefore.getTime()) / (notAfter.getTime() - notBefore.getTime());
      assert.ok(part(renewalOf(certificate)) > 0.666 && part(renewalOf(certificate)) < 0.667);
      assert.ok(warningOf(certificate) > renewalOf(certificate) && warningOf(certificate) < notAfter);
    }),
    runs(100),
  );
});

/** The API server, one ExtensionConfig that follows ca.crt or not, and the leader; time only passes. */
class World extends Lab {
  #keeper: OwnCertificates = this.keeper();

  async step(): Promise<void> {
    await this.#keeper.advance(SIGNAL).catch((error: unknown) => {
      assert.equal(error, CRASH);
      this.#keeper = this.keeper();
    });
  }

  async move(each: Move): Promise<void> {
    if (each === "step") await this.step();
    else if (each === "follow") this.follow();
    else if (each === "crash") this.#keeper = this.keeper();
    else if (each === "crash after a write") this.secrets.afterWrite = () => this.#crash();
    else if (each === "rotate") this.secrets.kept.delete(AUTHORITY);
    else this.pass(each.wait);
  }

  #crash(): void {
    this.secrets.afterWrite = () => undefined;
    throw CRASH;
  }
}

type Move = "step" | "follow" | "crash" | "crash after a write" | "rotate" | { readonly wait: number };

const CRASH = new Error("crashed");

const moves = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Move>("step") },
    { weight: 3, arbitrary: fc.constant<Move>("follow") },
    { weight: 1, arbitrary: fc.constantFrom<Move>("crash", "crash after a write") },
    { weight: 1, arbitrary: fc.constant<Move>("rotate") },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 2 * DAY_MS }).map((wait): Move => ({ wait })) },
  ),
  { maxLength: 120 },
);

test("a client that has once followed is never shown what it does not trust, in whatever order and with whatever crashes", async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (list) => {
      const world = new World();
      await world.step();
      world.follow();
      for (const each of list) {
        await world.move(each);
        if (world.leaf().validToDate <= world.now) return; // who follows nothing for three months has to be left behind
        assert.ok(world.trusts(), `after ${JSON.stringify(each)}`);
      }
    }),
    runs(500),
  );
});

test("whatever happened, a client that follows brings every rotation to its end", async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (list) => {
      const world = new World();
      for (const each of list) await world.move(each);
      const end = world.now.getTime() + 3 * DAY_MS;
      while (world.now.getTime() < end) {
        await world.step();
        world.follow();
        world.pass(6 * HOUR_MS);
      }
      assert.equal(world.secrets.get(SERVING, "ca.crt"), world.secrets.get(AUTHORITY, "tls.crt"));
      const [authority] = parseCertificates(world.secrets.get(AUTHORITY, "tls.crt"));
      assert.ok(authority && isSignedBy(world.leaf(), authority));
      world.actions();
      await world.step();
      assert.deepEqual(world.actions(), []);
    }),
    runs(300),
  );
});
