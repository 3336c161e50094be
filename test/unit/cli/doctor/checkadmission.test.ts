/** Whether rules that speak at admission are heard there, by what was read. */

import { describe } from "node:test";
import type { Evidence } from "../../../../src/cli/doctor/doctor.ts";
import { absent, authority, forbidden, found, other, policy, table, webhookOf } from "./evidencefixture.ts";

const denying = policy({
  rules: [
    {
      name: "r",
      hooks: ["BeforeClusterDelete"],
      admission: "Deny",
      until: [{ name: "g", annotation: { key: "k" } }],
    },
  ],
});
const bundle = (ca: { readonly certificate: string }): string =>
  Buffer.from(ca.certificate).toString("base64");
const given = (over: Partial<Evidence>) => (): Partial<Evidence> => ({ policies: found([denying]), ...over });

describe("admission", () => {
  table({
    "without webhook": [
      "admission",
      given({ clusterWebhook: absent }),
      "error",
      /no effect in HookPolicy team-a\/p/,
    ],
    "without webhook, when the policies cannot be read": [
      "admission",
      given({ clusterWebhook: absent, policies: forbidden }),
      "unknown",
      /may not/,
    ],
    "without webhook in its configuration": [
      "admission",
      given({ clusterWebhook: found({ webhooks: [] }) }),
      "error",
      /has no webhook/,
    ],
    "that the API server trusts not yet": [
      "admission",
      given({ clusterWebhook: webhookOf("") }),
      "error",
      /has no caBundle.*until then it refuses to create/,
    ],
    "that the API server does not trust": [
      "admission",
      given({ clusterWebhook: webhookOf(bundle(other)) }),
      "error",
      /does not hold the authority/,
    ],
    "that lets requests pass without an answer": [
      "admission",
      given({ clusterWebhook: webhookOf(bundle(authority), "Ignore") }),
      "warning",
      /while no replica answers, nothing is refused/,
    ],
  });
});
