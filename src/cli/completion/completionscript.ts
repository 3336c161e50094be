/** Builds completion scripts from the program's commands. */

import type { Argument, Command, Option } from "commander";
import { HOOK_NAMES } from "../../api/runtimehooks.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Kinds of names that only the API server knows. */
export const LIVE = ["cluster", "policy", "policyref", "namespace", "rollout"] as const;
export type Live = (typeof LIVE)[number];

/** The possible values at a position: one of some words, a file, "live" or a file, a name, free text; absent: none. */
export type Values = readonly string[] | "file" | "fleet" | "text" | Live | undefined;

export interface Flag {
  /** "--output" */
  readonly long: string;
  /** "-o" */
  readonly short?: string;
  readonly description: string;
  readonly values: Values;
  readonly repeatable: boolean;
}

export interface Subcommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  readonly operand: Values;
  /** Behind the first operand, if that is one of some words; absent: there is none. */
  readonly second?: Values;
}

const NAMES = ["hookpolicy", "kubectl-hookpolicy"];

export function completionScript(shell: Shell, program: Command): string {
  const all = subcommands(program);
  switch (shell) {
    case "bash":
      return bash(all);
    case "zsh":
      return zsh(all);
    case "fish":
      return fish(all);
  }
}

export function subcommands(program: Command): readonly Subcommand[] {
  return program.commands.map((command) => describe(command, program));
}

export function isLive(values: Values): values is Live {
  return LIVE.some((live) => live === values);
}

function describe(command: Command, program: Command): Subcommand {
  const summary = command.summary() || command.description();
  const flags = [...command.options, ...program.options.filter(({ long }) => long !== "--version")].map(
    flagOf,
  );
  const help: Flag = {
    long: "--help",
    short: "-h",
    description: "print this help",
    values: undefined,
    repeatable: false,
  };
  const [first, second] = command.registeredArguments;
  return {
    name: command.name(),
    summary,
    flags: [...flags, help],
    operand: operandOf(first, program),
    ...(first?.argChoices !== undefined && second !== undefined && { second: operandOf(second, program) }),
  };
}

function flagOf({ long, short, description, argChoices, required, optional, flags, parseArg }: Option): Flag {
  const takesValue = required || optional;
  return {
    long: long ?? "",
    ...(short !== undefined && { short }),
    description,
    values: takesValue ? (argChoices ?? valuesOf(long, flags)) : undefined,
    repeatable: parseArg !== undefined && argChoices === undefined,
  };
}

function valuesOf(long: string | undefined, flags: string): Values {
  if (long === "--hook") return HOOK_NAMES;
  if (long === "--namespace") return "namespace";
  if (long === "--policy") return "policyref"; // KIND/NAME, of those that can apply to the Cluster
  if (long === "--against") return "fleet";
  return /<(?:path|file|dir|folder)>/.test(flags) ? "file" : "text";
}

function operandOf(first: Argument | undefined, program: Command): Values {
  if (first === undefined) return undefined;
  if (first.name() === "command") return program.commands.map((each) => each.name());
  if (first.argChoices !== undefined) return first.argChoices;
  const name = first.name();
  return LIVE.find((live) => live === name) ?? (FILES.has(name) ? "file" : "text");
}

const FILES: ReadonlySet<string> = new Set(["path", "file", "dir", "folder"]);

/** In single quotes, as bash and zsh accept them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function namesOf({ long, short }: Flag): readonly string[] {
  return short === undefined ? [long] : [short, long];
}

function bash(commands: readonly Subcommand[]): string {
  const names = commands.map(({ name }) => name);
  const values = commands.flatMap(({ name, flags }) =>
    flags
      .filter((flag) => flag.values !== undefined)
      .map(
        (flag) =>
          `    ${namesOf(flag)
            .map((each) => `${name},${each}`)
            .join("|")}) ${bashReply(flag.values)}; return ;;`,
      ),
  );
  const operands = commands.map(({ name, flags, operand, second }) => {
    const words = flags.flatMap(namesOf).join(" ");
    const behind = second === undefined ? "" : `elif ${bashSeen(operand)}; then ${bashReply(second)}; `;
    return `    ${name}) if [[ $cur == -* ]]; then _hookpolicy_words "${words}"; ${behind}else ${bashReply(operand)}; fi ;;`;
  });
  return `# Completion for bash: source <(hookpolicy completion bash)
_hookpolicy_words() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$cur")
}

_hookpolicy_files() {
  local word
  compopt -o filenames 2>/dev/null
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
}

# Names that the API server knows; what the program says behind a tab is for a person
_hookpolicy_names() {
  local word
  while IFS=$'\\t' read -r word _; do
    [[ $word == :* ]] || COMPREPLY+=("$word")
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

_hookpolicy() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command="" word
  COMPREPLY=()
  # bash splits --flag=value into three words
  if [[ $cur == "=" ]]; then cur=""
  elif [[ $prev == "=" ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in ${names.join("|")}) command=$word; break ;; esac
  done
  case $command,$prev in
${values.join("\n")}
  esac
  case $command in
    "") _hookpolicy_words "${[...names, "--help", "--version"].join(" ")}" ;;
${operands.join("\n")}
  esac
}

complete -F _hookpolicy ${NAMES.join(" ")}
`;
}

/** Whether one of the words stands before the one that is typed. */
function bashSeen(values: Values): string {
  const words = Array.isArray(values) ? values.join("|") : "";
  return `[[ " \${COMP_WORDS[*]:1:COMP_CWORD-1} " =~ " "(${words})" " ]]`;
}

function bashReply(values: Values): string {
  if (values === "file") return "_hookpolicy_files";
  if (values === "fleet") return '_hookpolicy_words "live"; _hookpolicy_files';
  if (isLive(values)) return "_hookpolicy_names";
  return values === undefined || values === "text" ? ":" : `_hookpolicy_words "${values.join(" ")}"`;
}

function zsh(commands: readonly Subcommand[]): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, flags, operand, second }) => {
    const specs = [
      ...flags.map(zshFlag),
      ...(second === undefined ? [] : [quoted(`1:value:${zshAction(operand)}`)]),
      ...(operand === undefined ? [] : [quoted(`*:value:${zshAction(second ?? operand)}`)]),
    ];
    return `    ${name})\n      _arguments ${specs.join(" \\\n        ")} ;;`;
  });
  return `#compdef ${NAMES.join(" ")}
# Completion for zsh: source <(hookpolicy completion zsh)
_hookpolicy_names() {
  local -a names
  names=(\${\${(f)"$(hookpolicy __complete "\${(@)words[1,CURRENT]}" 2>/dev/null)"}:#:*})
  compadd -- \${names%%$'\\t'*}
}

_hookpolicy() {
  local -a commands
  commands=(
${described.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join("\n")}
  esac
}

if [[ $funcstack[1] == _hookpolicy ]]; then _hookpolicy "$@"; else compdef _hookpolicy ${NAMES.join(" ")}; fi
`;
}

function zshFlag(flag: Flag): string {
  const names = namesOf(flag);
  const description = flag.description.replaceAll(/[[\]:\\]/g, String.raw`\$&`);
  const value = flag.values === undefined ? "" : `:value:${zshAction(flag.values)}`;
  const once = flag.repeatable ? "*" : names.length > 1 ? `(${names.join(" ")})` : "";
  const spec = quoted(`[${description}]${value}`);
  const prefix = once === "" ? "" : quoted(once);
  return names.length > 1 ? `${prefix}{${names.join(",")}}${spec}` : `${prefix}${names[0]}${spec}`;
}

function zshAction(values: Values): string {
  if (values === "file") return "_files";
  if (values === "fleet") return "{_alternative words\\:fleet\\:(live) files\\:file\\:_files}";
  if (isLive(values)) return "_hookpolicy_names";
  return values === undefined || values === "text" ? " " : `(${values.join(" ")})`;
}

function fish(commands: readonly Subcommand[]): string {
  const lines = commands.flatMap(({ name, summary, flags, operand, second }) => {
    const seen = `__fish_seen_subcommand_from ${name}`;
    const when = `-n ${quoted(seen)}`;
    const firsts = second !== undefined && Array.isArray(operand) ? operand.join(" ") : "";
    const first =
      firsts === "" ? when : `-n ${quoted(`${seen}; and not __fish_seen_subcommand_from ${firsts}`)}`;
    const behind = `-n ${quoted(`${seen}; and __fish_seen_subcommand_from ${firsts}`)}`;
    return [
      `complete -c PROGRAM -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
      ...flags.map((flag) => `complete -c PROGRAM ${when} ${fishFlag(flag)}`),
      ...(operand === undefined || operand === "text"
        ? []
        : [`complete -c PROGRAM ${first} ${fishOperand(operand)}`]),
      ...(second === undefined || second === "text"
        ? []
        : [`complete -c PROGRAM ${behind} ${fishOperand(second)}`]),
    ];
  });
  const all = NAMES.map((name) =>
    ["complete -c PROGRAM -f", ...lines].join("\n").replaceAll("PROGRAM", name),
  );
  return `# Completion for fish: hookpolicy completion fish | source\n${all.join("\n")}\n`;
}

function fishFlag({ long, short, description, values }: Flag): string {
  const names = [
    `-l ${long.replace(/^--/, "")}`,
    ...(short === undefined ? [] : [`-s ${short.replace(/^-/, "")}`]),
  ];
  return [...names, ...fishValues(values), `-d ${fishQuoted(description)}`].join(" ");
}

function fishValues(values: Values): readonly string[] {
  if (values === undefined) return [];
  if (values === "file") return ["-r", "-F"];
  if (values === "fleet") return ["-r", "-F", "-a live"];
  if (isLive(values)) return ["-x", `-a ${FISH_NAMES}`];
  return values === "text" ? ["-x"] : ["-x", `-a ${fishQuoted(values.join(" "))}`];
}

const FISH_NAMES = fishQuoted(
  "(hookpolicy __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string match -v ':*')",
);

function fishOperand(operand: readonly string[] | "file" | "fleet" | Live): string {
  if (isLive(operand)) return `-a ${FISH_NAMES}`;
  return operand === "file" || operand === "fleet" ? "-F" : `-a ${fishQuoted(operand.join(" "))}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
