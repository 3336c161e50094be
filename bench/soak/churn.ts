/** What goes on around the calls: edits, cuts, rotations. */

import type { Ref } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import {
  issueServingCertificate,
  type Operator,
  writeServingCertificate,
} from "../../test/controlplane/operator.ts";
import { policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import type { Proxy } from "../../test/controlplane/proxy.ts";
import { type Lives, patiently, refOf } from "./lives.ts";
import { overrideRef, PASSING, passingOverride } from "./policies.ts";

export interface ChurnParts {
  readonly cp: ControlPlane;
  /** Between the operator and the API server. */
  readonly proxy: Proxy;
  readonly operator: Operator;
  readonly lives: Lives;
  readonly namespaces: readonly string[];
}

interface Disturbance {
  readonly name: string;
  readonly everySeconds: number;
  /** `count`: how often it was done before. */
  readonly run: (parts: ChurnParts, count: number) => Promise<unknown>;
}

const WATCH = /watch=1/;

const DISTURBANCES: readonly Disturbance[] = [
  {
    name: "Clusters annotated",
    everySeconds: 2,
    run: async ({ lives }) => {
      const life = lives.any();
      if (life !== undefined) await lives.touch(life);
    },
  },
  {
    name: "policies edited",
    everySeconds: 10,
    run: async ({ cp, namespaces }, count) => {
      const namespace = namespaces[count % namespaces.length] ?? "";
      const policy = policyRef(namespace, count % 2 === 0 ? "approved" : "computed");
      const { spec } = await cp.get(policy);
      const rules = spec.rules.map((rule: object) => ({ ...rule, message: `ask for number ${count}` }));
      await cp.patch(policy, { spec: { rules } });
    },
  },
  {
    name: "policies created and deleted",
    everySeconds: 30,
    run: async ({ cp, namespaces }, count) => {
      const ref = (index: number): Ref =>
        policyRef(namespaces[index % namespaces.length] ?? "", `passing-${index}`);
      await storePolicy(cp, ref(count), PASSING);
      if (count > 0) await cp.delete(ref(count - 1));
    },
  },
  {
    name: "overrides created, expired and deleted",
    everySeconds: 45,
    run: async ({ cp, lives }, count) => {
      const life = lives.any();
      if (count > 0) await cp.delete(overrideRef(`passing-${count - 1}`));
      if (life === undefined) return;
      await storePolicy(cp, overrideRef(`passing-${count}`), passingOverride(refOf(life)));
    },
  },
  {
    name: "Namespaces labelled",
    everySeconds: 30,
    run: async ({ cp, namespaces }, count) => {
      const name = namespaces[count % namespaces.length] ?? "";
      const labels = { "soak.example.com/count": String(count) };
      await cp.patch({ apiVersion: "v1", kind: "Namespace", name }, { metadata: { labels } });
    },
  },
  {
    name: "all connections to the API server cut",
    everySeconds: 60,
    run: async ({ proxy }) => {
      proxy.dropConnections();
      proxy.forget(); // it counts requests for ever
    },
  },
  {
    name: "watches answered 410, so that everything is listed again",
    everySeconds: 180,
    run: async ({ proxy }) => {
      proxy.failNext(410, WATCH, 5);
      proxy.dropConnections();
    },
  },
  {
    name: "serving certificates rotated",
    everySeconds: 120,
    run: async ({ cp, operator }) => {
      await writeServingCertificate(operator.certDir, await issueServingCertificate(cp));
    },
  },
];

export class Churn {
  readonly #parts: ChurnParts;
  readonly #begun = performance.now();
  readonly #done = new Map(DISTURBANCES.map(({ name }) => [name, 0]));

  constructor(parts: ChurnParts) {
    this.#parts = parts;
  }

  /** "policies edited" → how often. */
  get counts(): ReadonlyMap<string, number> {
    return this.#done;
  }

  /** Does what is due; call it often. */
  async advance(): Promise<void> {
    const seconds = (performance.now() - this.#begun) / 1000;
    for (const { name, everySeconds, run } of DISTURBANCES) {
      const count = this.#done.get(name) ?? 0;
      if (seconds < (count + 1) * everySeconds) continue;
      this.#done.set(name, count + 1);
      await patiently(() => run(this.#parts, count));
    }
  }
}
