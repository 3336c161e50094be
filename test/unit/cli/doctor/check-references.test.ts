/** Whether doctor finds Namespaces in which references are free, by what was read. */

import { describe } from "node:test";
import type { Evidence } from "../../../../src/cli/doctor/finding.ts";
import { cluster, forbidden, foregroundBinding, found, table } from "./evidence-fixture.ts";

const bound = (labels: object, over: Partial<Evidence> = {}): Partial<Evidence> => ({
  policyBindings: found([foregroundBinding(), foregroundBinding({ policyName: "hookpolicy-protect-marks" })]),
  namespaces: found([{ metadata: { name: "team-a", labels } }]),
  ...over,
});
const ALLOWED = { "hookpolicy.dev/references": "allowed" };

describe("references", () => {
  table("references", {
    "as installed": { ok: /nothing refuses them: .*protect-marks is not bound/ },
    "with protect-marks": { given: bound({}), ok: /^Validating\S+ hookpolicy-protect-marks is bound →/ },
    "with another value of the label": { given: bound({ "hookpolicy.dev/references": "no" }), ok: /bound →/ },
    "with a Namespace that opts out, of Clusters without topology": {
      given: bound(ALLOWED, { clusters: found([cluster("c1", {})]) }),
      ok: /opt out by the label hookpolicy\.dev\/references: team-a →/,
    },
    "with a Cluster with topology there": {
      given: bound(ALLOWED),
      warning:
        /control plane of team-a\/c1 when it is deleted; .*: team-a → .*kubectl label namespace team-a hookpolicy\.dev\/references-/,
    },
    "when bindings cannot be read": { given: { policyBindings: forbidden }, unknown: /you may not/ },
    "when Namespaces cannot be read": { given: bound({}, { namespaces: forbidden }), unknown: /you may not/ },
    "when Clusters cannot be read": { given: bound({}, { clusters: forbidden }), unknown: /you may not/ },
  });
});
