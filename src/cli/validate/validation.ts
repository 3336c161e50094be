/** Finds errors and suspicious parts in policies, overrides and rollouts in files. */

import { GROUP, type RuleSpec } from "../../api/hook-policy.ts";
import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { PolicyObject } from "../../memory/policy-set.ts";
import { notEnforceable } from "../../policy/compile.ts";
import { gatesIn } from "../../policy/gates/gates.ts";
import type { ServedHooks } from "../../api/hook-catalog.ts";
import { found } from "../../lib/quoted-value.ts";
import { acceptWarnings } from "../../policy/validation/accepted.ts";
import type { Progress } from "../terminal/progress-line.ts";
import { lifetimeProblems } from "../fleet/idle-overrides.ts";
import { type FieldError, validatePolicy } from "../../policy/validation/schema.ts";
import { sizeErrors } from "../../policy/validation/spec-size.ts";
import { checkRollout } from "../../policy/validation/rollout-semantics.ts";
import { checkRules, type Semantics } from "../../policy/validation/semantics.ts";
import {
  groupOf,
  OWN_KINDS,
  ownKind,
  type OwnKind,
  policyKind,
  type RawObject,
  viewOverride,
  viewPolicy,
  viewRollout,
} from "../fleet/kinds.ts";
import { textErrors } from "../fleet/text-fields.ts";
import { isPlace, unbuiltIn } from "../fleet/cluster-files.ts";
import { kindProblem, repeated } from "../fleet/object-problems.ts";
import { SUITE_GROUP } from "../suite/suite-schema.ts";
import type { SourceObject } from "../files/parsed.ts";
import type { Position } from "../../policy/cel/syntax.ts";
import { timeWarnings } from "./time-lint.ts";
import { suiteWarnings } from "./suite-blanks.ts";
import { versionWarnings } from "./version-lint.ts";
import { fieldPlace, suggestionFor } from "./suggestion.ts";
import {
  coreTextErrors,
  metadataErrors,
  namespaceFindings,
  nullValues,
  statusErrors,
} from "./beyond-schema.ts";
import { besides } from "./beside.ts";
import type { CheckTemplates } from "./template-schemas.ts";

export interface ValidationFinding extends FieldError, Position {
  readonly severity: "error" | "warning";
  readonly source: SourceObject;
  readonly suggestion?: string;
}

export interface Validation {
  readonly findings: readonly ValidationFinding[];
  /** Number of objects meant for HookPolicy but of an unknown kind; each is an error, too. */
  readonly unknown: number;
  readonly checked: Readonly<Record<OwnKind, number>>;
  /** Number of suites, which `hookpolicy test` reads. */
  readonly suites: number;
  readonly others: number;
  /** Number of templates of tasks that no schema was given for; absent: none was given at all. */
  readonly templatesWithoutSchema?: number;
}

export interface ValidationOptions {
  readonly served: ServedHooks;
  readonly maxOverrideMs: number;
  readonly now: Date;
  readonly progress?: Progress;
  /** They can change the Clusters of the files. */
  readonly kustomizations?: readonly SourceObject[];
  readonly checkTemplates?: CheckTemplates;
}

interface Judgement {
  readonly source: SourceObject;
  readonly is: OwnKind | "suite" | "other" | "unknown";
  readonly errors: readonly FieldError[];
  readonly warnings: readonly FieldError[];
  /** Whether the spec is valid, so that every part of it has been checked. */
  readonly isSound: boolean;
  readonly unjudged?: number;
}

export function validateObjects(all: readonly SourceObject[], options: ValidationOptions): Validation {
  const unbuilt = unbuiltIn(all, options.kustomizations ?? []);
  const sources = all.filter((source) => !unbuilt.patches.has(source));
  const judged = sources.map((source, index) => {
    options.progress?.tell(() => `checked ${index} of ${sources.length} objects`);
    return judge(source, options);
  });
  const sound = judged.filter(({ errors }) => errors.length === 0).map(({ source }) => source);
  const beside = Map.groupBy(besides(sources, sound, { ...options, unbuilt }), ({ source }) => source);
  const count = (is: Judgement["is"]): number => judged.filter((each) => each.is === is).length;
  return {
    findings: [
      ...judged.flatMap((judgement) => findingsOf(judgement, beside.get(judgement.source))),
      ...[...repeated(sources), ...unbuilt.found].map((each) => finding(each.source, "warning", each)),
    ],
    unknown: count("unknown"),
    checked: {
      HookPolicy: count("HookPolicy"),
      ClusterHookPolicy: count("ClusterHookPolicy"),
      HookOverride: count("HookOverride"),
      HookRollout: count("HookRollout"),
    },
    suites: count("suite"),
    others: count("other"),
    ...(options.checkTemplates !== undefined && {
      templatesWithoutSchema: judged.reduce((sum, { unjudged = 0 }) => sum + unjudged, 0),
    }),
  };
}

function judge(source: SourceObject, options: ValidationOptions): Judgement {
  const nothing = { source, errors: [], warnings: [], isSound: false };
  const problem = kindProblem(source.object);
  if (problem !== undefined) return { ...nothing, is: "unknown", errors: [problem] };
  const group = groupOf(source.object);
  if (group === SUITE_GROUP) return { ...nothing, is: "suite" };
  const kind = OWN_KINDS.find((each) => each === source.object["kind"]);
  if (group !== GROUP || kind === undefined)
    return { ...nothing, is: "other", errors: isPlace(source.object) ? textErrors(source.object) : [] };
  const { errors, warnings } = check(kind, source, options);
  const place = namespaceFindings(source.object);
  // The schema tells of a wrong name, too.
  const metadata = metadataErrors(source.object).filter(
    ({ path }) => !errors.some((each) => each.path === path),
  );
  const templates = errors.length > 0 ? undefined : options.checkTemplates?.(rulesOf(source.object));
  return {
    source,
    is: kind,
    ...templates,
    errors: [
      ...errors,
      ...(templates?.errors ?? []),
      ...nullValues(source.object),
      ...metadata,
      ...place.errors,
      ...statusErrors(kind, source.object),
    ],
    warnings: [...warnings, ...place.warnings, ...cutTexts(source)],
    isSound: errors.length === 0,
  };
}

/** Of a policy without errors; of other kinds, none. */
function rulesOf(object: RawObject): readonly RuleSpec[] {
  const kind = policyKind(object);
  return kind === undefined ? [] : viewPolicy(kind, object).spec.rules;
}

/** Sorted by position; `beside`: warnings that need other objects of the files. */
function findingsOf(
  { source, errors, warnings, isSound }: Judgement,
  beside: readonly FieldError[] = [],
): readonly ValidationFinding[] {
  const accepted = acceptance(source.object, [...warnings, ...beside], isSound);
  const findings = [
    ...errors.map((error) => finding(source, "error", error)),
    ...accepted.map((warning) => finding(source, "warning", warning)),
  ];
  return findings.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function check(kind: OwnKind, { object }: SourceObject, options: ValidationOptions): Semantics {
  if (kind === "HookOverride") return checkOverride(object, options);
  const size = sizeErrors(object["spec"]);
  if (size.length > 0) return { errors: size, warnings: [] };
  if (kind !== "HookRollout") {
    return checkSpec(viewPolicy(kind, object), validatePolicy(kind, object), options);
  }
  const schemaErrors = validatePolicy("HookRollout", object);
  const { errors, warnings } = checkRollout(viewRollout(object).spec, schemaErrors);
  return { errors: [...schemaErrors, ...errors], warnings };
}

const PARTS = {
  HookPolicy: "rules",
  ClusterHookPolicy: "rules",
  HookOverride: "hooks",
  HookRollout: "stages",
} as const;

/** Reports an unused accept only in a valid object, because an invalid one has not been checked completely. */
function acceptance(
  object: RawObject,
  warnings: readonly FieldError[],
  isSound: boolean,
): readonly FieldError[] {
  const { annotations } = fieldsOf(object["metadata"]);
  const field = PARTS[ownKind(object) ?? "HookPolicy"];
  const named = listOf(fieldsOf(object["spec"])[field]);
  const { left, unused } = acceptWarnings(annotations, named, warnings, field);
  return isSound ? [...left, ...unused] : left;
}

/** `message: ask #platform` without quotes: YAML reads the end as a comment. */
function cutTexts(source: SourceObject): readonly FieldError[] {
  // Checked first, because positions are expensive.
  if (!/(?:message|reason)["']?\s*:\s+[^\s"'|>&*!#].*\s#/.test(source.text)) return [];
  const { spec } = source.object;
  const { rules, reason } = fieldsOf(spec);
  const said = [
    ...listOf(rules).map((value, index) => ({ value, path: `spec.rules[${index}]` })),
    ...gatesIn(spec),
  ].map(({ value, path }) => ({ text: fieldsOf(value)["message"], path: `${path}.message` }));
  return [...said, { text: reason, path: "spec.reason" }].flatMap(({ text, path }) => {
    if (typeof text !== "string") return [];
    const { line, column } = source.position(path);
    const rest = (source.lines()[line - 1] ?? "").slice(column - 1);
    const [, comment] = (rest.startsWith(text) && /^\s+(#.*)$/.exec(rest.slice(text.length))) || [];
    if (comment === undefined) return [];
    const message = `ends before ${found(comment)}, which is a comment: put the text in quotes`;
    return [{ path, id: "message-cut", message }];
  });
}

function checkSpec(
  { kind, metadata: { namespace }, spec }: PolicyObject,
  schemaErrors: readonly FieldError[],
  { served, now }: ValidationOptions,
): Semantics {
  const { rules: given, mode } = fieldsOf(spec);
  const rules: readonly RuleSpec[] = Array.isArray(given) ? given : [];
  const { errors, warnings } = checkRules(rules, schemaErrors, {
    mode,
    owner: { kind, ...(namespace !== undefined && { namespace }) },
  });
  const all = [...schemaErrors, ...errors, ...coreTextErrors(rules)];
  if (all.length > 0) return { errors: all, warnings };
  return {
    errors: notEnforceable(rules, served),
    warnings: [
      ...warnings,
      ...timeWarnings(rules, now),
      ...suiteWarnings(rules),
      ...versionWarnings(rules, served),
    ],
  };
}

function checkOverride(object: RawObject, options: ValidationOptions): Semantics {
  const errors = validatePolicy("HookOverride", object);
  if (errors.length > 0) return { errors, warnings: [] };
  return { errors, warnings: lifetimeProblems(viewOverride(object, options.now), options) };
}

/** As field-message.ts ends them. */
const WITH_ADVICE =
  /^(.*?)(?:; (did you mean .*\?)|: (write it without quotes|begin each item with "- "))?$/s;

function finding(
  source: SourceObject,
  severity: ValidationFinding["severity"],
  { path, id, message: given }: FieldError,
): ValidationFinding {
  const [, message = "", meant, form] = WITH_ADVICE.exec(given) ?? [];
  const kind = severity === "error" ? ownKind(source.object) : undefined;
  const suggestion =
    (kind && suggestionFor(kind, source.object, path)) ?? elsewhere(source, path, message) ?? meant ?? form;
  return {
    severity,
    ...(id !== undefined && { id }),
    source,
    ...source.position(path, message.startsWith("unknown field") ? "key" : "value"),
    path,
    message,
    ...(suggestion !== undefined && { suggestion }),
  };
}

/** A field that is right elsewhere is not a misspelt one. */
function elsewhere({ object }: SourceObject, path: string, message: string): string | undefined {
  // What is right elsewhere in a policy is not for a template.
  if (/\.tasks\[\d+\]\.(?:create|apply)\b/.test(path)) return undefined;
  const [, field] = /^unknown field "([^"]*)"/.exec(message) ?? [];
  const kind = ownKind(object);
  return field === undefined || kind === undefined ? undefined : fieldPlace(kind, field);
}
