/**
 * The wall clock is set while calls come in. A module that is loaded first shifts Date in the processes of the replicas;
 * timers run on, as they do when a real clock is set. Both replicas share the clock, and answers are judged by it.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WindowGateSpec } from "../../src/api/hook-policy.ts";
import { installClusterDefinition } from "../../test/controlplane/cluster-api.ts";
import { issueServingCertificate, writeServingCertificate } from "../../test/controlplane/operator.ts";
import { inSeconds, policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import type { Truth } from "./judge.ts";
import { type Lab, numbered, type ReplicaOptions } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const HOUR_MS = 60 * 60_000;
const TWO_YEARS_MS = 2 * 365 * 24 * HOUR_MS;
const CLUSTERS = 18;

/** A namespace whose policy has that window, and whether the window is open before and after the step. */
type Group = readonly [namespace: string, window: () => WindowGateSpec, before: Truth, after: Truth];

interface Step {
  readonly id: string;
  readonly over?: string;
  /** Time of the replicas' clock at the start; default: now. */
  readonly startsAt?: string;
  readonly byMs?: number;
  readonly groups: readonly Group[];
}

const ALWAYS_SO: readonly Group[] = [
  ["open", fromTo(-300, 300), "Yes", "Yes"],
  ["closed", fromTo(300, 400), "No", "No"],
];

const STEPS: readonly Step[] = [
  {
    id: "clock-forward",
    groups: [
      ["closes", fromTo(-120, 30), "Yes", "No"],
      ["opens", fromTo(30, 300), "No", "Yes"],
      ...ALWAYS_SO,
    ],
  },
  {
    id: "clock-backward",
    byMs: -HOUR_MS,
    groups: [
      ["closes", fromTo(-30, 300), "Yes", "No"],
      ["opens", fromTo(-300, -30), "No", "Yes"],
      ...ALWAYS_SO,
    ],
  },
  {
    // The hour from 02:00 does not exist that night: 01:30 becomes 03:30.
    id: "clock-spring",
    over: "spring",
    startsAt: "2027-03-28T00:30:00Z",
    groups: [
      ["in-the-gap", daily("30 2 * * *", "1h"), "No", "Yes"],
      ["across", daily("0 22 * * *", "4h"), "Yes", "No"],
      ["long", daily("0 22 * * *", "5h"), "Yes", "Yes"],
      ["later", daily("0 4 * * *", "1h"), "No", "No"],
    ],
  },
  {
    // The hour from 02:00 comes twice that night: the first 02:30 becomes the second.
    id: "clock-autumn",
    over: "autumn",
    startsAt: "2027-10-31T00:30:00Z",
    groups: [
      ["first-only", daily("0 2 * * *", "45m"), "Yes", "No"],
      ["in-the-fold", daily("45 2 * * *", "1h"), "No", "Yes"],
      ["long", daily("0 22 * * *", "6h"), "Yes", "Yes"],
      ["later", daily("0 4 * * *", "1h"), "No", "No"],
    ],
  },
];

/** A window between two times, in minutes from the moment at which it is stored. */
function fromTo(from: number, to: number): () => WindowGateSpec {
  return () => ({ allow: [{ from: inSeconds(from * 60), to: inSeconds(to * 60) }] });
}

function daily(schedule: string, duration: string): () => WindowGateSpec {
  return () => ({ timeZone: "Europe/Berlin", allow: [{ schedule, duration }] });
}

function scenarioOf({ id, over, startsAt, byMs = HOUR_MS, groups }: Step): Scenario {
  const edge = over === undefined ? "" : ` over the ${over} edge of daylight saving time`;
  // How far the replicas' clock is ahead of the machine's, fixed when the first replica starts.
  let offset: number | undefined;
  const start = (): number => (offset ??= startsAt === undefined ? 0 : Date.parse(startsAt) - Date.now());
  return {
    id,
    title: `Clock stepped by ${byMs < 0 ? "-" : "+"} 1 h${edge}, and back`,
    arrange: (lab) => arrangeGroups(lab, groups),
    replica: (lab, index) => withClock(lab, index, start()),
    inject: (lab) => setClock(lab, start() + byMs, groups, 3),
    heal: (lab) => setClock(lab, start(), groups, 2),
  };
}

async function arrangeGroups(lab: Lab, groups: readonly Group[]): Promise<void> {
  await installClusterDefinition(lab.cp);
  for (const [namespace, window, before] of groups) {
    await lab.addClusters(namespace, numbered(CLUSTERS, "c"), { satisfied: before });
    const until = [{ name: "window", window: window() }];
    await storePolicy(lab.cp, policyRef(namespace, "window"), {
      rules: [{ name: "window", hooks: [lab.hook], until, retryAfterSeconds: 5 }],
    });
  }
}

const clockFile = (lab: Lab): string => join(lab.cp.folder, "clock");

async function withClock(lab: Lab, index: number, offset: number): Promise<ReplicaOptions> {
  // The certificate has to be valid by both clocks.
  const pair = await issueServingCertificate(lab.cp, { validMs: TWO_YEARS_MS });
  const certDir = join(lab.cp.folder, `clock-certs-${index}`);
  await writeServingCertificate(certDir, pair);
  await writeFile(clockFile(lab), String(offset));
  const preload = `data:text/javascript,${encodeURIComponent(shiftedDate(clockFile(lab)))}`;
  return { nodeFlags: [`--import=${preload}`], flags: { "webhook-cert-dir": certDir } };
}

/**
 * Reads the offset from the file at the start and at SIGUSR2, and writes what it has read beside it. It shifts the dates in
 * responses of the API server, too: nothing is released while that clock shows another time (test/redteam/clocks.test.ts).
 */
function shiftedDate(file: string): string {
  return `
    import { readFileSync, writeFileSync } from "node:fs";
    const file = ${JSON.stringify(file)};
    const RealDate = Date;
    let offset = 0;
    const now = () => RealDate.now() + offset;
    const parse = (text) => RealDate.parse(text) + (/^[A-Z][a-z]{2}, .* GMT$/.test(text) ? offset : 0);
    const set = () => {
      offset = Number(readFileSync(file, "utf8"));
      writeFileSync(file + "." + process.pid, String(offset));
    };
    globalThis.Date = new Proxy(RealDate, {
      construct: (target, args) => new target(...(args.length === 0 ? [now()] : args)),
      apply: () => new RealDate(now()).toString(),
      get: (target, key) => ({ now, parse })[key] ?? target[key],
    });
    set();
    process.on("SIGUSR2", set);`;
}

/** `state`: the element of a group that says whether its window is open once the clock is set. */
async function setClock(lab: Lab, offset: number, groups: readonly Group[], state: 2 | 3): Promise<void> {
  let setting: Promise<void> | undefined;
  const set = async (): Promise<void> => await (setting ??= setClocks(lab, offset));
  const changes = groups.map(
    async (group) => await lab.change(lab.of(group[0]), { satisfied: group[state] }, set),
  );
  await Promise.all(changes);
}

async function setClocks(lab: Lab, offset: number): Promise<void> {
  const file = clockFile(lab);
  await writeFile(file, String(offset));
  for (const { operator } of lab.replicas) operator.daemon.signal("SIGUSR2");
  for (const { name, operator } of lab.replicas) {
    await lab.cp.waitFor(`${name} to have set its clock`, async () => {
      return (await readFile(`${file}.${operator.daemon.pid}`, "utf8")) === String(offset);
    });
  }
}

export const CLOCK: readonly Scenario[] = STEPS.map(scenarioOf);
