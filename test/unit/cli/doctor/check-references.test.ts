/** Whether doctor finds Namespaces in which references are free, by what was read. */

import { describe } from "node:test";
import type { Evidence } from "../../../../src/cli/doctor/finding.ts";
import { cluster, forbidden, foregroundBinding, found, table } from "./evidence-fixture.ts";

const bound =
  (labels: object, over: Partial<Evidence> = {}) =>
  (): Partial<Evidence> => ({
    policyBindings: found([
      foregroundBinding(),
      foregroundBinding({ policyName: "hookpolicy-protect-marks" }),
    ]),
    namespaces: found([{ metadata: { name: "team-a", labels } }]),
    ...over,
  });
const ALLOWED = { "hookpolicy.dev/references": "allowed" };

describe("references", () => {
  table({
    "as installed": ["references", () => ({}), "ok", /nothing refuses them: .*protect-marks is not bound/],
    "with protect-marks": [
      "references",
      bound({}),
      "ok",
      /^Validating\S+ hookpolicy-protect-marks is bound →/,
    ],
    "with another value of the label": [
      "references",
      bound({ "hookpolicy.dev/references": "no" }),
      "ok",
      /bound →/,
    ],
    "with a Namespace that opts out, of Clusters without topology": [
      "references",
      bound(ALLOWED, { clusters: found([cluster("c1", {})]) }),
      "ok",
      /opt out by the label hookpolicy\.dev\/references: team-a →/,
    ],
    "with a Cluster with topology there": [
      "references",
      bound(ALLOWED),
      "warning",
      /control plane of team-a\/c1 when it is deleted; .*: team-a → .*kubectl label namespace team-a hookpolicy\.dev\/references-/,
    ],
    "when bindings cannot be read": [
      "references",
      () => ({ policyBindings: forbidden }),
      "unknown",
      /you may not/,
    ],
    "when Namespaces cannot be read": [
      "references",
      bound({}, { namespaces: forbidden }),
      "unknown",
      /you may not/,
    ],
    "when Clusters cannot be read": [
      "references",
      bound({}, { clusters: forbidden }),
      "unknown",
      /you may not/,
    ],
  });
});
