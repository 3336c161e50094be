/** Whether the operator runs: what it renews and writes shows when it last did. */

import type { HookRollout } from "../../api/hook-policy.ts";
import { ageText } from "../../lib/age.ts";
import { fieldsOf } from "../../lib/fields.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, KubeError } from "../../kube/kube-error.ts";
import { resourceName } from "../../kube/resource.ts";
import { LEADER_LEASE, LEASES } from "../../kube/resources.ts";
import { stderr } from "../terminal/output.ts";
import { adviceText, type CommandWords, SEE_DOCTOR } from "../terminal/printed-command.ts";
import type { Due, HeldFleet } from "./held.ts";

/** The operator writes a status soon after the instant that it names, and renews its Lease every few seconds. */
const OVERDUE_MS = 60_000;

/** The last instant at which a Lease or a row shows that the operator ran; `undefined`: unknown, or it runs. */
export function silentSince(
  seen: Date | undefined,
  rows: readonly { readonly since: string }[],
  now: Date,
): Date | undefined {
  if (seen === undefined) return undefined;
  const latest = Math.max(seen.getTime(), ...rows.map(({ since }) => Date.parse(since) || 0));
  return latest < now.getTime() - OVERDUE_MS ? new Date(latest) : undefined;
}

export function signOfLife(seen: Date, now: Date): string {
  return `the operator's last sign of life is ${ageText(now.getTime() - seen.getTime())} old: it seems not to run, or cannot write`;
}

/** Policies whose status the operator should have written by now, so that their rows can be out of date. */
export function overdue({ due }: HeldFleet, now: Date): readonly Due[] {
  return due
    .filter(({ since }) => Date.parse(since) < now.getTime() - OVERDUE_MS)
    .toSorted((a, b) => Date.parse(a.since) - Date.parse(b.since));
}

export type OperatorSeen = Pick<HeldFleet, "operatorSeen" | "operatorUnread">;

/** When the leader last renewed its Lease, or why that is unknown: most users may not read it. */
export async function operatorSeen(client: KubeClient): Promise<OperatorSeen> {
  try {
    const { items } = await client.list(LEASES, { name: LEADER_LEASE });
    if (items.length === 0) return { operatorUnread: "no operator has a Lease, as without --leader-elect" };
    const times = items.map((lease) => Date.parse(String(fieldsOf(lease["spec"])["renewTime"])));
    const latest = Math.max(...times.filter((time) => !Number.isNaN(time)));
    return Number.isFinite(latest) ? { operatorSeen: new Date(latest) } : {};
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const why = isForbidden(error) ? `you may not list ${resourceName(LEASES)}` : error.message;
    return { operatorUnread: why };
  }
}

/** That the operator seems not to run; `undefined`: it runs, or that is unknown. `rows`: what it wrote. */
export async function operatorSilence(
  client: KubeClient,
  rows: readonly { readonly since: string }[],
): Promise<string | undefined> {
  const { operatorSeen: seen } = await operatorSeen(client);
  // The operator's times are compared with the API server's: this machine's clock may be wrong.
  const now = client.serverClock.serverTime();
  const silent = silentSince(seen, rows, now);
  return silent && signOfLife(silent, now);
}

export async function warnOfSilence(
  client: KubeClient,
  rows: Parameters<typeof operatorSilence>[1],
  words: CommandWords,
): Promise<void> {
  const silence = await operatorSilence(client, rows);
  if (silence !== undefined)
    stderr.line(`warning: ${silence}, and this can be out of date; ${adviceText(SEE_DOCTOR, words)}`);
}

/** Slots that were renewed show that the operator runs. */
export async function warnOfSilentRollouts(
  client: KubeClient,
  rollouts: readonly HookRollout[],
  words: CommandWords,
): Promise<void> {
  const running = rollouts.flatMap(({ status }) => status?.running ?? []);
  await warnOfSilence(
    client,
    running.map(({ renewedAt }) => ({ since: renewedAt })),
    words,
  );
}
