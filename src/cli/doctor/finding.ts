/** The evidence of `hookpolicy doctor`, and what findings are, with their remedies. */

import { messageOf } from "../../lib/thrown.ts";
import type { Cluster } from "../../api/meta.ts";
import type { Registration } from "../../registration/registration.ts";
import { isForbidden, isNotFound, isUnreachable } from "../../kube/kube-error.ts";
import type { TaskRecord } from "../../policy/tasks/task-record.ts";
import type { Fleet, FleetOptions, FleetPolicy } from "../fleet/fleet.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { Advice } from "../terminal/printed-command.ts";

export const STATES = ["ok", "warning", "error", "unknown"] as const;
export type State = (typeof STATES)[number];

export interface Finding<Remedy = Advice> {
  readonly state: State;
  readonly detail: string;
  /** A command, or the field to change, for a check that is not ok. */
  readonly remedy?: Remedy;
  /** One for each object, where each has its own remedy. */
  readonly problems?: readonly Problem<Remedy>[];
}

export interface Problem<Remedy = Advice> {
  readonly detail: string;
  readonly remedy: Remedy;
}

export interface Check extends Finding<string> {
  readonly name: string;
}

export type ReadResult<T> = { readonly ok: true; readonly value: T } | FailedRead;

interface FailedRead {
  readonly ok: false;
  /** A definite answer of the API server: it does not exist, or the user may not read it. */
  readonly why: "NotFound" | "Forbidden" | "Failed";
  readonly message: string;
}

/** Everything that was read from the API server, once. */
export interface Evidence {
  readonly serverVersion: string;
  /** HookPolicy's CustomResourceDefinitions, by kind. */
  readonly definitions: ReadonlyMap<string, ReadResult<RawObject>>;
  readonly deployments: ReadResult<readonly RawObject[]>;
  /** That the leader's last sign of life is old; absent: it runs, or that is unknown. */
  readonly operatorSilence?: string | undefined;
  /** The providers that clusterctl has installed. */
  readonly providers: ReadResult<readonly RawObject[]>;
  /** The core provider that the Cluster API Operator has installed. */
  readonly coreProviders: ReadResult<readonly RawObject[]>;
  readonly clusterDefinition: ReadResult<RawObject>;
  readonly registrations: ReadResult<readonly Registration[]>;
  /** Whether Cluster API lets an ExtensionConfig be created (a dry run): its webhook does not while RuntimeSDK is off. */
  readonly creation: ReadResult<boolean>;
  /** PEM by key, of the Secrets that belong to ExtensionConfigs: by namespace and name. */
  readonly secrets: ReadonlyMap<string, ReadResult<Readonly<Record<string, string>>>>;
  /** HookPolicy's ValidatingWebhookConfiguration. */
  readonly webhook: ReadResult<RawObject>;
  /** The one for Clusters, which need not be installed. */
  readonly clusterWebhook: ReadResult<RawObject>;
  /** The EndpointSlices of the Service that it names; NotFound if it names none. */
  readonly clusterEndpoints: ReadResult<readonly RawObject[]>;
  /** HookPolicy's ValidatingAdmissionPolicy of deletions in the foreground. */
  readonly foregroundPolicy: ReadResult<RawObject>;
  readonly policyBindings: ReadResult<readonly RawObject[]>;
  readonly policies: ReadResult<readonly RawObject[]>;
  readonly overrides: ReadResult<readonly RawObject[]>;
  /** Empty if the CRD of HookRollouts is missing. */
  readonly rollouts: ReadResult<readonly RawObject[]>;
  readonly clusters: ReadResult<readonly RawObject[]>;
  readonly namespaces: ReadResult<readonly RawObject[]>;
  /** What the operator needs; empty if no Deployment of it is found. */
  readonly rights: readonly OperatorRight[];
  /** For each kind that gates look at, such as "backups.velero.io": the verbs that the operator lacks. */
  readonly grants: readonly {
    readonly resource: string;
    readonly missing: ReadResult<readonly string[]>;
  }[];
  /** As which the tasks of policies act. */
  readonly taskAccounts: readonly ExaminedAccount[];
  /** None if the CRD of HookTasks is missing. */
  readonly hookTasks: ReadResult<readonly TaskRecord[]>;
  /** Whether the operator lacks the right to see that control planes and infrastructures are being deleted. */
  readonly ownedUnseen: boolean;
}

export interface OperatorRight {
  /** Such as "get secrets named a". */
  readonly title: string;
  /** The effect of its lack. */
  readonly without: string;
  /** Of manifests/, which grants it. */
  readonly file: string;
  readonly granted: ReadResult<boolean>;
}

export interface ExaminedAccount {
  readonly namespace: string;
  readonly name: string;
  readonly policies: readonly string[];
  readonly exists: ReadResult<boolean>;
  /** Whether the operator may impersonate it. */
  readonly optedIn: ReadResult<boolean>;
  readonly rights: readonly TaskRight[];
}

export interface TaskRight {
  /** "jobs.batch" */
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Those with a task for this kind. */
  readonly policies: readonly string[];
  /** "": the kind has no namespaces. `undefined`: an expression says where; then `missing` is about all namespaces. */
  readonly namespace: string | undefined;
  readonly missing: ReadResult<readonly string[]>;
}

/** As the flags of the operator say. */
export interface Settings extends Pick<FleetOptions, "now" | "served" | "maxOverrideMs"> {
  /** The Cluster API that the user says is installed, such as "1.13". */
  readonly toldCapi?: string | undefined;
  /** Name of the Service that callers use: it identifies HookPolicy's ExtensionConfig. */
  readonly serviceName: string;
}

export interface DoctorInput extends Evidence, Settings {
  /** Of all policies, overrides, rollouts, Clusters and Namespaces that were read. */
  readonly fleet: Fleet;
  readonly matches: ReadonlyMap<FleetPolicy, readonly Cluster[]>;
}

export const ok = (detail: string): Finding => ({ state: "ok", detail });
export const warning = (detail: string, remedy: Advice): Finding => ({ state: "warning", detail, remedy });
export const error = (detail: string, remedy: Advice): Finding => ({ state: "error", detail, remedy });
export const unknown = (detail: string, remedy: Advice): Finding => ({ state: "unknown", detail, remedy });

/** An unreachable API server ends the command. */
export async function read<T>(work: Promise<T>): Promise<ReadResult<T>> {
  try {
    return { ok: true, value: await work };
  } catch (failure) {
    if (isUnreachable(failure)) throw failure;
    const why = isNotFound(failure) ? "NotFound" : isForbidden(failure) ? "Forbidden" : "Failed";
    return { ok: false, why, message: messageOf(failure) };
  }
}

export function isAbsent(result: ReadResult<unknown>): boolean {
  return !result.ok && result.why === "NotFound";
}

export class UndecidedError extends Error {
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(finding.detail);
    this.finding = finding;
  }
}

/** What a check cannot do without: if it was not read, the check is unknown, with a remedy for the cause. */
export function known<T>(result: ReadResult<T>): T {
  if (result.ok) return result.value;
  throw new UndecidedError(unknown(result.message, READ_REMEDIES[result.why]));
}

const READ_REMEDIES: Readonly<Record<FailedRead["why"], string>> = {
  Forbidden: "run it as a user who may read that",
  NotFound: "the API server does not serve that: do first what the checks above say",
  Failed: "run it again: the API server could not answer that",
};

/** What the check finds, or why it is not decided. */
export function judged(look: () => Finding): Finding {
  try {
    return look();
  } catch (failure) {
    if (failure instanceof UndecidedError) return failure.finding;
    throw failure;
  }
}

/** Objects with a problem each; `undefined`: none. Where only one remedy is shown, it is that of the first. */
export function problems(
  state: "error" | "warning",
  all: readonly Problem[],
  detail: (count: number) => string,
): Finding | undefined {
  const [first] = all;
  return first && { state, detail: detail(all.length), remedy: first.remedy, problems: all };
}

/** What one check has found: nothing hides the rest. `undefined`: nothing. */
export function together(findings: readonly (Finding | undefined)[]): Finding | undefined {
  const all = findings.filter((each) => each !== undefined).toSorted(worse);
  const [worst, another] = all;
  if (worst === undefined || another === undefined) return worst;
  // What follows the colon is in the list.
  const detail = all.map((each) => each.detail.replace(/: .*$/s, "")).join("; ");
  const listed = all.flatMap((each) => each.problems ?? [{ detail: each.detail, remedy: each.remedy ?? "" }]);
  return { ...worst, detail, problems: listed };
}

const WORST_FIRST: readonly State[] = ["error", "warning", "unknown", "ok"];

export function worse(a: Finding, b: Finding): number {
  return WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state);
}
