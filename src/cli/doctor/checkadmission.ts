/** Checks whether rules that speak at admission are heard there. */

import { fieldsOf, listOf } from "../../api/fields.ts";
import { apiServerTrust } from "./checkcertificate.ts";
import { nameOf, type Surveyed } from "./checkcoverage.ts";
import { error, type Evidence, type Finding, ok, type Settings, some, unread, warning } from "./doctor.ts";

const INSTALL =
  "set admission.clusters=true in the chart's values, or add the component manifests/cluster-admission";

export function admission(evidence: Evidence, settings: Settings, { fleet }: Surveyed): Finding {
  const { clusterWebhook: read } = evidence;
  const speaking = fleet.policies.filter(({ compiled }) =>
    compiled.rules.some((rule) => rule.admission !== undefined),
  );
  if (!read.ok) {
    if (read.why !== "NotFound") return unread(read);
    if (!evidence.policies.ok) return unread(evidence.policies);
    if (speaking.length === 0) return ok("no rule has admission, and no webhook is installed for it");
    const policies = some(speaking.map(nameOf));
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
  if (trusted.state === "warning") {
    const detail = `${trusted.detail}; until then it refuses to create, delete and upgrade every Cluster`;
    return error(detail, trusted.remedy ?? "");
  }
  const admits = webhooks.some((each) => fieldsOf(each)["failurePolicy"] !== "Fail");
  if (admits) {
    return warning(
      "the failurePolicy of the webhook for Clusters is Ignore: while no replica answers, nothing is refused",
      INSTALL,
    );
  }
  return trusted;
}
