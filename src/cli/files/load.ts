/**
 * Loads Kubernetes objects with their positions from files, folders, patterns and standard input. Bad input is reported
 * as a problem and never thrown.
 */

import { fieldsOf, isFields, listOf } from "../../lib/fields.ts";
import { type LoadOptions, readText, type Source, sourcesOf } from "./paths.ts";
import { parseJsonFile } from "./json.ts";
import { isKustomization } from "./kustomization.ts";
import { parseYaml, TOO_DEEP } from "./yaml.ts";
import { type FileProblem, itemKind, type ParsedDocument, type SourceObject } from "./parsed.ts";

export interface LoadedFiles {
  readonly objects: readonly SourceObject[];
  readonly problems: readonly FileProblem[];
  /** Documents in folders that are not Kubernetes objects, such as Helm values. */
  readonly ignored: number;
  /** Files in folders that cannot be read, and do not look as if they were for the command. */
  readonly skipped?: readonly string[];
  readonly kustomizations?: readonly SourceObject[];
}

/** Keeps the order of `paths`, and sorts the files of a folder by name. A file that is named twice is read once. */
export async function loadPaths(
  paths: readonly string[],
  options: LoadOptions = {},
): Promise<Required<LoadedFiles>> {
  const { sources, problems } = await sourcesOf(paths, options);
  const loaded: LoadedFiles[] = [];
  for (const source of sources) {
    options.progress?.tell(() => `read ${loaded.length} of ${sources.length} files`);
    loaded.push(await loadSource(source, options));
  }
  return {
    objects: loaded.flatMap(({ objects }) => objects),
    problems: [...problems, ...loaded.flatMap((each) => each.problems)],
    ignored: loaded.reduce((sum, { ignored }) => sum + ignored, 0),
    skipped: loaded.flatMap(({ skipped = [] }) => skipped),
    kustomizations: loaded.flatMap(({ kustomizations = [] }) => kustomizations),
  };
}

async function loadSource(source: Source, options: LoadOptions): Promise<LoadedFiles> {
  const read = await readText(source, options);
  const loaded = read.ok
    ? parseFile(source, read.text, options)
    : { objects: [], problems: [{ file: source.name, message: read.message }], ignored: 0 };
  const { objects, problems } = loaded;
  const isSkipped =
    !source.named &&
    read.text !== undefined &&
    options.meant?.test(read.text) === false &&
    problems.length > 0;
  return isSkipped ? { objects, problems: [], ignored: 0, skipped: [source.name] } : loaded;
}

export function parseFile(
  { name: file, named }: Source,
  text: string,
  { progress }: LoadOptions = {},
): LoadedFiles {
  let split: readonly string[] | undefined;
  const lines = (): readonly string[] => (split ??= text.split(/\r\n|\n|\r/));
  const { documents, problems } = parseJsonFile(text) ?? parseYaml(text, progress);
  const objects: SourceObject[] = [];
  const found: FileProblem[] = problems.map((problem) => ({ file, ...problem, lines }));
  let ignored = 0;
  const asSource = ({ value, ...place }: ParsedDocument): SourceObject => ({
    file,
    object: fieldsOf(value),
    ...place,
    lines,
  });
  for (const document of documents.flatMap((each) => objectsIn(each))) {
    const message = objectProblem(document.value);
    if (message === undefined) objects.push(asSource(document));
    else if (!named && isForeign(document.value)) ignored += 1;
    else found.push({ file, ...document.position("", "key"), message, lines });
  }
  if (found.length === 0) {
    if (named && documents.every(isEmptyArray)) found.push({ file, message: "holds no object" });
    if (!named && documents.length === 0) ignored += 1;
  }
  const kustomizations = documents.filter(() => isKustomization(file)).map(asSource);
  return { objects, problems: found, ignored, kustomizations };
}

/**
 * `kubectl get -o yaml` prints a List, `kubectl get --raw` a list with a kind of its own, whose items can lack their kind, and
 * `jq .items` an array. As with kubectl, a list can contain others.
 */
function objectsIn(document: ParsedDocument, depth = 0): readonly ParsedDocument[] {
  const items = depth > MAX_DEPTH ? undefined : itemsOf(document);
  return items === undefined ? [document] : items.flatMap((item) => objectsIn(item, depth + 1));
}

/** `undefined`: it is not a list, or an empty one with a kind, which says that there is no object of the kind. */
function itemsOf(parsed: ParsedDocument): readonly ParsedDocument[] | undefined {
  const { value } = parsed;
  if (Array.isArray(value)) return value.map((item, index) => itemOf(parsed, item, `[${index}]`));
  const kind = itemKind(value);
  if (!isFields(value) || kind === undefined) return undefined;
  const items = listOf(value["items"]);
  if (items.length === 0 && kind !== "") return undefined;
  const missing = kind === "" ? {} : { apiVersion: value["apiVersion"], kind };
  return items.map((item, index) =>
    itemOf(parsed, isFields(item) ? { ...missing, ...item } : item, `items[${index}]`),
  );
}

function itemOf(parsed: ParsedDocument, value: unknown, place: string): ParsedDocument {
  const position: ParsedDocument["position"] = (path, of) =>
    parsed.position(path === "" || path.startsWith("[") ? `${place}${path}` : `${place}.${path}`, of);
  return { ...parsed, value, position };
}

/** An empty list says that there is nothing, and an empty array not even of what. */
function isEmptyArray({ value }: ParsedDocument): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isForeign(value: unknown): boolean {
  return !isFields(value) || (value["apiVersion"] === undefined && value["kind"] === undefined);
}

function objectProblem(value: unknown): string | undefined {
  if (!isFields(value)) return `found ${nounOf(value)}, expected a Kubernetes object`;
  if (isTooDeep(value)) return TOO_DEEP;
  const missing = ["apiVersion", "kind"].filter(
    (field) => typeof value[field] !== "string" || value[field] === "",
  );
  return missing.length === 0 ? undefined : `is no Kubernetes object: it has no ${missing.join(" and no ")}`;
}

/** Code that walks through the value later may recurse. */
const MAX_DEPTH = 500;

function isTooDeep(root: object): boolean {
  let level: readonly unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}

function nounOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return value === null ? "nothing" : `a ${typeof value}`;
}
