/** `hookpolicy task`: what tasks of policies do, what failed, and trying again. */

import { Argument, Command, Option } from "commander";
import type { KubeClient } from "../../kube/kube-client.ts";
import { namespacedName } from "../../lib/keys.ts";
import { isForbidden } from "../../kube/kube-error.ts";
import { unless, UsageError } from "../../lib/thrown.ts";
import {
  type CommandCall,
  choice,
  clusterName,
  CommandError,
  FAILED,
  type FlagsOf,
  runs,
} from "../command.ts";
import { addConnectionFlags, reading, viewOf } from "../fleet/connection.ts";
import { inNamespace, shortName, type ShortName } from "../fleet/cluster-argument.ts";
import { nameServer } from "../terminal/confirm.ts";
import { stderr, stdout } from "../terminal/output.ts";
import { taskCommand, typed } from "../terminal/printed-command.ts";
import type { ReadTask } from "./tasks.ts";

const ACTIONS = ["list", "show", "retry"] as const;
type Action = (typeof ACTIONS)[number];
const FORMATS = ["text", "json", "yaml"] as const;

const EXAMPLES = `\
  # What runs and what failed, across the fleet
  hookpolicy task list -A

  # Of one Cluster, also what belongs to operations that are over
  hookpolicy task list --for-cluster team-a/prod-1 --all

  # What one of them does, what it waits for, and its attempts
  hookpolicy task show -n team-a prod-1-remove-load-balancers-5d2c51888c4687a4

  # Once the cause is corrected, let it have another attempt
  hookpolicy task retry -n team-a prod-1-remove-load-balancers-5d2c51888c4687a4`;

const command = addConnectionFlags(
  new Command("task")
    .addArgument(new Argument("<action>", "what to do").choices(ACTIONS))
    .argument("[task]", "show and retry: NAMESPACE/NAME, or NAME, of a HookTask", shortName)
    .summary("what tasks of policies do; try a failed one again")
    .description(
      "Lists the HookTasks of policies, those that failed or cannot begin first; shows what one of them does and waits for; or lets a failed one have another attempt.\n\nExit code: 0 done, 1 the operator has not taken the retry, 2 input that cannot be read or wrong usage.",
    )
    .addOption(new Option("-A, --all-namespaces", "list: HookTasks of all namespaces").conflicts("namespace"))
    .option(
      "-n, --namespace <namespace>",
      "where the HookTask is; default: the context's namespace, or any for --for-cluster",
    )
    .addOption(
      new Option("--for-cluster <namespace/name>", "list: those of this Cluster").argParser(clusterName),
    )
    .option("--all", "list: also those whose operation is over")
    .addOption(choice("-o, --output <format>", "list and show: how to print", FORMATS)),
);

type Flags = FlagsOf<typeof command>;
type Query = CommandCall<Flags>;

export const addTask = runs(command, EXAMPLES, async (query, action, name) => {
  checkFlags(action, name, query.flags);
  await run(action, name, query);
});

function checkFlags(action: Action, name: ShortName | undefined, flags: Flags): void {
  if (action === "list" && name !== undefined) throw new UsageError("list takes no name, as show does");
  if (action !== "list" && name === undefined) throw new UsageError(`${action}: name the HookTask`);
  if (action === "retry" && flags.output !== "text") throw new UsageError("-o is for list and show");
}

async function run(action: Action, name: ShortName | undefined, query: Query): Promise<void> {
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  const { flags } = query;
  await withApiServer(flags, async (client, server) => {
    if (name === undefined) return await list(client, query);
    const { readTask } = await import("./tasks.ts");
    const key = await inNamespace(name, flags);
    const task = await reading(() => readTask(client, key));
    if (action === "show") return await print([task], query, "details");
    nameServer(server);
    await retry(client, task, query);
  });
}

async function list(client: KubeClient, query: Query): Promise<void> {
  const { contextNamespace, rawCluster } = await import("../fleet/live-fleet.ts");
  const { listTasks, tasksOfCluster } = await import("./tasks.ts");
  const { warnOfSilence } = await import("../fleet/operator-life.ts");
  const { flags } = query;
  const { all, allNamespaces, forCluster } = flags;
  const isAnywhere = allNamespaces === true || forCluster !== undefined;
  const namespace =
    flags.namespace ?? (isAnywhere ? undefined : await reading(() => contextNamespace(flags)));
  const found = await reading(() =>
    forCluster !== undefined && namespace === undefined
      ? tasksOfCluster(client, forCluster)
      : listTasks(client, namespace, forCluster),
  );
  if (forCluster !== undefined && found.length === 0)
    await reading(() => unless(isForbidden, rawCluster(client, forCluster)));
  const shown = all === true ? found : found.filter(({ isOver }) => !isOver);
  await warnOfSilence(
    client,
    found.map(({ object }) => ({ since: object.metadata.creationTimestamp ?? "" })),
    viewOf(flags, query.program),
  );
  await print(shown, query, "rows");
  const of = forCluster === undefined ? "" : ` of Cluster ${namespacedName(forCluster)}`;
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const over = found.length - shown.length;
  const running = over > 0 ? " whose operation is not over" : "";
  if (shown.length === 0) stderr.line(`there is no HookTask${of}${where}${running}`);
  if (over > 0) stderr.line(`and ${over} of operations that are over (--all)`);
}

async function print(
  tasks: readonly ReadTask[],
  { flags, program }: Query,
  form: "rows" | "details",
): Promise<void> {
  const { taskLines, taskRows, tasksJson } = await import("./report.ts");
  if (flags.output === "json") return stdout.json(tasksJson(tasks));
  if (flags.output === "yaml") {
    const { yamlText } = await import("../terminal/yaml-text.ts");
    return stdout.document(yamlText(tasksJson(tasks)));
  }
  const view = { now: new Date(), ...viewOf(flags, program) };
  stdout.lines(form === "rows" ? taskRows(tasks, view) : tasks.flatMap((task) => taskLines(task, view)));
}

async function retry(client: KubeClient, task: ReadTask, { flags, program }: Query): Promise<void> {
  const { askForRetry, noRetry, retryText } = await import("./tasks.ts");
  const why = noRetry(task);
  const name = `HookTask ${namespacedName(task.key)}`;
  if (why !== undefined) throw new UsageError(`${name} ${why}`);
  const isTaken = await askForRetry(client, task);
  if (isTaken) return stdout.line(retryText(task));
  stdout.line(`asked for another attempt of ${name}`);
  const show = typed(taskCommand("show", task.key), viewOf(flags, program));
  throw new CommandError(FAILED, `the operator has not answered yet: see '${show}'`);
}
