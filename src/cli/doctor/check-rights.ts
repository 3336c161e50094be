/** Checks whether the operator has the rights that docs/permissions.md lists. */

import { GROUP } from "../../api/hook-policy.ts";
import { counted } from "../../lib/counted.ts";
import { firstNames } from "../../lib/first-names.ts";
import { advice, run } from "../terminal/printed-command.ts";
import { LEADER_LEASE } from "../../kube/resources.ts";
import { EXTENSION_NAME } from "../../registration/registration.ts";
import { flagOf, operators, type Program } from "./check-install.ts";
import {
  type DoctorInput,
  type Finding,
  known,
  ok,
  type OperatorRight,
  problems,
  unknown,
} from "./finding.ts";

interface NeededRight extends Omit<OperatorRight, "granted"> {
  /** Of a SubjectAccessReview. */
  readonly attributes: object;
}

interface Where {
  readonly names?: readonly string[];
  readonly namespace?: string;
  /** Of manifests/. */
  readonly file?: string;
}

/** Of each verb and resource, such as "hookpolicies.hookpolicy.dev/status", with the effect of its lack. */
function needed(
  verbs: string,
  resources: readonly string[],
  without: string,
  where: Where = {},
): NeededRight[] {
  const { names = [""], namespace = "", file = "rbac" } = where;
  return resources.flatMap((of) => {
    const [, resource = "", group = "", subresource = ""] = /^([^./]+)\.?([^/]*)\/?(.*)$/.exec(of) ?? [];
    return verbs.split(", ").flatMap((verb) =>
      names.map((name) => ({
        title: `${verb} ${of}${name && ` named ${name}`}`,
        without,
        file,
        attributes: { verb, group, resource, subresource, name, namespace },
      })),
    );
  });
}

const OWN = ["hookpolicies", "clusterhookpolicies", "hookoverrides", "hookrollouts"].map(
  (plural) => `${plural}.${GROUP}`,
);
const TASKS = `hooktasks.${GROUP}`;
const SEEN = ["clusters.cluster.x-k8s.io", "namespaces"];
const EXTENSIONS = "extensionconfigs.runtime.cluster.x-k8s.io";
const DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io";
const WEBHOOKS = "validatingwebhookconfigurations.admissionregistration.k8s.io";
const LEASES = "leases.coordination.k8s.io";

const statusOf = (resource: string): string => `${resource}/status`;

const STALE = "statuses are not written, and get shows what is over";
const UNCONFIRMED = "no release is confirmed, and every Cluster stays held";
const NO_TASKS = "tasks do not begin, and what waits for them is held";
const UNLED = "no replica leads: tasks do not run, and HookRollouts give no slot back";
const UNSERVED = "it has no certificate to start with";

/** As far as it needs them by its flags. */
export function rightsOf(operator: Program): NeededRight[] {
  const { namespace, args } = operator;
  const secret = flagOf(operator, "webhook-secret-name") ?? "hookpolicy-webhook-service-cert";
  const leads = args.some((arg) => /^--leader-elect(=true)?$/.test(arg));
  const scraped =
    flagOf(operator, "metrics-secure") !== "false" && flagOf(operator, "diagnostics-address") !== "0";
  const issues = flagOf(operator, "cert-management") === "Self";
  const definitions = OWN.filter((kind) => !kind.startsWith("hookoverrides"));
  const webhooks = [EXTENSION_NAME, `${EXTENSION_NAME}-clusters`];
  const certificates = { namespace, file: "certificates" };
  return [
    ...needed("list", [...OWN, ...SEEN], "every Cluster is held"),
    ...needed("get", SEEN, UNCONFIRMED),
    ...needed("list", [DEFINITIONS], UNCONFIRMED, { names: definitions }),
    ...needed("get", OWN, STALE),
    ...needed("update", OWN.map(statusOf), STALE),
    ...needed("watch", [...OWN, TASKS, ...SEEN, EXTENSIONS], "it learns of changes late"),
    ...needed("patch", OWN.slice(0, 1), "policies get no finalizer, and go with their namespace"),
    ...needed("get, list, create", [TASKS], NO_TASKS),
    ...needed("update", [statusOf(TASKS)], NO_TASKS),
    ...needed("delete", [TASKS], "HookTasks stay for good"),
    ...needed("list", [EXTENSIONS], "policies do not say when Cluster API does not call"),
    ...needed("create", ["events.events.k8s.io"], "no Event tells what happens"),
    ...needed(
      "create",
      ["subjectaccessreviews.authorization.k8s.io"],
      "no policy with a new object gate is stored",
    ),
    ...needed("get", [WEBHOOKS], "the caBundle of webhooks is not kept current", { names: webhooks }),
    ...(leads ? needed("create", [LEASES], UNLED, { namespace }) : []),
    ...(leads ? needed("get, patch", [LEASES], UNLED, { namespace, names: [LEADER_LEASE] }) : []),
    ...(scraped
      ? needed("create", ["tokenreviews.authentication.k8s.io"], "/metrics answers 500", { file: "metrics" })
      : []),
    ...(issues ? needed("create", ["secrets"], UNSERVED, certificates) : []),
    ...(issues
      ? needed("get, patch", ["secrets"], UNSERVED, { ...certificates, names: [secret, `${secret}-ca`] })
      : []),
  ];
}

export function rights(examined: DoctorInput): Finding {
  // A Deployment names the operator's ServiceAccount.
  known(examined.deployments);
  const [operator, another] = operators(examined);
  if (operator === undefined || another !== undefined)
    return unknown("whose they would be is not known", "do first what the check operator says");
  const account = `ServiceAccount ${operator.namespace}/${operator.serviceAccount}`;
  const lacking = examined.rights.filter(({ granted }) => granted.ok && !granted.value);
  const found = problems(
    "error",
    [...Map.groupBy(lacking, ({ without }) => without)].map(([without, all]) => ({
      detail: `may not ${firstNames(all.map(({ title }) => title))}: ${without}`,
      remedy: advice`grant it as this release does: ${run(`kubectl apply -f manifests/${all[0]?.file}.yaml`)}`,
    })),
    () => `${account} lacks ${counted(lacking.length, "right")} that the operator needs`,
  );
  if (found !== undefined) return found;
  for (const { granted } of examined.rights) known(granted);
  return ok(`${account} may do all that the operator needs`);
}
