/**
 * Every verb that the manifests grant to the operator is needed, and nothing else is: each is taken away once, on a
 * real API server, whose audit log says what the operator asked for and was refused; and with all of them there is
 * nothing that it is refused.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { may } from "../controlplane/may.ts";
import { installHookPolicy, NAMESPACE } from "../controlplane/operator.ts";
import { readGrant } from "../controlplane/rights.ts";
import { startProxy } from "../controlplane/proxy.ts";
import { applyPolicy, approvalRule, approve, policyRef } from "../controlplane/policies.ts";
import { AuditLog, type Grant, grantsTo, isAbout, rowsOf, setGranted, titleOf } from "./grants.ts";
import { extensionConfigCrd, ROOT } from "../install/tools.ts";
import { Lab } from "./operator-lab.ts";
import { ACCOUNT, NEEDED, TEAM, lab, nextName, provoke, rendered, use } from "./permission-cases.ts";

const grants = grantsTo(ACCOUNT, rendered);
let audit: AuditLog;
let token: string;

before(async () => {
  audit = await AuditLog.of(`system:serviceaccount:${NAMESPACE}:${ACCOUNT}`);
  const cp = await startControlPlane({ apiServerArgs: audit.args, seed: "cluster" });
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  await cp.apply(await extensionConfigCrd());
  token = await cp.tokenFor(NAMESPACE, ACCOUNT);
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, ACCOUNT, { server: proxy.url });
  use(new Lab(cp, proxy, kubeconfig));
  await createCluster(cp, { namespace: TEAM, name: "free", version: NEXT_VERSION });
  await approve(cp, TEAM, "free");
  await lab.start();
  await applyPolicy(cp, policyRef(TEAM, "protect"), { rules: [approvalRule("BeforeClusterUpgrade")] });
});
after(async () => {
  await lab?.stop();
  await audit?.remove();
});

/** Those that need no start of their own come first: they share an operator. */
const ordered = Object.entries(NEEDED).toSorted(([, a], [, b]) => a.when.localeCompare(b.when));

test("every verb that is granted has its proof here", () => {
  assert.deepEqual(Object.keys(NEEDED).toSorted(), [...new Set(grants.map(titleOf))].toSorted());
});

test("docs/permissions.md says what is seen here", () => {
  const page = readFileSync(join(ROOT, "docs/permissions.md"), "utf8");
  const [, table = ""] = page.split("## Of the operator");
  const rows = [...table.matchAll(/^\|(.*)\|$/gm)].map(([, row = ""]) =>
    row.split("|").map((cell) => cell.trim().replaceAll("`", "")),
  );
  assert.deepEqual(rows.slice(2), rowsOf(Object.entries(NEEDED).map(([title, { sees }]) => [title, sees])));
});

for (const cases of Map.groupBy(ordered, ([title, { together }]) => together ?? title).values()) {
  const titles = cases.map(([title]) => title);
  describe("without", () => {
    let from: number;
    before(async () => {
      await setGranted(lab.cp, { grants, titles, granted: false }, token);
      from = audit.position();
      for (const [, first] of cases.slice(0, 1)) await provoke(first);
    });
    after(async () => {
      lab.proxy.resume();
      await setGranted(lab.cp, { grants, titles, granted: true }, token);
    });

    for (const [title, { sees, shows }] of cases) {
      test(`${title}: ${sees}`, async () => {
        const without = grants.find((each) => titleOf(each) === title);
        assert.ok(without, "it is granted");
        await lab.cp.waitFor("the API server to refuse it", () =>
          audit.seen(from).some((seen) => seen.decision === "forbid" && isAbout(seen, without)),
        );
        await lab.cp.waitFor("it to show", async () => await shows(lab.operator));
      });
    }
  });
}

/** Granted as docs/policy.md says. */
async function lookAtConfigMaps(): Promise<void> {
  await lab.cp.apply(readGrant("configmaps"));
  const user = `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`;
  const counts = async (): Promise<boolean> =>
    await may(lab.cp, user, { verb: "list", resource: "configmaps" });
  await lab.cp.waitFor("the grant to count", counts);
  const object = { apiVersion: "v1", kind: "ConfigMap", name: "ready", absent: true };
  const rule = { ...approvalRule("BeforeClusterUpgrade"), until: [{ name: "none", object }] };
  await applyPolicy(lab.cp, policyRef(TEAM, nextName()), { rules: [rule] });
  await lab.releases("it to have looked, and found none", "BeforeClusterUpgrade", TEAM, "free");
}

test("with all of them it is refused nothing, and uses each", async () => {
  const from = audit.position();
  await lab.start();
  await lookAtConfigMaps();
  const missing = (): Grant[] => {
    const allowed = audit.seen(from).filter(({ decision }) => decision === "allow");
    return grants.filter((grant) => !allowed.some((seen) => isAbout(seen, grant)));
  };
  for (const [title, found] of ordered) {
    const used = (): boolean => !missing().some((grant) => titleOf(grant) === title);
    if (found.when === "start" && used()) continue; // by one of the starts before
    await provoke(found);
    await lab.cp.waitFor(`it to ${title}`, used);
    lab.proxy.resume();
  }
  assert.deepEqual(missing().map(titleOf), []);
  const refused = audit.seen(from).filter(({ decision }) => decision !== "allow");
  assert.deepEqual(refused, []);
  assert.ok(!lab.operator.lines().some((line) => /forbidden/i.test(JSON.stringify(line))));
});
