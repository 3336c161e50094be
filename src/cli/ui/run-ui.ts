/** Serves the page until the user ends it. */

import { randomBytes } from "node:crypto";
import { codeOf } from "../../lib/thrown.ts";
import { loadKubeConfig } from "../../kube/kubeconfig.ts";
import type { About } from "../../page/wire.ts";
import { CommandError, FAILED } from "../command.ts";
import type { ConnectionFlags } from "../fleet/connection.ts";
import { readHolders } from "../get/holders.ts";
import { stderr, stdout } from "../terminal/output.ts";
import {
  calendar,
  clusterRows,
  explained,
  hooksOf,
  plan,
  simulated,
  type PageSource,
} from "./page-answers.ts";
import { followFleet } from "./fleet-follower.ts";
import { LiveFeed } from "./live-feed.ts";
import { openBrowser } from "./open-browser.ts";
import { pageFiles, servePage } from "./page-server.ts";

interface UiFlags extends ConnectionFlags {
  readonly port: number;
  readonly open: boolean;
}

const TOKEN_BYTES = 32;

export async function runUi(source: PageSource, flags: UiFlags, signal: AbortSignal): Promise<void> {
  const { port } = flags;
  const files = pageFiles();
  const holders = await readHolders(source.client);
  const feed = new LiveFeed();
  const about: About = {
    ...source.words,
    server: loadKubeConfig(flags).getCurrentCluster()?.server ?? "",
    hooks: hooksOf(source.options),
  };
  const page = await servePage({
    port,
    token: randomBytes(TOKEN_BYTES).toString("base64url"),
    files,
    feed,
    answers: {
      about: () => about,
      clusters: async () => clusterRows(source),
      explain: async (query) => explained(source, query),
      windows: async (query) => calendar(source, query),
      plan: async (query) => plan(source, query),
    },
    simulate: async (query, body) => simulated(source, query, body),
  }).catch((error: unknown) => {
    const code = codeOf(error) || String(error);
    throw new CommandError(FAILED, `cannot listen on 127.0.0.1:${port} (--port): ${code}`);
  });
  let forget: (() => void) | undefined;
  try {
    stdout.line(page.url);
    stderr.line("Anyone with this address can read the page: keep it private. Press Ctrl-C to end.");
    if (flags.open)
      forget = openBrowser(page.url, (why) => stderr.line(`note: no browser was opened: ${why}`));
    await followFleet(source.client, feed, { holders, words: source.words, signal });
  } finally {
    forget?.();
    await page.close();
  }
}
