/** A validation for other programs: SARIF, and workflow commands of GitHub Actions. */

import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { VERSION } from "../../version.ts";
import { printable } from "../../lib/printable.ts";
import { titleOf } from "../fleet/kinds.ts";
import { viewMetadata } from "../../views/cluster.ts";
import type { FileProblem } from "../files/parsed.ts";
import { findingText, type ValidationReport } from "./report.ts";
import type { ValidationFinding } from "./validation.ts";

interface Result {
  readonly ruleId: string;
  readonly level: ValidationFinding["severity"];
  readonly message: { readonly text: string };
  readonly locations: readonly object[];
}

/** Errors have no id, so they share one rule. */
const INVALID = "invalid-field";
const SUSPICIOUS = "suspicious";
const UNREADABLE = "unreadable-file";

export function validationSarif({ findings, problems }: ValidationReport): object {
  const results = [
    ...problems.map((problem) => resultOf(UNREADABLE, "error", problem)),
    ...findings.map(findingResult),
  ];
  const rules = [...new Set(results.map(({ ruleId }) => ruleId))].toSorted();
  const driver = {
    name: "hookpolicy",
    version: VERSION,
    rules: rules.map((id) => ({ id, name: id, shortDescription: { text: id.replaceAll("-", " ") } })),
  };
  const indexed = results.map((result) => ({ ...result, ruleIndex: rules.indexOf(result.ruleId) }));
  const run = { tool: { driver }, columnKind: "utf16CodeUnits", results: indexed };
  return { $schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: [run] };
}

function findingResult(finding: ValidationFinding): Result {
  const { severity, id, source, path } = finding;
  const ruleId = id ?? (severity === "error" ? INVALID : SUSPICIOUS);
  const { kind, metadata } = source.object;
  const { name, namespace } = viewMetadata(metadata);
  const object = [String(kind), namespace, name].filter((part) => part !== undefined).join("/");
  return resultOf(ruleId, severity, asProblem(finding), path === "" ? object : `${object}: ${path}`);
}

/** In one line, with what to write instead. */
function asProblem(finding: ValidationFinding): FileProblem {
  const { source, line, column, suggestion } = finding;
  const message = [findingText(finding), ...(suggestion === undefined ? [] : [suggestion])].join("; ");
  return { file: source.file, line, column, message };
}

/** `name`: the object and the field in it. */
function resultOf(
  ruleId: string,
  level: Result["level"],
  { file, line, column = 1, message }: FileProblem,
  name?: string,
): Result {
  const region = line === undefined ? {} : { region: { startLine: line, startColumn: column } };
  const location = {
    physicalLocation: { artifactLocation: { uri: uriOf(file) }, ...region },
    ...(name !== undefined && { logicalLocations: [{ fullyQualifiedName: printable(name) }] }),
  };
  return { ruleId, level, message: { text: printable(message) }, locations: [location] };
}

function uriOf(file: string): string {
  if (file === "-") return "stdin";
  if (isAbsolute(file)) return pathToFileURL(file).href;
  return file.split(/[\\/]/).map(encodeURIComponent).join("/");
}

/** GitHub shows them next to the lines of a pull request, and in the log without their places. */
export function validationGithub({ findings, problems }: ValidationReport): string {
  const commands = [
    ...problems.map((problem) => command("error", problem)),
    ...findings.map((finding) => {
      const problem = asProblem(finding);
      const { object } = finding.source;
      // A kustomization needs none.
      const title = viewMetadata(object["metadata"]).name === "" ? "" : `${titleOf(object)}: `;
      return command(finding.severity, { ...problem, message: `${title}${problem.message}` });
    }),
  ];
  return commands.map((each) => `${each}\n`).join("");
}

function command(
  level: ValidationFinding["severity"],
  { file, line, column: col, message }: FileProblem,
): string {
  const properties = Object.entries({ file, line, col })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${property(String(value))}`);
  return `::${level} ${properties.join(",")}::${data(message)}`;
}

function data(text: string): string {
  return printable(text).replaceAll("%", "%25");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
