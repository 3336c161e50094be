/** kubectl takes its flags before the command as well: `--context prod get`. Commander knows flags of a command only behind it. */

import type { CommandUnknownOpts, Option } from "commander";

/** The same words with the flags that stand before the command behind it. */
export function flagsBehind(words: readonly string[], program: CommandUnknownOpts): readonly string[] {
  const options = optionsOf(program);
  let start = 0;
  for (let word = words[start]; word !== undefined && word.startsWith("-"); word = words[start]) {
    const option = options.get(word.split("=", 1)[0] ?? "");
    if (option === undefined) return words;
    start += option.required && !word.includes("=") ? 2 : 1;
  }
  const length = commandLength(words.slice(start), program);
  const path = words.slice(start, start + length);
  return length === 0 ? words : [...path, ...words.slice(0, start), ...words.slice(start + length)];
}

/** Those of the program and of all commands, by each of their names, without --version, which needs no command. */
function optionsOf(program: CommandUnknownOpts): ReadonlyMap<string, Option> {
  const all = (command: CommandUnknownOpts): readonly Option[] => [
    ...command.options,
    ...command.commands.flatMap((each) => all(each)),
  ];
  const options = all(program).filter((option) => option.name() !== "version");
  return new Map(
    options.flatMap((option) => [option.short, option.long].map((name) => [name ?? "", option])),
  );
}

/** How many of the first words name a command, and an action of it. */
function commandLength([word, ...rest]: readonly string[], { commands }: CommandUnknownOpts): number {
  const command = commands.find((each) => each.name() === word);
  return command === undefined ? 0 : 1 + commandLength(rest, command);
}
