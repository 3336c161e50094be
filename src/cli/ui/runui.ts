/** Serves the page until the user ends it. */

import { randomBytes } from "node:crypto";
import { codeOf } from "../../api/thrown.ts";
import { loadKubeConfig } from "../../kube/kubeconfig.ts";
import { VERSION } from "../../version.ts";
import type { About } from "../../ui/wire.ts";
import { CommandError, FAILED } from "../command.ts";
import type { ConnectionFlags } from "../fleet/connection.ts";
import { readHeld } from "../get/followheld.ts";
import { calendar, clusterRows, explained, hooksOf, plan, simulated, type Source } from "./pageanswers.ts";
import { followFleet } from "./fleetfollower.ts";
import { LiveFeed } from "./livefeed.ts";
import { pageFiles } from "./pagefiles.ts";
import { servePage } from "./pageserver.ts";

export interface UiOptions {
  readonly connection: ConnectionFlags;
  readonly port: number;
  readonly onUrl: (url: string) => void;
  readonly onLost: (message: string) => void;
  readonly signal: AbortSignal;
}

const TOKEN_BYTES = 32;

export async function runUi(
  source: Source,
  { connection, port, onUrl, onLost, signal }: UiOptions,
): Promise<void> {
  const files = pageFiles();
  const view = await readHeld(source.client);
  const feed = new LiveFeed();
  const about: About = {
    version: VERSION,
    ...source.words,
    server: loadKubeConfig(connection).getCurrentCluster()?.server ?? "",
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
    simulate: async (query, text) => simulated(source, query, text),
  }).catch((error: unknown) => {
    const code = codeOf(error) || String(error);
    throw new CommandError(FAILED, `cannot listen on 127.0.0.1:${port} (--port): ${code}`);
  });
  const lost = (message: string): void => {
    onLost(message);
    feed.lost(message);
  };
  try {
    onUrl(page.url);
    await followFleet(source.client, feed, { view, words: source.words, onLost: lost, signal });
  } finally {
    await page.close();
  }
}
