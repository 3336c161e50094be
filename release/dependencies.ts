/**
 * `node release/dependencies.ts`: whether what is shipped may be shipped: allowed licences, and no vulnerability that npm
 * knows of and calls high or critical.
 */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { licenseProblems, productionDependencies } from "./licenses.ts";

const ROOT = join(import.meta.dirname, "..");

/** What is used of `npm audit --json`; without metadata the registry gave no answer, and `message` tells why. */
interface Audit {
  readonly metadata?: { readonly vulnerabilities: Readonly<Record<string, number>> };
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly range: string; readonly fixAvailable: unknown }>
  >;
  readonly message?: string;
}

export interface Audited {
  /** Each fails the check. */
  readonly problems: readonly string[];
  /** Why nothing was checked; absent: it was. */
  readonly notChecked?: string;
}

const SERIOUS: ReadonlySet<string> = new Set(["high", "critical"]);

/** Of what `npm audit --json` prints. A registry that answers no such question must not stop anybody's work. */
export function readAudit(printed: string): Audited {
  const audit = parse(printed);
  if (audit?.metadata === undefined) {
    return { problems: [], notChecked: audit?.message ?? "npm audit printed no JSON" };
  }
  const serious = Object.entries(audit.vulnerabilities ?? {}).filter(([, { severity }]) =>
    SERIOUS.has(severity),
  );
  return {
    problems: serious.map(([name, { severity, range, fixAvailable }]) => {
      const cure = fixAvailable === false ? "there is no version without it yet" : "see npm audit fix";
      return `${name} ${range}: ${severity} vulnerability, ${cure}`;
    }),
  };
}

function parse(text: string): Audit | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const dependencies = productionDependencies();
  const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], {
    cwd: ROOT,
    encoding: "utf8",
    timeout: 60_000,
  });
  const { problems, notChecked } = readAudit(stdout);
  const all = [...licenseProblems(dependencies), ...problems];
  const checked = notChecked === undefined ? "checked" : `not checked: ${notChecked}`;
  const report = [
    ...all,
    `Production dependencies: ${dependencies.length}, licences checked`,
    `Known vulnerabilities: ${checked}`,
  ];
  process.stdout.write(`${report.join("\n")}\n`);
  if (all.length > 0) process.exitCode = 1;
}
