/** Checks what the statuses of policies say, and which overrides lift them. */

import { conditionOf } from "../../api/meta.ts";
import { counted } from "../../lib/counted.ts";
import { APPLY_CRDS } from "../../api/crd-fields.ts";
import { CONDITION, REASON } from "../../api/hook-policy.ts";
import type { Override } from "../../policy/world.ts";
import { timestamp } from "../../lib/instant.ts";
import { type Fleet, type FleetPolicy, nameOf } from "../fleet/fleet.ts";
import { heldBy } from "../fleet/held.ts";
import { findTearDowns } from "../fleet/teardown.ts";
import { failedCall } from "../fleet/caveats.ts";
import { type RawObject } from "../fleet/kinds.ts";
import { namespacedName } from "../../lib/keys.ts";
import { clusterKey, viewMetadata } from "../../views/cluster.ts";
import { ASSUMED, lookAtPods, operator, operators } from "./check-install.ts";
import { trust } from "./check-certificates.ts";
import { firstNames } from "../../lib/first-names.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";
import {
  error,
  type DoctorInput,
  type Finding,
  judged,
  known,
  ok,
  type Problem,
  problems,
  together,
  unknown,
  warning,
} from "./finding.ts";

export function ready(examined: DoctorInput): Finding {
  const { policies, deployments, fleet } = examined;
  known(policies);
  if (fleet.policies.length === 0) return withoutPolicies(fleet);
  const bad = problems("error", fleet.policies.flatMap(notReady), (n) => `${counted(n, "policy")} not Ready`);
  if (bad !== undefined) return bad;
  const all = counted(fleet.policies.length, "policy");
  const gone = fleet.policies.filter(
    (each) => conditionOf(each, CONDITION.Ready)?.reason === REASON.OperatorGone,
  );
  if (gone.length > 0) {
    const detail = `prepare-uninstall has stopped the operator, which holds nothing any more for ${counted(gone.length, "policy")}: ${firstNames(gone.map(nameOf))}`;
    return error(detail, "do what the check operator says, or delete the policies");
  }
  if (deployments.ok && !operators(examined).some(({ available }) => available > 0)) {
    const detail = `${all}, whose statuses are old: no replica of the operator runs`;
    return unknown(detail, "do first what the check operator says");
  }
  const unseen = fleet.policies.filter(
    ({ compiled, status }) => (status.observedGeneration ?? -1) < compiled.generation,
  );
  if (unseen.length > 0) {
    const { namespace, name } = operators(examined)[0] ?? ASSUMED;
    return error(
      `the operator has not looked at ${firstNames(unseen.map(nameOf))}`,
      run(`kubectl logs -n ${namespace} deployment/${name}`),
    );
  }
  const isKnown = deployments.ok ? "" : " by their statuses; whether the operator runs is not known";
  return ok(`${all}, all Ready${isKnown}${heldNote(examined)}`);
}

function heldNote({ policies, rollouts }: DoctorInput): string {
  const objects = [policies, rollouts].flatMap((each) => (each.ok ? each.value : []));
  const { held, omitted } = heldBy(objects);
  const clusters = new Set(held.map(({ row }) => row.clusterUID));
  if (clusters.size === 0) return "";
  return `; ${omitted.length > 0 ? "at least " : ""}${counted(clusters.size, "Cluster")} held (get -A lists them)`;
}

function withoutPolicies({ rollouts }: Fleet): Finding {
  return rollouts.some(({ compiled }) => compiled.mode === "Enforce")
    ? ok("there is no policy: only HookRollouts hold Clusters")
    : warning("there is no policy: nothing is held", run("hookpolicy init"));
}

function notReady(policy: FleetPolicy): Problem[] {
  const { status, reason = "", message } = conditionOf(policy, CONDITION.Ready) ?? {};
  if (status === undefined || status === "True" || reason === REASON.OperatorGone) return [];
  const remedy = CURES[reason]?.(policy) ?? edit(policy);
  return [{ detail: `${nameOf(policy)} (${reason}): ${message}`, remedy }];
}

const APPLY_ROLE = advice`apply the ClusterRole of this release: ${run("kubectl apply -k .")}`;

/** The remedies by the reason of the condition Ready; for any other reason the policy must be edited. */
const CURES: Readonly<Record<string, (policy: FleetPolicy) => Advice>> = {
  [REASON.HookNotEnforceable]: (policy) =>
    advice`set the operator's --capi-version to the Cluster API that is installed, or take the hook out: ${edit(policy)}`,
  [REASON.ClusterAPINotInstalled]: () => "clusterctl init",
  [REASON.ClustersForbidden]: () => APPLY_ROLE,
  [REASON.HookTasksNotInstalled]: () => run(APPLY_CRDS),
  [REASON.HookTasksForbidden]: () => APPLY_ROLE,
  ObjectsForbidden: () => "do what the check grants says",
  ObjectKindUnknown: (policy) => advice`install the kind, or correct the gate: ${edit(policy)}`,
  ObjectKindTerminating: (policy) => advice`install the kind again, or correct the gate: ${edit(policy)}`,
  ObjectsNotLoaded: () => "nothing, if it ends by itself; otherwise look at the operator's log",
};

function edit({ compiled: { ref } }: FleetPolicy): Advice {
  const namespace = ref.namespace === undefined ? "" : ` -n ${ref.namespace}`;
  return run(`kubectl edit ${ref.kind.toLowerCase()} ${ref.name}${namespace}`);
}

export function called(examined: DoctorInput): Finding {
  const { policies, clusters, fleet } = examined;
  known(policies);
  const silent = fleet.policies.flatMap(notCalled);
  const cure = cureOfCalls(examined);
  const failed = clusters.ok ? clusters.value.flatMap((each) => lastCallFailed(each, cure)) : [];
  return (
    together([
      problems("error", silent, (n) => `Cluster API does not ask ${counted(n, "policy")}`),
      problems("error", failed, (n) => `Cluster API's last call failed for ${counted(n, "Cluster")}`),
    ]) ?? ok("no policy says that Cluster API does not ask it")
  );
}

/** Neither check sees a network that lets no call through. */
function cureOfCalls(examined: DoctorInput): Advice {
  const isOk = [operator, trust].every((look) => judged(() => look(examined)).state === "ok");
  const [found] = operators(examined);
  if (!isOk || found === undefined)
    return "do first what the checks operator and certificate say: Cluster API calls again by itself";
  return advice`${lookAtPods(found)}; if they run and say nothing, let Cluster API reach their port 9443: ${run("kubectl get networkpolicies -A")}`;
}

function lastCallFailed(cluster: RawObject, remedy: Advice): Problem[] {
  const failed = failedCall(cluster);
  if (failed === undefined) return [];
  return [{ detail: `${namespacedName(viewMetadata(cluster["metadata"]))}: ${failed}`, remedy }];
}

function notCalled(policy: FleetPolicy): Problem[] {
  const condition = conditionOf(policy, CONDITION.NotCalled);
  if (condition?.status !== "True") return [];
  return [{ detail: `${nameOf(policy)}: ${condition.reason}`, remedy: condition.message }];
}

export function owned({ clusters, ownedUnseen, fleet }: DoctorInput): Finding {
  known(clusters);
  const find = findTearDowns(fleet);
  const torn = fleet.clusters().flatMap((cluster) => {
    const found = find(cluster);
    return found === undefined ? [] : [{ ...found, name: clusterKey(cluster) }];
  });
  const all = torn.map(({ name, message, steps }) => ({
    detail: `${name}: ${message}`,
    remedy: run(steps.length === 0 ? `hookpolicy explain ${name}` : steps.map(({ command }) => command)),
  }));
  const isUnderWay = torn.some((each) => each.isUnderWay);
  const what = isUnderWay ? "torn down" : "that a deletion would tear down";
  const unseen = ownedUnseen ? "; the operator may not see them being deleted, only that they are gone" : "";
  return (
    problems(
      isUnderWay ? "error" : "warning",
      all,
      (n) => `${counted(n, "Cluster")} ${what}, past every hook`,
    ) ?? ok(`no held Cluster loses its control plane or infrastructure${unseen}`)
  );
}

export function overrides(examined: DoctorInput): Finding {
  const { fleet, now } = examined;
  known(examined.overrides);
  const active = fleet.overrides.filter(({ problem, expiresAt }) => problem === undefined && now < expiresAt);
  const idle = active.filter((override) => !mayConcern(override, examined)).map(({ name }) => name);
  return (
    problems(
      "warning",
      active.filter(({ name }) => !idle.includes(name)).map((override) => lifting(override, now)),
      (n) => `${counted(n, "HookOverride")} in force: policies hold nothing that they cover`,
    ) ??
    ok(idle.length === 0 ? "none is active" : `active only for Clusters that are gone: ${firstNames(idle)}`)
  );
}

/** An override with a uid has no effect on another Cluster of that name. */
function mayConcern({ clusterRef }: Override, { fleet, clusters }: DoctorInput): boolean {
  const { namespace, name, uid } = clusterRef;
  if (uid === undefined || !clusters.ok) return true;
  return fleet.cluster(namespace, name)?.metadata.uid === uid;
}

/** The remedy ends the override and does not delete it, because it is a record. */
function lifting({ name, clusterRef, expiresAt }: Override, now: Date): Problem {
  const spec = JSON.stringify({ spec: { expiresAt: timestamp(now) } });
  return {
    detail: `${name} (${clusterRef.namespace}/${clusterRef.name} until ${expiresAt.toISOString()})`,
    remedy: advice`to end it now: ${run(`kubectl patch hookoverride ${name} --type merge -p '${spec}'`)}`,
  };
}
