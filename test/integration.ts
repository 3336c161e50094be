/**
 * Runs the tests on a real API server and Cluster API, the longest files first: `node --test` begins them by name, and
 * one that is begun last runs alone in the end.
 */

import { globSync } from "node:fs";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import report from "./report.ts";
import { globalSetup, globalTeardown } from "./setup.ts";

const FILES = "test/{apiserver,capi,install,redteam/apiserver}/**/*.test.ts";
/** Many of them wait most of the time. */
const AT_A_TIME = 8;
/** From "Took longest" at the end of a run. */
const LONGEST = [
  "test/capi/rollout-slots.test.ts",
  "test/capi/rollout-faults.test.ts",
  "test/capi/break-glass.test.ts",
  "test/apiserver/uninstall.test.ts",
  "test/capi/faults.test.ts",
  "test/capi/demo.test.ts",
  "test/install/docs.test.ts",
  "test/capi/doctor.test.ts",
  "test/capi/rollouts.test.ts",
  "test/capi/rollout-recipes.test.ts",
  "test/capi/lifecycle.test.ts",
  "test/apiserver/operator-windows.test.ts",
  "test/capi/language-time.test.ts",
  "test/capi/recipes.test.ts",
  "test/capi/tasks.test.ts",
  "test/capi/tasks-upgrade.test.ts",
  "test/capi/rollout-turns.test.ts",
  "test/apiserver/task-definitions.test.ts",
  "test/install/clusterctl.test.ts",
  "test/capi/docs.test.ts",
  "test/apiserver/task-accounts.test.ts",
  "test/apiserver/cluster-admission.test.ts",
  "test/apiserver/gitops-drift.test.ts",
  "test/capi/tasks-rollout.test.ts",
  "test/install/helm.test.ts",
  "test/capi/tasks-restarts.test.ts",
  "test/apiserver/permissions.test.ts",
  "test/apiserver/leader-election.test.ts",
  "test/apiserver/tasks-refused.test.ts",
  "test/capi/cluster-admission.test.ts",
  "test/apiserver/tasks.test.ts",
  "test/apiserver/tasks-times.test.ts",
  "test/apiserver/memory-budget.test.ts",
  "test/install/executable.test.ts",
  "test/apiserver/upgrade.test.ts",
  "test/apiserver/operator-process.test.ts",
  "test/apiserver/operator-status.test.ts",
  "test/apiserver/operator-events.test.ts",
  "test/apiserver/hostile.test.ts",
  "test/apiserver/certificates.test.ts",
  "test/apiserver/shutdown.test.ts",
  "test/install/clusterctl-move.test.ts",
  "test/apiserver/manifests.test.ts",
];

/** Only these, with what is shared: `node test/integration.ts FILE...` */
const chosen = process.argv.slice(2);
const found = globSync(FILES).toSorted();
const wrong = LONGEST.filter((file, place) => !found.includes(file) || LONGEST.indexOf(file) !== place);
if (wrong.length > 0)
  throw new Error(`test/integration.ts names files that are gone, or twice: ${wrong.join(", ")}`);

process.exitCode = 1; // until the whole run has passed
await globalSetup();
try {
  const all = [...LONGEST, ...found.filter((file) => !LONGEST.includes(file))];
  const files = chosen.length > 0 ? chosen : all;
  const events = run({ files, concurrency: AT_A_TIME });
  events.on("test:summary", ({ file, success }) => {
    if (file === undefined && success) process.exitCode = 0;
  });
  const text = events.compose(report);
  text.pipe(process.stdout, { end: false });
  await finished(text, { writable: false });
} finally {
  await globalTeardown();
}
