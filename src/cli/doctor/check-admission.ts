/** Checks whether the webhook for Clusters enforces rules with admission, and which other webhooks judge Clusters. */

import { type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { CLUSTER_API_GROUP } from "../../api/meta.ts";
import { EXTENSION_NAME } from "../../hooks/registration.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { apiServerTrust } from "./check-certificate.ts";
import { nameOf, type CoverageSurvey } from "./check-coverage.ts";
import { error, type Evidence, type Finding, ok, type Settings, some, unread, warning } from "./doctor.ts";

const INSTALL =
  "set admission.clusters=true in the chart's values, or add the component manifests/cluster-admission";
/** Configurations of earlier versions lack it. */
const PINS_WEBHOOK = "workers.hookpolicy.dev";
const UNTIL_THEN = "until then it refuses to create, delete and upgrade every Cluster";

export function admission(evidence: Evidence, settings: Settings, { fleet }: CoverageSurvey): Finding {
  const { clusterWebhook: read } = evidence;
  const withAdmission = fleet.policies.filter(({ compiled }) =>
    compiled.rules.some((rule) => rule.admission !== undefined),
  );
  if (!read.ok) {
    if (read.why !== "NotFound") return unread(read);
    if (!evidence.policies.ok) return unread(evidence.policies);
    if (withAdmission.length === 0) return ok("no rule has admission, and no webhook is installed for it");
    const policies = some(withAdmission.map(nameOf));
    return error(`no webhook for Clusters: admission has no effect in ${policies}`, INSTALL);
  }
  const webhooks = listOf(read.value["webhooks"]);
  if (webhooks.length === 0) return error("the configuration for Clusters has no webhook", INSTALL);
  const trusted = apiServerTrust(
    read.value,
    evidence,
    settings,
    "ValidatingWebhookConfiguration for Clusters",
  );
  if (trusted.state === "warning") return error(`${trusted.detail}; ${UNTIL_THEN}`, trusted.remedy ?? "");
  const unreachable = unreachableService(read.value, evidence);
  if (unreachable !== undefined) return unreachable;
  if (webhooks.some((each) => fieldsOf(each)["failurePolicy"] !== "Fail")) {
    return warning(
      "the failurePolicy of the webhook for Clusters is Ignore: while no replica answers, nothing is refused",
      INSTALL,
    );
  }
  if (!webhooks.some((each) => fieldsOf(each)["name"] === PINS_WEBHOOK)) {
    return warning(
      `the configuration for Clusters has no webhook ${PINS_WEBHOOK}: admission is not asked about workers that are pinned to another version`,
      INSTALL,
    );
  }
  return trusted.state === "ok" ? ok(`${trusted.detail}${besides(evidence)}`) : trusted;
}

/** The Service that the webhook calls; `undefined`: it calls a URL. */
export function serviceOf(
  configuration: RawObject,
): { readonly namespace: string; readonly name: string } | undefined {
  const [webhook] = listOf(configuration["webhooks"]);
  const { namespace, name } = fieldsOf(fieldsOf(fieldsOf(webhook)["clientConfig"])["service"]);
  return typeof namespace === "string" && typeof name === "string" ? { namespace, name } : undefined;
}

/** Endpoints that cannot be read are not reported, because the check "operator" counts the replicas, too. */
function unreachableService(webhook: RawObject, { clusterEndpoints: read }: Evidence): Finding | undefined {
  const service = serviceOf(webhook);
  if (service === undefined || !read.ok) return undefined;
  const endpoints = read.value.flatMap((slice) => listOf(slice["endpoints"]).map(fieldsOf));
  if (endpoints.some(({ conditions }) => fieldsOf(conditions)["ready"] !== false)) return undefined;
  const { namespace, name } = service;
  return error(
    `Service ${namespace}/${name}, which the webhook for Clusters calls, has no ready Pod; ${UNTIL_THEN}`,
    `kubectl describe service -n ${namespace} ${name}; kubectl get pods -n ${namespace}`,
  );
}

/** Other webhooks for Clusters can refuse or change the requests that HookPolicy admits. */
function besides({ webhooks: read }: Evidence): string {
  if (!read.ok) return "; which other webhooks there are is unknown";
  const others = read.value.filter(
    ({ metadata }) => viewMetadata(metadata).name !== `${EXTENSION_NAME}-clusters`,
  );
  const ofType = (type: "Mutating" | "Validating"): string[] =>
    others.filter(({ kind }) => kind === `${type}WebhookConfiguration`).flatMap(onClusters);
  const [mutating, validating] = [ofType("Mutating"), ofType("Validating")];
  return [
    mutating.length > 0 ? `; before it, these can change a Cluster: ${some(mutating)}` : "",
    validating.length > 0 ? `; beside it, these must admit a request, too: ${some(validating)}` : "",
  ].join("");
}

/** The webhooks of a configuration that the API server calls for Clusters, with their operations. */
function onClusters(configuration: RawObject): string[] {
  return listOf(configuration["webhooks"])
    .map(fieldsOf)
    .flatMap((webhook) => {
      const operations = new Set(
        listOf(webhook["rules"]).map(fieldsOf).filter(isAboutClusters).flatMap(operationsOf),
      );
      if (operations.size === 0) return [];
      const onFailure = webhook["failurePolicy"] === "Ignore" ? "" : ", or nothing passes";
      return [`${textOf(webhook["name"])} (${[...operations].join(", ")}${onFailure})`];
    });
}

function isAboutClusters(rule: Fields): boolean {
  const has = (field: string, ...values: readonly string[]): boolean =>
    listOf(rule[field]).some((each) => values.includes(textOf(each)));
  return has("apiGroups", CLUSTER_API_GROUP, "*") && has("resources", "clusters", "*", "*/*");
}

function operationsOf(rule: Fields): readonly string[] {
  const named = listOf(rule["operations"]).map(textOf);
  const all = ["CREATE", "UPDATE", "DELETE"];
  return named.includes("*") ? all : all.filter((operation) => named.includes(operation));
}
