/**
 * Policies, overrides and rollouts with a known verdict: a file for each valid one, and tables of invalid ones (InvalidTable).
 */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import type { KubeObject } from "../controlplane/client.ts";

export interface ValidPolicy {
  readonly name: string;
  readonly object: KubeObject;
}

export interface InvalidPolicy extends ValidPolicy {
  readonly path: string;
  readonly says: string;
}

/** Objects that are invalid for one reason each, because each changes one thing of an object that is valid. */
interface InvalidTable {
  readonly valid: KubeObject;
  /** The path of what the cases change; `""` is the object itself. */
  readonly at: string;
  readonly cases: Readonly<Record<string, InvalidCase>>;
}

interface InvalidCase {
  /** Instead of the table's. */
  readonly at?: string;
  /** What stands there instead. */
  readonly is?: unknown;
  /** Fields that it gets. */
  readonly with?: object;
  /** The field that it loses. */
  readonly without?: string;
  /** Of the wrong field. */
  readonly path: string;
  /** A part of what validatePolicy says about it. */
  readonly says: string;
}

/** As kubectl reads YAML. */
const YAML = { version: "1.1" } as const;

function textsIn(folder: string): [name: string, text: string][] {
  const cwd = join(import.meta.dirname, folder);
  const files = globSync("*.yaml", { cwd }).toSorted();
  return files.map((file) => [file.replace(".yaml", ""), readFileSync(join(cwd, file), "utf8")]);
}

function invalidTables(): InvalidTable[] {
  return textsIn("invalid").flatMap(([, text]) =>
    parseAllDocuments(text, YAML).map((table) => {
      for (const error of table.errors) throw error;
      return table.toJS();
    }),
  );
}

/** The valid objects of the tables are among them. */
export function validCorpus(): ValidPolicy[] {
  const files = textsIn("valid").map(([name, text]) => ({ name, object: parse(text, YAML) }));
  const changed = invalidTables().map(({ valid, at }) => ({
    name: `the ${valid.kind} that is changed at ${at}`,
    object: valid,
  }));
  return [...files, ...changed];
}

export function invalidCorpus(): InvalidPolicy[] {
  return invalidTables().flatMap(({ valid, at, cases }) =>
    Object.entries(cases).map(([name, { path, says, ...change }]) => {
      const steps = (change.at ?? at).split(/[.[\]]+/).filter((step) => step !== "");
      return { name, object: withChange(valid, steps, change) as KubeObject, path, says };
    }),
  );
}

function withChange(
  value: unknown,
  [step, ...steps]: readonly string[],
  change: Partial<InvalidCase>,
): unknown {
  if (step === undefined) {
    if ("is" in change) return change.is;
    const fields = Object.entries({ ...(value as object), ...change.with });
    return Object.fromEntries(fields.filter(([name]) => name !== change.without));
  }
  const inner = withChange((value as Record<string, unknown>)[step], steps, change);
  if (Array.isArray(value)) return value.with(Number(step), inner);
  return { ...(value as object), [step]: inner };
}

export type Kind = "HookPolicy" | "ClusterHookPolicy" | "HookOverride" | "HookRollout";

export function kindOf({ kind }: KubeObject): Kind {
  return kind === "ClusterHookPolicy" || kind === "HookOverride" || kind === "HookRollout"
    ? kind
    : "HookPolicy";
}
