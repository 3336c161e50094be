/** Client certificates that --client-ca-file does not vouch for, shown to an operator that has the flag. */

import {
  type CertificateAuthority,
  createCertificateAuthority,
  type KeyPair,
} from "../controlplane/certificates.ts";
import { startOperator } from "../controlplane/operator.ts";
import { post } from "../controlplane/post.ts";
import { type Attack, repeated } from "./attack.ts";
import type { Tally } from "./tally.ts";
import { seedOf, type Target } from "./target.ts";
import { judge } from "./verdict.ts";

const COMMON_NAME = "capi-controller-manager";
const REFUSED = /"status":"Failure","message":"the call has no client certificate/;

export const strangers: Attack = {
  id: "strangers",
  title: "client certificates of another authority, of one with the same name, expired, or none",
  run: async (target, scale, tally) => {
    const flags = { "client-ca-file": target.cp.caFile, "client-cn": COMMON_NAME };
    const operator = await startOperator(target.cp, { name: "hookpolicy-clients", flags });
    const guarded = { ...target, operator, port: operator.ports.webhook };
    try {
      const shown = await certificates(target.cp.authority);
      await repeated(scale, async () => {
        for (const each of Object.entries(shown)) await showAll(guarded, each, tally);
      });
    } finally {
      await operator.daemon.stop();
    }
  },
};

async function certificates(own: CertificateAuthority): Promise<Record<string, KeyPair | undefined>> {
  const [other, namesake] = await Promise.all([
    createCertificateAuthority("another CA"),
    createCertificateAuthority(),
  ]);
  const commonName = COMMON_NAME;
  return {
    none: undefined,
    "of another authority": await other.issue({ commonName }),
    "of an authority with the same name": await namesake.issue({ commonName }),
    expired: await own.issue({ commonName, validMs: -60_000 }),
    "of another client": await own.issue({ commonName: "somebody" }),
  };
}

/** Every hook is refused; discovery is answered, because Cluster API would not start without. */
async function showAll(
  target: Target,
  [name, pair]: readonly [string, KeyPair | undefined],
  tally: Tally,
): Promise<void> {
  const discovery = target.seeds.find(({ route }) => route.kind === "discovery");
  for (const seed of [
    seedOf(target, "BeforeClusterDelete"),
    seedOf(target, "BeforeClusterCreate"),
    discovery,
  ]) {
    if (seed === undefined) continue;
    const { port, ca } = target;
    const shown = pair === undefined ? {} : { cert: pair.certificate, key: pair.key };
    const { route, body } = seed;
    const request = { port, ca, path: route.path, body, agent: false, servername: "localhost", ...shown };
    const { text: said } = await post(request);
    const isHook = seed.route.kind === "hook";
    if (isHook && !REFUSED.test(said)) tally.wrong("invalid", `certificate ${name} was accepted: ${said}`);
    else judge(tally, seed.route, { status: 200, text: said }, `certificate ${name}`);
  }
}
