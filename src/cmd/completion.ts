/** `hookpolicy completion`: scripts for shells. */

import { Argument, type Command } from "commander";
import { addExamples } from "../cli/command.ts";
import { completionScript, type Shell, SHELLS } from "../cli/completion.ts";

const EXAMPLES = `\
  # bash, in ~/.bashrc
  source <(hookpolicy completion bash)

  # zsh, in ~/.zshrc, after compinit
  source <(hookpolicy completion zsh)

  # fish
  hookpolicy completion fish > ~/.config/fish/completions/hookpolicy.fish`;

export function addCompletion(program: Command): void {
  const command = program
    .command("completion")
    .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
    .summary("completion for bash, zsh and fish")
    .description("Prints a script that completes commands, flags and their values.");
  addExamples(command, EXAMPLES);
  command.action((shell: Shell) => {
    process.stdout.write(completionScript(shell, program));
  });
}
