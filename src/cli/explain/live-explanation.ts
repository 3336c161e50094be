/** Reads from the API server what the explanation of a Cluster needs. */

import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { OLDEST_CAPI_MINOR, type Options } from "../../operator/options.ts";
import { servedHooks } from "../../api/hook-catalog.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { failedCall, unconfirmed } from "../fleet/caveats.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { readCluster, type UnreadKind } from "../fleet/live-fleet.ts";
import { operatorSilence } from "../fleet/operator-life.ts";
import type { ClusterName } from "../fleet/live-cluster.ts";
import type { OperatorOptions } from "../fleet/operator-options.ts";
import { type Advice, advice, SEE_DOCTOR } from "../terminal/printed-command.ts";
import { type ExplainOptions, type ExplainWish, queriesFor } from "./explanation.ts";

/** Gives the arguments of explain(). Every failure is a KubeError or a CommandError. */
export async function readExplainable(
  client: KubeClient,
  name: ClusterName,
  { wish, options, assumed }: OperatorOptions & { readonly wish: ExplainWish },
): Promise<{ readonly fleet: Fleet; readonly options: ExplainOptions }> {
  const now = new Date();
  const { fleet, cluster, raw, unread } = await readCluster(client, name, {
    options,
    now,
    queries: (seen, found) => queriesFor(seen, { ...wish, cluster: found, now, unread: [], live: true }),
  });
  const failed = failedCall(raw);
  const lastCall = failed === undefined ? await lastAnswerNote(client, raw, fleet) : failedNote(failed);
  const notes = unread.map(({ what, verb }) => {
    return { text: `you may not ${verb}: ${MAY[what]}`, policies: MAY[what] === HOLDS };
  });
  const version = assumed ? versionNote(wish, options) : [];
  return {
    fleet,
    options: {
      ...wish,
      cluster,
      now,
      unread: [...notes, ...version],
      live: true,
      lastCall,
      callsFail: failed !== undefined,
    },
  };
}

/** Where it depends on the operator's flag, which the user may not read, whether Cluster API waits. */
function versionNote({ hook }: ExplainWish, { capiVersion }: Options): ExplainOptions["unread"] {
  const [assumed, oldest] = [capiVersion.minor, OLDEST_CAPI_MINOR].map(
    (minor) => servedHooks(minor).blocking,
  );
  if (hook === undefined || !assumed?.has(hook) || oldest?.has(hook) === true) return [];
  const text = `you may not list deployments.apps, so the operator's --capi-version is not known: this is for Cluster API ${capiVersion.text}`;
  return [{ text, policies: false }];
}

function failedNote(failed: string): Advice {
  return advice`Cluster API's last call failed, and the Cluster stays as it is until one succeeds: ${failed}; ${SEE_DOCTOR}`;
}

/** That the operator has stopped, or could not confirm a release. */
async function lastAnswerNote(
  client: KubeClient,
  cluster: RawObject,
  { policies }: Fleet,
): Promise<Advice | undefined> {
  const rows = policies.flatMap(({ status }) => listOf(status.decisions));
  const since = rows.map((row) => ({ since: textOf(fieldsOf(row)["since"]) }));
  // Without a Lease, one without --leader-elect may run; if none does, a call has failed as soon as Cluster API makes one.
  const silence = await operatorSilence(client, since);
  if (silence === undefined) return unconfirmed(cluster);
  return advice`${silence}; while none runs, Cluster API's calls fail, and the Cluster stays as it is; below is what the policies would answer; ${SEE_DOCTOR}`;
}

const HOLDS = "one of them can hold the Cluster";
const OTHERS = "what depends on it is not evaluable here, though it can be for the operator";

const MAY: Readonly<Record<UnreadKind["what"], string>> = {
  HookPolicies: HOLDS,
  ClusterHookPolicies: HOLDS,
  HookRollouts: HOLDS,
  HookOverrides: "one of them can release the Cluster",
  HookTasks: "what tasks have done is unknown here, and rules with tasks are not evaluable",
  Namespace: OTHERS,
  Namespaces: OTHERS,
};
