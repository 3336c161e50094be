/** `hookpolicy init`: creates a folder to start with; `init tasks`: prints the rights of tasks. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { DNS_LABEL, DNS_SUBDOMAIN } from "../../lib/dns-names.ts";
import { codeOf, messageOf, UsageError } from "../../lib/thrown.ts";
import { clusterName, collecting, CommandError, FAILED, type FlagsOf, runs } from "../command.ts";
import { stderr, stdout } from "../terminal/output.ts";
import { parseGrant } from "./task-rights.ts";

/** The word in place of a folder; a folder of this name is ./tasks. */
const TASKS = "tasks";
const ACCOUNT = "cluster-tasks";
const OPERATOR = { namespace: "hookpolicy-system", name: "hookpolicy" };

const EXAMPLES = `\
  # In a new folder, then what its pipelines do
  hookpolicy init cluster-policies
  cd cluster-policies
  hookpolicy validate policies/
  hookpolicy test tests/

  # A ServiceAccount for the tasks of team-a, which may run Jobs
  hookpolicy init tasks -n team-a --may create,get,delete:jobs.batch > rights.yaml`;

const command = new Command("init")
  .argument("[dir]", "the folder, or 'tasks' for the rights of tasks", ".")
  .summary("a folder to start with: policy, suite, pipelines; rights of tasks")
  .description(
    "Writes a policy, a test suite for it, pipelines for GitHub and GitLab, an entry for pre-commit and the schema that editors read. Files that are there already are left as they are.\n\n'init tasks' prints a ServiceAccount for the tasks of a namespace, what it may do, and that the operator may act as it. Name all rights in one call: once applied, another one replaces them.\n\nExit code: 0 done, 1 a file that cannot be written, 2 wrong usage.",
  )
  .option(
    "-n, --namespace <name>",
    "tasks: the namespace of the ServiceAccount",
    nameOf("namespace", DNS_LABEL),
  )
  .option(
    "--may <rights>",
    "tasks: what the ServiceAccount may do, such as create,get,delete:jobs.batch; repeatable",
    collecting(parseGrant),
  )
  .option(
    "--service-account <name>",
    `tasks: the name of the ServiceAccount; default: ${ACCOUNT}`,
    nameOf("ServiceAccount", DNS_SUBDOMAIN),
  )
  .option(
    "--operator <namespace/name>",
    `tasks: the ServiceAccount of the operator; default: ${OPERATOR.namespace}/${OPERATOR.name}`,
    clusterName,
  );

type Flags = FlagsOf<typeof command>;

export const addInit = runs(command, EXAMPLES, async ({ flags }, dir) => {
  if (dir === TASKS) return await printRights(flags);
  const [flag] = Object.keys(command.opts());
  if (flag !== undefined) throw new UsageError(`its flags are for 'init ${TASKS}'`);
  await init(dir);
});

function nameOf(what: string, pattern: RegExp): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`Allowed: the name of a ${what}`);
  };
}

async function printRights(flags: Flags): Promise<void> {
  const { namespace, may, serviceAccount: name = ACCOUNT, operator = OPERATOR } = flags;
  if (namespace === undefined) throw new UsageError("say the namespace of the policy with -n");
  if (may === undefined)
    throw new UsageError("say what the tasks may do with --may, such as create,get,delete:jobs.batch");
  const { taskRightsYaml } = await import("./task-rights.ts");
  stdout.document(taskRightsYaml({ namespace, name }, may, operator));
}

async function init(dir: string): Promise<void> {
  if (dir === "") throw new UsageError("the path is empty");
  const { NPM_PACKAGE, SCHEMA_FILE, starterFiles } = await import("./starter.ts");
  const { editorSchema } = await import("./editor-schema.ts");
  for (const [name, content] of Object.entries({ ...starterFiles(), [SCHEMA_FILE]: editorSchema() })) {
    const path = join(dir, name);
    try {
      await makeFolder(resolve(dirname(path)));
      await writeFile(path, content, { flag: "wx" });
      stdout.line(`wrote ${path}`);
    } catch (error) {
      const code = codeOf(error);
      if (code === "") throw error;
      if (code !== "EEXIST") throw new CommandError(FAILED, `cannot write ${path}: ${messageOf(error)}`);
      stderr.line(`${path} exists: left as it is`);
    }
  }
  stdout.line("");
  stdout.line(
    `HookPolicy is on no public registry. Put ${NPM_PACKAGE} of a release where your pipelines reach it, and write its URL`,
  );
  stdout.line("into them as HOOKPOLICY_PACKAGE, and its checksum in SHA256SUMS as HOOKPOLICY_SHA256.");
}

/** Node's own recursive mkdir never ends on a file system without room for folders, such as /proc. */
async function makeFolder(path: string, parentIsMade = false): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || parentIsMade) throw error;
    await makeFolder(dirname(path));
    await makeFolder(path, true);
  }
}
