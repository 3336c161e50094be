/** What the operator's own store answers, and the audit log of that. */

import assert from "node:assert/strict";
import type { HookOverride } from "../../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../../src/api/meta.ts";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import { AuditLog } from "../../../../src/report/audit-log.ts";
import { AnswerLog } from "../../../../src/report/answer-log.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import { requestedOperation, type RequestedChange } from "../../../../src/operations/requested-operation.ts";
import { viewCluster } from "../../../../src/views/cluster.ts";
import { namespace } from "../../builders.ts";
import { passTo, silent, storeWith } from "../../memory/fixtures.ts";
import { CLUSTER } from "./suites.ts";

const HELD = {
  type: "TopologyReconciled",
  status: "False",
  message: "Following hooks are blocking upgrade: BeforeClusterUpgrade: …",
};

/** An operator that answers, and writes each answer that changes. */
export class Operator {
  readonly #fixture: ReturnType<typeof storeWith>;
  #metadata: Readonly<Record<string, unknown>> = CLUSTER.metadata;
  #version = 1;
  #lines: string[] = [];
  readonly #audit = new AuditLog({
    write: (line) => this.#lines.push(line),
    instance: "hookpolicy-0",
    log: silent,
  });
  readonly #answers = new AnswerLog({ log: silent, everyCall: false, audit: this.#audit });

  constructor(policies: readonly PolicyObject[], place = namespace()) {
    this.#fixture = storeWith({ policies: [...policies], clusters: [this.cluster] });
    this.#fixture.setNamespace(place);
  }

  get cluster() {
    const metadata = { ...this.#metadata, resourceVersion: String(this.#version) };
    return viewCluster({ ...CLUSTER, metadata, status: { conditions: [HELD] } });
  }

  change(metadata: object): this {
    this.#version += 1;
    this.#metadata = { ...this.#metadata, ...metadata };
    this.#fixture.setCluster(this.cluster);
    return this;
  }

  override(override: HookOverride): this {
    this.#fixture.setOverride(override);
    return this;
  }

  pass(minutes: number): this {
    for (let minute = 0; minute < minutes; minute += 1)
      passTo(this.#fixture, new Date(this.#fixture.clock.now.getTime() + 60_000));
    return this;
  }

  ask(call: HookCall): this {
    const { now } = this.#fixture.clock;
    const request = { call, cluster: this.cluster };
    const decision = this.#fixture.store.decider.ask(request, now);
    const { verdict, retryAfterSeconds, message } = decision;
    this.#answers.record(
      request,
      { verdict, answer: { status: "Success", retryAfterSeconds, message }, decision },
      now,
    );
    return this;
  }

  /** A request at admission, if a policy refuses it. */
  try(change: (cluster: Cluster) => RequestedChange): this {
    const { now } = this.#fixture.clock;
    const asked = change(this.cluster);
    const requested = requestedOperation(asked);
    assert.ok(requested);
    const decision = this.#fixture.store.decider.refusal({ ...requested, admission: true }, now);
    if (decision === undefined) return this;
    const { verdict } = decision;
    assert.ok(verdict === "Blocked" || verdict === "NotEvaluable");
    const denial = { code: 403, reason: "Forbidden", message: "cannot be deleted yet" } as const;
    const review = { uid: "r", username: "jane", dryRun: false, change: asked };
    this.#audit.refused({ review, requested, outcome: { verdict, denial, warnings: [], decision } }, now);
    return this;
  }

  get log(): string {
    return this.#lines.join("");
  }
}
