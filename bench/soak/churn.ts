/** The changes around the calls: edits, cuts, rotations. */

import type { Ref } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import {
  issueServingCertificate,
  type Operator,
  writeServingCertificate,
} from "../../test/controlplane/operator.ts";
import { policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import type { Proxy } from "../../test/controlplane/proxy.ts";
import { repeat } from "../calls/pace.ts";
import { inTurn } from "../fleet/fleet.ts";
import { type Lives, patiently } from "./lives.ts";
import { overrideRef, PASSING, passingOverride } from "./policies.ts";

export interface ChurnParts {
  readonly cp: ControlPlane;
  readonly proxy: Proxy;
  readonly operator: Operator;
  readonly lives: Lives;
  readonly namespaces: readonly string[];
  /** How many times as often everything happens. */
  readonly pace: number;
}

interface Change {
  readonly name: string;
  /** At the pace of ordinary life. */
  readonly everySeconds: number;
  /** `count`: how often it was made before. */
  readonly make: (parts: ChurnParts, count: number) => Promise<unknown>;
}

const CHANGES: readonly Change[] = [
  {
    name: "Clusters annotated",
    everySeconds: 2,
    make: async ({ lives }) => await lives.annotateOne(),
  },
  {
    name: "policies edited",
    everySeconds: 10,
    make: async ({ cp, namespaces }, count) => {
      const policy = policyRef(inTurn(namespaces, count), count % 2 === 0 ? "approved" : "computed");
      const { spec } = await cp.get(policy);
      const rules = spec.rules.map((rule: object) => ({ ...rule, message: `ask for number ${count}` }));
      await cp.patch(policy, { spec: { rules } });
    },
  },
  {
    name: "policies created and deleted",
    everySeconds: 30,
    make: async ({ cp, namespaces }, count) => {
      const ref = (number: number): Ref => policyRef(inTurn(namespaces, number), `passing-${number}`);
      await storePolicy(cp, ref(count), PASSING);
      if (count > 0) await cp.delete(ref(count - 1));
    },
  },
  {
    name: "overrides created, expired and deleted",
    everySeconds: 45,
    make: async ({ cp, lives, pace }, count) => {
      const life = lives.any();
      if (count > 0) await cp.delete(overrideRef(`passing-${count - 1}`));
      if (life !== undefined)
        await storePolicy(cp, overrideRef(`passing-${count}`), passingOverride(life.ref, pace));
    },
  },
  {
    name: "Namespaces labelled",
    everySeconds: 30,
    make: async ({ cp, namespaces }, count) => {
      const labels = { "soak.example.com/count": String(count) };
      await cp.patch(
        { apiVersion: "v1", kind: "Namespace", name: inTurn(namespaces, count) },
        { metadata: { labels } },
      );
    },
  },
  {
    name: "all connections to the API server cut",
    everySeconds: 60,
    make: async ({ proxy }) => {
      proxy.dropConnections();
      proxy.forget(); // or it remembers every request of the run
    },
  },
  {
    name: "watches answered 410, so that everything is listed again",
    everySeconds: 180,
    make: async ({ proxy }) => {
      proxy.failNext(410, /watch=1/, 5);
      proxy.dropConnections();
    },
  },
  {
    name: "serving certificates rotated",
    everySeconds: 120,
    make: async ({ cp, operator }) =>
      await writeServingCertificate(operator.certDir, await issueServingCertificate(cp)),
  },
];

/** How often each change was made, by its name. */
export type Counts = Map<string, number>;

/** Makes each change at its pace until `signal` aborts, and counts them. */
export async function churn(parts: ChurnParts, counts: Counts, signal: AbortSignal): Promise<void> {
  const running = CHANGES.map(async ({ name, everySeconds, make }) => {
    await repeat((everySeconds * 1000) / parts.pace, signal, async () => {
      const count = counts.get(name) ?? 0;
      counts.set(name, count + 1);
      await patiently(async () => await make(parts, count));
    });
  });
  await Promise.all(running);
}
