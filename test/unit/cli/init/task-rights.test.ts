import assert from "node:assert/strict";
import test from "node:test";
import { parseAllDocuments } from "yaml";
import { hookpolicy } from "../resident.ts";
import { refuses } from "../usage.ts";

const JOBS = ["-n", "team-a", "--may", "create,get,delete:jobs.batch"];

async function printed(...args: readonly string[]) {
  const { code, stdout, stderr } = await hookpolicy(["init", "tasks", ...args]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  return parseAllDocuments(stdout).map((each) => each.toJS());
}

test("the ServiceAccount has the rights that were named, and the operator may act as it alone", async () => {
  const [account, work, has, impersonation, opted] = await printed(...JOBS, "--may", "get:pods");
  assert.deepEqual(account.metadata, { name: "cluster-tasks", namespace: "team-a" });
  assert.deepEqual(work.rules, [
    { apiGroups: ["batch"], resources: ["jobs"], verbs: ["create", "get", "delete"] },
    { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
  ]);
  assert.deepEqual(has.subjects, [{ kind: "ServiceAccount", name: "cluster-tasks", namespace: "team-a" }]);
  assert.equal(has.roleRef.name, work.metadata.name);
  assert.deepEqual(impersonation.rules, [
    {
      apiGroups: [""],
      resources: ["serviceaccounts"],
      verbs: ["impersonate"],
      resourceNames: ["cluster-tasks"],
    },
  ]);
  assert.equal(opted.roleRef.name, impersonation.metadata.name);
  assert.deepEqual(opted.subjects, [
    { kind: "ServiceAccount", namespace: "hookpolicy-system", name: "hookpolicy" },
  ]);
});

test("the names of both ServiceAccounts can be chosen, and stay text", async () => {
  const [account, , , impersonation, opted] = await printed(
    ...JOBS,
    "--service-account",
    "123",
    "--operator",
    "ops/true",
  );
  assert.equal(account.metadata.name, "123");
  assert.deepEqual(impersonation.rules[0].resourceNames, ["123"]);
  assert.deepEqual(opted.subjects, [{ kind: "ServiceAccount", namespace: "ops", name: "true" }]);
});

refuses("init", {
  "no namespace": [["tasks", "--may", "get:pods"], /say the namespace of the policy with -n/],
  "no rights": [["tasks", "-n", "team-a"], /say what the tasks may do with --may/],
  "no verb": [["tasks", "--may", "jobs.batch"], /Allowed: VERB,VERB:RESOURCE.GROUP/],
  everything: [["tasks", "--may", "*:*"], /Allowed: VERB,VERB:RESOURCE.GROUP/],
  "a verb that no task needs": [["tasks", "--may", "impersonate:users"], /Allowed verbs: get, list/],
  "a namespace that is none": [["tasks", "-n", "Team A"], /Allowed: the name of a namespace/],
  "rights for a folder": [["policies", "-n", "team-a"], /its flags are for 'init tasks'/],
});
