import assert from "node:assert/strict";
import { test } from "node:test";

import * as fc from "fast-check";

import {
  AUTHORITY_LIFE_MS,
  BACKDATED_MS,
  issuedAt,
  KEEP_OLD_AUTHORITY_MS,
  LEAF_LIFE_MS,
  renewalOf,
  SETTLE_MS,
  type Validity,
  warningOf,
} from "../../../src/certificates/lifetime.ts";
import {
  type Action,
  type Leaf,
  needsLeader,
  nextAction,
  type CertificateState,
} from "../../../src/certificates/rotation.ts";
import { runs } from "../../generated.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const DAY_MS = 86_400_000;
const after = (ms: number): Date => new Date(NOW.getTime() + ms);

function validity(fingerprint: string, issued: Date, lifeMs: number): Validity {
  return {
    fingerprint,
    notBefore: new Date(issued.getTime() - BACKDATED_MS),
    notAfter: new Date(issued.getTime() + lifeMs),
  };
}

const authority = (fingerprint: string, issued = NOW): Validity =>
  validity(fingerprint, issued, AUTHORITY_LIFE_MS);
const leaf = (signer: string, issued = NOW): Leaf => ({
  ...validity("99:AA:BB:CC", issued, LEAF_LIFE_MS),
  signer,
});

const A = authority("0A:00:00:00");
const B = authority("0B:00:00:00");

function state(signs: Validity, served: Leaf, bundle: readonly Validity[]): CertificateState {
  return { authority: { certificate: signs }, serving: { leaf: served, bundle } };
}

const { signer: _, ...unsigned } = leaf("");
const ONLY_AUTHORITY: CertificateState = { authority: { certificate: A } };
const AT_REST = state(A, leaf(A.fingerprint), [A]);
const UNPUBLISHED = state(B, leaf(A.fingerprint), [A]);
const PUBLISHED = state(B, leaf(A.fingerprint), [B, A]);
const SWAPPED = state(B, leaf(B.fingerprint), [B, A]);
const trustedFor = (ms: number): CertificateState => ({ ...PUBLISHED, trustedSince: after(-ms) });
const CASES: Record<string, readonly [state: CertificateState, action: Action, at?: Date]> = {
  "nothing is stored": [{}, "CreateAuthority"],
  "the authority's Secret was deleted": [
    { serving: { leaf: leaf("0A:00:00:00"), bundle: [A] } },
    "CreateAuthority",
  ],
  "the authority's Secret holds no authority": [{ authority: {} }, "ReplaceAuthority"],
  "the authority is old": [AT_REST, "ReplaceAuthority", after(AUTHORITY_LIFE_MS * 0.67)],
  "there is an authority only": [ONLY_AUTHORITY, "CreateServing"],
  "all is well": [AT_REST, "None"],
  "the serving certificate cannot be used": [{ ...ONLY_AUTHORITY, serving: { bundle: [A] } }, "IssueLeaf"],
  "no published authority has signed the serving certificate": [
    { ...ONLY_AUTHORITY, serving: { leaf: unsigned, bundle: [A] } },
    "IssueLeaf",
  ],
  "the serving certificate is old": [AT_REST, "IssueLeaf", after(LEAF_LIFE_MS * 0.67)],
  "the serving certificate is of middle age": [AT_REST, "None", after(LEAF_LIFE_MS * 0.6)],
  "a new authority is not published": [UNPUBLISHED, "PublishAuthority"],
  "a new authority is published, and not all callers have seen it": [PUBLISHED, "AwaitTrust"],
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
};
for (const [name, [stored, action, at = NOW]] of Object.entries(CASES)) {
  test(`when ${name}: ${action}`, () => {
    assert.equal(nextAction(stored, at), action);
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
      const certificate = validity("00", NOW, lifeMs);
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
class World {
  now = NOW;
  authority: Validity | undefined;
  serving: { leaf: Leaf; bundle: Validity[] } | undefined;
  clientBundle: readonly Validity[] = [];
  trustedSince: Date | undefined;
  #made = 0;

  #fresh(lifeMs: number): Validity {
    this.#made += 1;
    return validity(this.#made.toString(16).padStart(8, "0"), this.now, lifeMs);
  }

  /** Whether the client, which trusts `clientBundle`, trusts what is served. */
  trusts(): boolean {
    const { leaf: served } = this.serving ?? {};
    return this.clientBundle.some(({ fingerprint }) => fingerprint === served?.signer);
  }

  step(): Action {
    this.#look();
    const action = nextAction(
      {
        ...(this.authority !== undefined && { authority: { certificate: this.authority } }),
        ...(this.serving !== undefined && { serving: this.serving }),
        ...(this.trustedSince !== undefined && { trustedSince: this.trustedSince }),
      },
      this.now,
    );
    this.#take(action);
    return action;
  }

  #look(): void {
    const trusts = this.clientBundle.some(({ fingerprint }) => fingerprint === this.authority?.fingerprint);
    this.trustedSince = trusts ? (this.trustedSince ?? this.now) : undefined;
  }

  #take(action: Action): void {
    if (action === "CreateAuthority" || action === "ReplaceAuthority") {
      this.authority = this.#fresh(AUTHORITY_LIFE_MS);
      this.trustedSince = undefined;
    }
    const { authority: signs, serving } = this;
    if (signs === undefined) return;
    const issued = (): Leaf => ({ ...this.#fresh(LEAF_LIFE_MS), signer: signs.fingerprint });
    const bundle = [signs, ...(serving?.bundle ?? [])].filter(
      (each, index, all) => all.findIndex(({ fingerprint }) => fingerprint === each.fingerprint) === index,
    );
    if (action === "CreateServing" || action === "IssueLeaf") this.serving = { leaf: issued(), bundle };
    if (serving === undefined) return;
    if (action === "PublishAuthority") this.serving = { ...serving, bundle };
    if (action === "DropOldAuthorities") this.serving = { ...serving, bundle: [signs] };
  }
}

type Move = "step" | "follow" | "crash" | "rotate" | { readonly wait: number };

const moves = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Move>("step") },
    { weight: 3, arbitrary: fc.constant<Move>("follow") },
    { weight: 1, arbitrary: fc.constant<Move>("crash") },
    { weight: 1, arbitrary: fc.constant<Move>("rotate") },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 2 * DAY_MS }).map((wait): Move => ({ wait })) },
  ),
  { maxLength: 120 },
);

function move(world: World, each: Move): void {
  if (each === "step") world.step();
  else if (each === "follow") world.clientBundle = world.serving?.bundle ?? world.clientBundle;
  else if (each === "crash") world.trustedSince = undefined;
  else if (each === "rotate") world.authority = undefined;
  else world.now = new Date(world.now.getTime() + each.wait);
}

test("a client that has once followed is never shown what it does not trust, in whatever order and with whatever crashes", () => {
  fc.assert(
    fc.property(moves, (list) => {
      const world = new World();
      while (world.step() !== "None");
      world.clientBundle = world.serving?.bundle ?? [];
      for (const each of list) {
        move(world, each);
        const ended = world.serving !== undefined && world.serving.leaf.notAfter <= world.now;
        if (ended) return; // who follows nothing for three months has to be left behind
        assert.ok(world.trusts(), `after ${JSON.stringify(each)}`);
      }
    }),
    runs(500),
  );
});

test("whatever happened, a client that follows brings every rotation to its end", () => {
  fc.assert(
    fc.property(moves, (list) => {
      const world = new World();
      for (const each of list) move(world, each);
      const end = issuedAt({ notBefore: world.now }).getTime() + 3 * DAY_MS;
      while (world.now.getTime() < end) {
        world.step();
        world.clientBundle = world.serving?.bundle ?? [];
        world.now = new Date(world.now.getTime() + 3_600_000);
      }
      assert.deepEqual(world.serving?.bundle, [world.authority]);
      assert.equal(world.serving?.leaf.signer, world.authority?.fingerprint);
      assert.equal(world.step(), "None");
    }),
    runs(300),
  );
});
