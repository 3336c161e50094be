/** `hookpolicy ui`: a page that shows the fleet, for the user who runs the command. */

import { Command } from "commander";
import { parseOptions } from "../../operator/options.ts";
import { type CommandCall, type FlagsOf, runs, wholeNumber } from "../command.ts";
import { addConnectionFlags, connectionWords, reading } from "../fleet/connection.ts";

const EXAMPLES = `\
  # Opens the page in the browser
  hookpolicy ui

  # Prints its address only, always with the same port: for an SSH tunnel
  hookpolicy ui --no-open --port 8088`;

const command = addConnectionFlags(
  new Command("ui")
    .summary("show the fleet in the browser")
    .description(
      "Serves a page on 127.0.0.1 that shows what is held and why, windows, rollouts, and what a changed policy would do. It reads with the rights of the kubeconfig, and changes nothing. Runs until it is interrupted.\n\nExit code: 0 interrupted; 1 the port is taken; 2 an API server that cannot be read or wrong usage.",
    )
    .option("--port <port>", "on 127.0.0.1; 0 is any free one", wholeNumber(0, 65_535), 0)
    .option("--no-open", "do not open a browser")
    .option(
      "--capi-version <version>",
      "Cluster API version that calls, such as 1.12; default: what the operator is told",
    ),
);

type Flags = FlagsOf<typeof command>;

export const addUi = runs(command, EXAMPLES, ui);

async function ui({ flags, program }: CommandCall<Flags>): Promise<void> {
  parseOptions({ "capi-version": flags.capiVersion }); // Refuses one that the operator would refuse.
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  const { operatorOptions } = await import("../fleet/operator-options.ts");
  const { runUi } = await import("./run-ui.ts");
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  const words = { program, connection: connectionWords(flags) };
  await reading(() =>
    withApiServer(flags, async (client) => {
      const found = await operatorOptions(client, flags.capiVersion);
      await runUi({ client, words, ...found }, flags, stop.signal);
    }),
  );
}
