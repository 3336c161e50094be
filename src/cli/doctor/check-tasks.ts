/** Checks whether tasks can act as the ServiceAccounts that their policies name. */

import { fieldsOf, listOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import { counted } from "../../lib/counted.ts";
import { operators } from "./check-install.ts";
import { firstNames } from "../../lib/first-names.ts";
import {
  type DoctorInput,
  type Finding,
  isAbsent,
  known,
  ok,
  type Problem,
  problems,
  type ExaminedAccount,
  together,
  warning,
} from "./finding.ts";
import { type Advice, advice, run, taskCommand } from "../terminal/printed-command.ts";
import { isHeldBy } from "../../tasks/slot-tasks.ts";

export function tasks(examined: DoctorInput): Finding {
  const { policies, deployments, taskAccounts: accounts } = examined;
  known(policies);
  if (accounts.length === 0) return ok("no policy has tasks");
  // A Deployment names the operator's ServiceAccount.
  known(deployments);
  const operator = operatorFlag(examined);
  const broken = accounts.flatMap((account) => problemsOf(account, operator));
  const found = together([
    problems("error", broken, (n) => `tasks cannot act, for ${counted(n, "reason")}`),
    failures(examined),
  ]);
  if (found !== undefined) return found;
  known(examined.hookTasks);
  for (const { exists, optedIn, rights } of accounts)
    for (const read of [exists, optedIn, ...rights.map(({ missing }) => missing)]) known<unknown>(read);
  const names = firstNames(accounts.map((account) => namespacedName(account)));
  const [gone] = accounts.filter(({ exists }) => exists.ok && !exists.value);
  if (gone !== undefined)
    return warning(
      `there is no ServiceAccount ${namespacedName(gone)}: its rights are there all the same`,
      advice`create it, or revoke what is left: ${setUp(gone, operator)}`,
    );
  return ok(`the operator may act as ${names}${unsureWhere(accounts)}${unreviewed(examined)}`);
}

/** Each holds its Cluster, or at AfterControlPlaneInitialized the tasks after it, until a user acts. */
function failures({ hookTasks, fleet }: DoctorInput): Finding | undefined {
  const policies = new Map(fleet.policies.map(({ compiled }) => [compiled.uid, compiled]));
  const failed = (hookTasks.ok ? hookTasks.value : []).filter((record) => {
    const isFailure = record.phase === "Failed" && !record.altered && !record.over;
    return isFailure && isHeldBy(policies.get(record.identity.policyRef.uid), record);
  });
  const [first] = failed;
  if (first === undefined) return undefined;
  const holds = failed.some(({ identity }) => identity.hook !== "AfterControlPlaneInitialized");
  const consequence = holds ? "Clusters stay held" : "Clusters lack what they do";
  return warning(
    `${counted(failed.length, "HookTask")} failed, so ${consequence}: ${firstNames(failed.map(namespacedName))}`,
    advice`see why: ${run(taskCommand("show", first))}; correct the cause, then ${run(taskCommand("retry", first))}`,
  );
}

function problemsOf(account: ExaminedAccount, operator: string): Problem[] {
  const name = namespacedName(account);
  const lacking = account.rights.flatMap(({ resource, namespace, missing, policies }): Problem[] => {
    const strays = namespace === "" ? policies.filter((each) => each.startsWith("HookPolicy ")) : [];
    if (strays.length > 0) {
      const detail = `${firstNames(strays)}: ${resource} have no namespace, and tasks of a HookPolicy stay in its own`;
      return [{ detail, remedy: "make it a ClusterHookPolicy" }];
    }
    if (isAbsent(missing))
      return [{ detail: `${firstNames(policies)}: the API server serves no ${resource}`, remedy: INSTALL }];
    if (!missing.ok || missing.value.length === 0 || namespace === undefined) return [];
    const where = namespace === "" ? "" : ` in namespace ${namespace}`;
    const detail = `ServiceAccount ${name} may not ${missing.value.join(", ")} ${resource}${where}`;
    const bind = "bind a ClusterRole with these rights to it";
    return [{ detail, remedy: namespace === "" ? bind : setUp(account, operator) }];
  });
  if (!account.optedIn.ok || account.optedIn.value) return lacking;
  const detail = `the operator may not act as ServiceAccount ${name} of ${firstNames(account.policies)}`;
  return [{ detail, remedy: setUp(account, operator) }, ...lacking];
}

const INSTALL = "install the kind, or correct the task";

function setUp({ namespace, name, rights }: ExaminedAccount, operator: string): Advice {
  const may = rights
    .filter((right) => right.missing.ok && (right.namespace === undefined || right.namespace === namespace))
    .map(({ verbs, resource }) => ` --may ${verbs.join(",")}:${resource}`);
  const rendered = `hookpolicy init tasks -n ${namespace} --service-account ${name}${operator}${may.join("")}`;
  return advice`${run(rendered)} | ${run("kubectl apply -f -")}`;
}

function operatorFlag(examined: DoctorInput): string {
  const [found] = operators(examined);
  return found === undefined ? "" : ` --operator ${found.namespace}/${found.serviceAccount}`;
}

function unsureWhere(accounts: readonly ExaminedAccount[]): string {
  const elsewhere = accounts
    .flatMap(({ rights }) => rights)
    .filter(({ namespace, missing }) => namespace === undefined && missing.ok && missing.value.length > 0);
  if (elsewhere.length === 0) return "";
  return `; its rights on ${firstNames(elsewhere.map(({ resource }) => resource))} in namespaces that expressions name were not checked`;
}

/** Whether the author of a policy is always asked for the right to impersonate. */
function unreviewed({ webhook }: DoctorInput): string {
  const asked = webhook.ok
    ? listOf(webhook.value["webhooks"]).some((each) => fieldsOf(each)["failurePolicy"] === "Fail")
    : false;
  if (asked) return "";
  return "; while the webhook of policies does not answer, who writes a policy there uses it, too (failurePolicy: Ignore)";
}
