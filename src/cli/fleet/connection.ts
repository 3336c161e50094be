/** Flags of commands that use the API server, and their failures. */

import {
  type Command,
  type CommandUnknownOpts,
  InvalidArgumentError,
  Option,
  type OptionValues,
} from "commander";
import { messageOf } from "../../lib/thrown.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import type { KubeConfigSource } from "../../kube/kubeconfig.ts";
import { collect, CommandError, meantDuration, meantText, USAGE } from "../command.ts";
import { parseDuration } from "../../lib/duration.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import { nearest } from "../../lib/did-you-mean.ts";
import type { ColourWish } from "../terminal/colour.ts";
import { stderr } from "../terminal/output.ts";
import type { CommandWords } from "../terminal/printed-command.ts";
import { type Terminal, terminalOf } from "../terminal/terminal.ts";

/**
 * kubectl's flags: absent means what kubectl does without them. `requestTimeout` is in milliseconds; 0: no limit.
 * No interface, which Commander's types do not take.
 */
export type ConnectionFlags = Readonly<KubeConfigSource & { requestTimeout?: number }>;

/** Named in the help. */
const SHOWN = {
  kubeconfig: new Option("--kubeconfig <file>", "how to reach the API server; default: as kubectl"),
  context: new Option(
    "--context <name>",
    "of the kubeconfig; default: the current one (kubectl's --server, --as and the like work, too)",
  ),
};

/** The rest of genericclioptions.ConfigFlags (k8s.io/cli-runtime). */
const OTHERS = {
  cluster: new Option("--cluster <name>"),
  user: new Option("--user <name>"),
  server: new Option("-s, --server <url>"),
  tlsServerName: new Option("--tls-server-name <name>"),
  certificateAuthority: new Option("--certificate-authority <file>"),
  insecureSkipTlsVerify: new Option("--insecure-skip-tls-verify"),
  token: new Option("--token <token>"),
  clientCertificate: new Option("--client-certificate <file>"),
  clientKey: new Option("--client-key <file>"),
  username: new Option("--username <name>"),
  password: new Option("--password <password>"),
  as: new Option("--as <user>"),
  asUid: new Option("--as-uid <uid>"),
  asGroup: new Option("--as-group <group>").argParser(collect),
  asUserExtra: new Option("--as-user-extra <key=value>").argParser(collect),
  requestTimeout: new Option("--request-timeout <duration>").argParser(parseRequestTimeout),
} as const satisfies Partial<Record<keyof ConnectionFlags, Option>>;

const SECRETS: ReadonlySet<string> = new Set(["token", "password"]);

export function addConnectionFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & ConnectionFlags>;
export function addConnectionFlags(command: CommandUnknownOpts): CommandUnknownOpts {
  for (const option of Object.values(SHOWN)) command.addOption(option);
  for (const option of Object.values(OTHERS)) command.addOption(option.hideHelp());
  return command;
}

/** Appended to a printed command, so that it uses the same cluster as the same user: " --context prod". No secrets. */
export function connectionWords(flags: ConnectionFlags): string {
  const given: Readonly<Record<string, unknown>> = { ...flags };
  return Object.entries({ ...SHOWN, ...OTHERS })
    .filter(([name]) => given[name] !== undefined && !SECRETS.has(name))
    .flatMap(([name, { long }]) => valuesOf(given[name]).map((value) => ` ${long}${value}`))
    .join("");
}

/** How a command prints for the user who gave these flags. */
export function viewOf(flags: ConnectionFlags & ColourWish, program: string): Terminal & CommandWords {
  return { program, connection: connectionWords(flags), ...terminalOf(process.stdout, flags) };
}

/** As typed behind the flag; once for each value of a flag that can be repeated. */
function valuesOf(value: unknown): readonly string[] {
  if (typeof value === "number") return [` ${value}ms`]; // --request-timeout
  if (typeof value === "string") return [` ${shellQuote(value)}`];
  return Array.isArray(value) ? value.flatMap((each: unknown) => valuesOf(each)) : [""];
}

/** As in kubectl, a bare number means seconds. */
function parseRequestTimeout(text: string): number {
  return /^\d+$/.test(text) ? Number(text) * 1000 : parseTime(text);
}

export function parseTime(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  const hint = meantDuration(text);
  throw new InvalidArgumentError(
    `Allowed: a duration such as 90s, 10m or 1h30m${hint === undefined ? "" : ` (${hint})`}`,
  );
}

/** A failed read is a usage error with a one-line message. */
export async function reading<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(USAGE, messageOf(error));
  }
}

/** `others`: the Clusters that the user may list, for a suggestion; `place`: where was looked. */
export function noCluster(
  { namespace, name }: Required<ObjectKey>,
  others: readonly ObjectKey[],
  place = "",
): CommandError {
  const key = namespacedName({ namespace, name });
  const known = others.map((other) => ({ namespace, ...other }));
  // Names alone are compared: with a namespace before them, every short name would be near.
  const beside = known.filter((other) => other.namespace === namespace);
  const near = nearest(
    name,
    beside.map((other) => other.name),
  );
  const found = beside.find((other) => other.name === near) ?? known.find((other) => other.name === name);
  const meant = found && namespacedName(found);
  return new CommandError(USAGE, `there is no Cluster ${key}${place}${meantText(meant)}`);
}

/** `kinds`: "HookTasks" */
export function notServed(kinds: string): CommandError {
  const why = "HookPolicy, or its CRDs, are not installed in this cluster";
  return new CommandError(USAGE, `the API server serves no ${kinds}: ${why}`);
}

/** Reports a lost watch, which then recovers by itself. */
export function tellLost(message: string): void {
  stderr.line(`warning: ${message}; trying again`);
}
