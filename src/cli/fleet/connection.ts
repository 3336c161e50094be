/** Flags of commands that use the API server, and their failures. */

import { type Command, InvalidArgumentError } from "commander";
import { messageOf } from "../../lib/thrown.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import { CommandError, meantText, USAGE } from "../command.ts";
import { parseDuration } from "../../policy/duration.ts";
import { shellQuote } from "../../policy/message.ts";
import { nearest } from "../../policy/validation/field-message.ts";
import { stderr } from "../terminal/output.ts";

export interface ConnectionFlags {
  /** A file; absent: the same search as kubectl. */
  readonly kubeconfig?: string;
  /** A context of the kubeconfig; absent: the current one. */
  readonly context?: string;
}

export function addConnectionFlags(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "how to reach the API server; default: as kubectl")
    .option("--context <name>", "of the kubeconfig; default: the current one");
}

/** Appended to a printed command, so that it uses the same cluster: " --context prod". */
export function connectionWords({ kubeconfig, context }: ConnectionFlags): string {
  return Object.entries({ kubeconfig, context })
    .map(([flag, value]) => (value === undefined ? "" : ` --${flag} ${shellQuote(value)}`))
    .join("");
}

/** Parses a duration to milliseconds. */
export function parseTime(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Allowed: a duration such as 90s, 10m or 1h30m");
  return ms;
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

/** `others`: the Clusters that the user may list, for a suggestion. */
export function noCluster(
  { namespace, name }: Required<ObjectKey>,
  others: readonly ObjectKey[],
): CommandError {
  const key = namespacedName({ namespace, name });
  const names = others.map((other) => namespacedName({ namespace, ...other }));
  const meant = nearest(key, names) ?? names.find((each) => each.endsWith(`/${name}`));
  return new CommandError(USAGE, `there is no Cluster ${key}${meantText(meant)}`);
}

/** Reports a lost watch, which then recovers by itself. */
export function tellLost(message: string): void {
  stderr.line(`warning: ${message}; trying again`);
}
