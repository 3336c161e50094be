/** Reads kubeconfig files, and merges them as client-go does (tools/clientcmd: loader.go, ClientConfigLoadingRules). */

import { readFileSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { isMap, parseDocument } from "yaml";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "../lib/fields.ts";
import { isMissing, messageOf } from "../lib/thrown.ts";
import { cleanLine, KubeError } from "./kube-error.ts";

/** What several files say together: of one name in two files, the entry of the first counts. */
export interface KubeconfigEntries {
  readonly currentContext: string;
  /** By name; whether an entry is complete matters only if it is used. */
  readonly clusters: ReadonlyMap<string, Fields>;
  readonly users: ReadonlyMap<string, Fields>;
  readonly contexts: ReadonlyMap<string, Fields>;
}

export function readKubeconfigs(files: readonly string[]): KubeconfigEntries {
  const all = files.map((file) => readKubeconfig(file));
  const merged = (of: (one: KubeconfigEntries) => ReadonlyMap<string, Fields>): Map<string, Fields> =>
    new Map(all.toReversed().flatMap((one) => [...of(one)]));
  return {
    currentContext: all.find(({ currentContext }) => currentContext !== "")?.currentContext ?? "",
    clusters: merged(({ clusters }) => clusters),
    users: merged(({ users }) => users),
    contexts: merged(({ contexts }) => contexts),
  };
}

export function invalidKubeconfig(message: string): KubeError {
  return new KubeError(message, { code: 0, reason: "InvalidKubeConfig" });
}

/** An empty file is one without entries. */
function readKubeconfig(file: string): KubeconfigEntries {
  try {
    const content = parse(readFileSync(file, "utf8"));
    const entries = (list: string, field: string): Map<string, Fields> =>
      new Map(named(content, list, field).map(([name, entry]) => [name, withPaths(entry, dirname(file))]));
    return {
      currentContext: textOf(content["current-context"]),
      clusters: entries("clusters", "cluster"),
      users: entries("users", "user"),
      contexts: entries("contexts", "context"),
    };
  } catch (error) {
    throw invalidKubeconfig(`kubeconfig ${file}: ${problem(error)}`);
  }
}

/** Never the parser's own message, which quotes the lines around the error, and these can contain a token. */
function parse(text: string): Fields {
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined)
    throw new Error(`not valid YAML at line ${error.linePos?.[0].line ?? 1}: ${error.code}`);
  if (document.contents !== null && !isMap(document.contents))
    throw new Error("not a kubeconfig (not a mapping)");
  return fieldsOf(document.toJS());
}

function named(content: Fields, list: string, field: string): [string, Fields][] {
  const known = new Set<string>();
  return listOf(content[list]).map((item) => {
    const { name, [field]: entry } = fieldsOf(item);
    if (known.has(textOf(name))) throw new Error(`${list}: the name ${JSON.stringify(name)} is there twice`);
    known.add(textOf(name));
    return [textOf(name), fieldsOf(entry)];
  });
}

const PATHS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/** Relative paths count from the file's folder; the command of a plugin, too, unless it is one of $PATH. */
function withPaths(entry: Fields, folder: string): Fields {
  const found = PATHS.filter((field) => textOf(entry[field]) !== "");
  const paths = Object.fromEntries(found.map((field) => [field, resolve(folder, textOf(entry[field]))]));
  const { exec } = entry;
  const command = textOf(fieldsOf(exec)["command"]);
  const isPath = isFields(exec) && command.includes(sep);
  return { ...entry, ...paths, ...(isPath && { exec: { ...exec, command: resolve(folder, command) } }) };
}

function problem(error: unknown): string {
  if (isMissing(error)) return "no such file";
  const { code, syscall } = fieldsOf(error);
  if (typeof syscall === "string") return `cannot be read (${String(code)})`;
  return cleanLine(messageOf(error));
}
