/**
 * A wall clock that is set while calls come. Nobody may set the machine's, so Date in the replicas' processes is
 * shifted, by a module that is loaded before them; timers run on, as they do when a real clock is set. What is right
 * follows from the clock as it is set, which both replicas share.
 */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WindowGateSpec } from "../../src/api/hookpolicy.ts";
import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import { issueServingCertificate, writeServingCertificate } from "../../test/controlplane/operator.ts";
import { inSeconds, policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import type { Truth } from "./expectation.ts";
import { type Lab, numbered } from "./lab.ts";
import type { ReplicaOptions } from "./replica.ts";
import type { Scenario } from "./scenario.ts";

const HOUR_MS = 60 * 60_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const CLUSTERS = 18;

/** A namespace whose policy has that window; whether it is open before the step, and after it. */
type Group = readonly [namespace: string, window: WindowGateSpec, before: Truth, after: Truth];

interface Step {
  readonly id: string;
  readonly title: string;
  /** By this clock; absent: now. */
  readonly startsAt?: string;
  readonly byMs: number;
  readonly groups: readonly Group[];
}

const ALWAYS_SO: readonly Group[] = [
  ["open", fromTo(-300, 300), "Yes", "Yes"],
  ["closed", fromTo(300, 400), "No", "No"],
];

const STEPS: readonly Step[] = [
  {
    id: "clock-forward",
    title: "Clock stepped by + 1 h, and back",
    byMs: HOUR_MS,
    groups: [
      ["closes", fromTo(-120, 30), "Yes", "No"],
      ["opens", fromTo(30, 300), "No", "Yes"],
      ...ALWAYS_SO,
    ],
  },
  {
    id: "clock-backward",
    title: "Clock stepped by - 1 h, and back",
    byMs: -HOUR_MS,
    groups: [
      ["closes", fromTo(-30, 300), "Yes", "No"],
      ["opens", fromTo(-300, -30), "No", "Yes"],
      ...ALWAYS_SO,
    ],
  },
  {
    // 02:00 to 03:00 does not exist there that night; 01:30 becomes 03:30.
    id: "clock-spring",
    title: "Clock stepped by + 1 h over the spring edge of daylight saving time, and back",
    startsAt: "2027-03-28T00:30:00Z",
    byMs: HOUR_MS,
    groups: [
      ["in-the-gap", daily("30 2 * * *", "1h"), "No", "Yes"],
      ["across", daily("0 22 * * *", "4h"), "Yes", "No"],
      ["long", daily("0 22 * * *", "5h"), "Yes", "Yes"],
      ["later", daily("0 4 * * *", "1h"), "No", "No"],
    ],
  },
  {
    // 02:00 to 03:00 is there twice; the first 02:30 becomes the second.
    id: "clock-autumn",
    title: "Clock stepped by + 1 h over the autumn edge of daylight saving time, and back",
    startsAt: "2027-10-31T00:30:00Z",
    byMs: HOUR_MS,
    groups: [
      ["first-only", daily("0 2 * * *", "45m"), "Yes", "No"],
      ["in-the-fold", daily("45 2 * * *", "1h"), "No", "Yes"],
      ["long", daily("0 22 * * *", "6h"), "Yes", "Yes"],
      ["later", daily("0 4 * * *", "1h"), "No", "No"],
    ],
  },
];

/** Minutes from now. */
function fromTo(from: number, to: number): WindowGateSpec {
  return { allow: [{ from: inSeconds(from * 60), to: inSeconds(to * 60) }] };
}

function daily(schedule: string, duration: string): WindowGateSpec {
  return { timeZone: "Europe/Berlin", allow: [{ schedule, duration }] };
}

function scenarioOf({ id, title, startsAt, byMs, groups }: Step): Scenario {
  // What the replicas' clock is ahead of the machine's; the same for both of them.
  let offset: number | undefined;
  const startOf = (): number => (offset ??= startsAt === undefined ? 0 : Date.parse(startsAt) - Date.now());
  const states = (at: 2 | 3): ReadonlyMap<string, Truth> =>
    new Map(groups.map((group) => [group[0], group[at]]));
  return {
    id,
    title,
    arrange: async (lab) => await arrangeGroups(lab, groups),
    replica: async (lab, index) => await withClock(lab, index, startOf()),
    inject: async (lab) => await setClock(lab, startOf() + byMs, states(3)),
    heal: async (lab) => await setClock(lab, startOf(), states(2)),
  };
}

async function arrangeGroups(lab: Lab, groups: readonly Group[]): Promise<void> {
  await installClusterDefinition(lab.cp);
  for (const [namespace, window, before] of groups) {
    await lab.addClusters(namespace, numbered(CLUSTERS, "c"), { facts: { satisfied: before } });
    const until = [{ name: "window", window }];
    await storePolicy(lab.cp, policyRef(namespace, "window"), {
      rules: [{ name: "window", hooks: [lab.hook], until, retryAfterSeconds: 5 }],
    });
  }
}

const clockFile = (lab: Lab): string => join(lab.cp.folder, "clock");

/** The certificate has to be good by both clocks. */
async function withClock(lab: Lab, index: number, offset: number): Promise<ReplicaOptions> {
  const pair = await issueServingCertificate(lab.cp, { validMs: 2 * YEAR_MS });
  const certDir = join(lab.cp.folder, `clock-certs-${index}`);
  await writeServingCertificate(certDir, pair);
  await writeFile(clockFile(lab), String(offset));
  const preload = `data:text/javascript,${encodeURIComponent(shiftedDate(clockFile(lab)))}`;
  return { nodeFlags: [`--import=${preload}`], flags: { "webhook-cert-dir": certDir } };
}

/**
 * Looks into the file at the start and at SIGUSR2, and writes down what it has found beside it. The dates in responses
 * of the API server are shifted, too: while its clock shows another time, nothing is released (test/redteam/clocks.test.ts).
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

/** `open`: of the window of that namespace, by the clock once it is set. */
async function setClock(lab: Lab, offset: number, open: ReadonlyMap<string, Truth>): Promise<void> {
  let setting: Promise<void> | undefined;
  const set = async (): Promise<void> => await (setting ??= setClocks(lab, offset));
  const changes = [...open].map(async ([namespace, satisfied]) => {
    await lab.change(lab.of(namespace), { satisfied }, set);
  });
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
