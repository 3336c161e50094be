/** `hookpolicy completion`: completion scripts for shells, and the completions that they and kubectl request. */

import { homedir } from "node:os";
import { Argument, Command, type CommandUnknownOpts } from "commander";
import { isPrintable } from "../../lib/printable.ts";
import { runs } from "../command.ts";
import { completionText, answerTo, flagValue, type Live, offer } from "./completion-answer.ts";
import { SCRIPTS } from "./completion-script.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { NamesOptions } from "../fleet/live-objects.ts";
import { stdout } from "../terminal/output.ts";

const EXAMPLES = `\
  # bash, in ~/.bashrc
  source <(hookpolicy completion bash)

  # zsh, in ~/.zshrc, after compinit
  source <(hookpolicy completion zsh)

  # fish
  hookpolicy completion fish > ~/.config/fish/completions/hookpolicy.fish`;

const command = new Command("completion")
  .addArgument(new Argument("<shell>", "your shell").choices(["bash", "zsh", "fish"]))
  .summary("completion for bash, zsh and fish")
  .description(
    "Prints a script that completes commands, flags, their values, and names of Clusters, policies and rollouts.\n\nExit code: 0 printed, 2 wrong usage.",
  );

export const addCompletion = runs(command, EXAMPLES, (_, shell) => stdout.document(SCRIPTS[shell]));

/** The longest time that a user waits for names. */
const TIMEOUT_MS = 3000;

/** A failure must not disturb the user's input, so the answer is then empty. */
export async function answerCompletion(words: readonly string[], program: CommandUnknownOpts): Promise<void> {
  const answer = answerTo(words, program);
  const typed = words.at(-1) ?? "";
  if (answer.live === undefined) {
    stdout.document(completionText(answer));
    return;
  }
  const { kind, prefix } = answer.live;
  const names = await liveNames(kind, words, typed.slice(prefix.length)).catch(() => []);
  // A name with unprintable characters cannot be typed.
  const candidates = names.filter(isPrintable).map((name) => ({ value: `${prefix}${name}` }));
  stdout.document(completionText(offer(candidates, typed)));
}

async function liveNames(kind: Live, words: readonly string[], typed: string): Promise<readonly string[]> {
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  // The shell has not expanded the typed words.
  const kubeconfig = flagValue(words, "--kubeconfig")?.replace(/^~(?=\/)/, homedir());
  const context = flagValue(words, "--context");
  // A lower-case word is the name of a Cluster, unlike KIND/NAME.
  const cluster = words.slice(1).find((word) => /^[a-z0-9-]+\/[a-z0-9.-]+$/.test(word));
  const named = (kind === "policyref" ? cluster : typed)?.match(/^([^/]*)\//)?.[1];
  // `task list -n` is not about the Cluster of --for-cluster, which is never a NAME.
  const given =
    flagValue(words, "--for-cluster") === undefined ? flagValue(words, "-n", "--namespace") : undefined;
  const namespace = named ?? given;
  const isShort = named === undefined && given !== undefined;
  const options = {
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(namespace !== undefined && { namespace }),
  };
  const connection = {
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
  };
  return await withApiServer(connection, async (client) => await namesOf(client, { kind, isShort }, options));
}

async function namesOf(
  client: KubeClient,
  { kind, isShort }: { readonly kind: Live; readonly isShort: boolean },
  options: NamesOptions,
): Promise<readonly string[]> {
  const liveObjects = await import("../fleet/live-objects.ts");
  const { namespacedName } = await import("../../lib/keys.ts");
  const { HOOK_TASKS, NAMESPACES, POLICY_RESOURCES, ROLLOUTS } = await import("../../kube/resources.ts");
  const policies = [...Object.values(POLICY_RESOURCES), ROLLOUTS];
  const known = {
    namespace: [NAMESPACES],
    rollout: [ROLLOUTS],
    task: [HOOK_TASKS],
    policy: policies,
    policyref: policies,
  };
  const resources =
    kind === "cluster" ? [await liveObjects.clusterResource(client, options.signal)] : known[kind];
  const lists = resources.map(async (resource) => {
    const keys = await liveObjects.namesOf(client, resource, options);
    const names = keys.map((key) => (isShort ? key.name : namespacedName(key)));
    return kind === "policyref" ? keys.map(({ name }) => `${resource.kind}/${name}`) : names;
  });
  return (await Promise.all(lists)).flat();
}
