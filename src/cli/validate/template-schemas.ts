/** Checks the templates of tasks against CustomResourceDefinitions, as the API server does (fieldValidation=Strict). */

import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { RE2JS } from "@bufbuild/re2";
import type { RuleSpec } from "../../api/hook-policy.ts";
import { type Fields, fieldsOf, isFields, listOf, withoutNulls } from "../../lib/fields.ts";
import { entryOf } from "../../lib/entry-of.ts";
import { messageOf } from "../../lib/thrown.ts";
import { objectKindKey } from "../../policy/watched-objects.ts";
import { hasExpression } from "../../policy/tasks/template-text.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { schemaErrors } from "../../policy/validation/schema-errors.ts";
import { type PlacedTask, tasksOf } from "../../policy/validation/task-checks.ts";
import { kindKeyOf } from "../fleet/kinds.ts";

export interface TemplateCheck {
  readonly errors: readonly FieldError[];
  readonly unjudged: number;
}

export type CheckTemplates = (rules: readonly RuleSpec[]) => TemplateCheck;

/** `objects`: those that are no definitions are left out; `undefined`: there is none. The rules must have no errors. */
export function templateCheck(objects: readonly Fields[]): CheckTemplates | undefined {
  const schemas = new Map(objects.flatMap(schemasIn));
  if (schemas.size === 0) return undefined;
  const validators = new Map<string, ValidateFunction>();
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: false,
    validateSchema: false,
    validateFormats: false,
    useDefaults: true,
    code: { regExp: Object.assign(linearPattern, { code: "" }) },
  });
  const validatorOf = (key: string): ValidateFunction =>
    entryOf(validators, key, () => ajv.compile({ ...schemas.get(key) }));
  return (rules) => {
    const templates = rules
      .flatMap((rule, index) => tasksOf(rule, `spec.rules[${index}]`))
      .filter(({ verb }) => verb !== "delete");
    const judged = templates.filter(({ template }) => schemas.has(kindKeyOf(template)));
    const errors = judged.flatMap((each) => errorsOf(each, () => validatorOf(kindKeyOf(each.template))));
    return { errors, unjudged: templates.length - judged.length };
  };
}

/** By objectKindKey(). */
function schemasIn({ kind: type, spec }: Fields): readonly (readonly [string, Fields])[] {
  if (type !== "CustomResourceDefinition") return [];
  const { group, names, versions } = fieldsOf(spec);
  return listOf(versions)
    .map(fieldsOf)
    .flatMap(({ name, served, schema }) => {
      const apiVersion = `${String(group)}/${String(name)}`;
      const key = objectKindKey({ apiVersion, kind: String(fieldsOf(names)["kind"]) });
      const root = fieldsOf(schema)["openAPIV3Schema"];
      return isFields(root) && served !== false ? [[key, rootOf(root)] as const] : [];
    });
}

function errorsOf(
  { template, templatePath }: PlacedTask,
  validator: () => ValidateFunction,
): readonly FieldError[] {
  // ajv puts the defaults into it.
  const object = structuredClone(withoutNulls(template));
  try {
    const isValid = validator();
    if (isValid(object)) return [];
    const certain = (isValid.errors ?? []).filter(isCertain);
    return schemaErrors(certain).map(({ path, message }) => ({
      path: path === "" ? templatePath : `${templatePath}.${path}`,
      message,
    }));
  } catch (error) {
    return [{ path: templatePath, message: `its schema cannot be used: ${messageOf(error)}` }];
  }
}

/** RE2, as the API server has it: a pattern must not take for ever. ajv tells them apart by toString(). */
function linearPattern(pattern: string): RE2JS {
  return RE2JS.compile(pattern);
}

/** The operator completes the metadata. */
function rootOf(schema: Fields): Fields {
  const properties = { ...fieldsOf(schema["properties"]), apiVersion: {}, kind: {}, metadata: {} };
  const required = listOf(schema["required"]).filter((field) => field !== "metadata");
  return jsonSchema({ ...schema, properties, required });
}

/** Kubernetes' schema as JSON Schema; in `isStructural` parts, a field that the API server would drop is an error. */
function jsonSchema(given: unknown, isStructural = true): Fields {
  const { nullable, exclusiveMinimum, exclusiveMaximum, ...schema } = fieldsOf(given);
  const isEither = schema["x-kubernetes-int-or-string"] === true;
  const { type, pattern, items, not, minimum, maximum } = schema;
  const parts = (field: string): Fields =>
    schema[field] === undefined
      ? {}
      : { [field]: listOf(schema[field]).map((part) => jsonSchema(part, false)) };
  return {
    ...schema,
    ...(type !== undefined && nullable === true && { nullable }),
    ...(exclusiveMinimum === true && { minimum: undefined, exclusiveMinimum: minimum }),
    ...(exclusiveMaximum === true && { maximum: undefined, exclusiveMaximum: maximum }),
    ...wordsOf(pattern, isEither),
    ...(isFields(items) && { items: jsonSchema(items, isStructural) }),
    ...(isFields(not) && { not: jsonSchema(not, false) }),
    ...parts("allOf"),
    ...parts("oneOf"),
    ...(isEither ? { type: ["integer", "string"], anyOf: undefined } : parts("anyOf")),
    ...fieldsIn(schema, isStructural),
  };
}

function wordsOf(pattern: unknown, isEither: boolean): Fields {
  const text = typeof pattern === "string" ? `a text that matches ${pattern}` : "a text";
  if (isEither) return { "x-expected": `a whole number or ${text}` };
  return typeof pattern === "string" ? { "x-expected": text } : {};
}

function fieldsIn(schema: Fields, isStructural: boolean): Fields {
  const { type, properties, additionalProperties: others } = schema;
  const embedded =
    schema["x-kubernetes-embedded-resource"] === true ? { apiVersion: {}, kind: {}, metadata: {} } : {};
  const fields = Object.entries({ ...embedded, ...fieldsOf(properties) });
  const drops = isStructural && type === "object" && schema["x-kubernetes-preserve-unknown-fields"] !== true;
  return {
    ...(fields.length > 0 && {
      properties: Object.fromEntries(fields.map(([name, field]) => [name, jsonSchema(field, isStructural)])),
    }),
    ...(isFields(others)
      ? { additionalProperties: jsonSchema(others, isStructural) }
      : others === undefined && drops && { additionalProperties: false }),
  };
}

/** Whatever its expressions give. Of alternatives, only the error of all of them together counts. */
function isCertain({ keyword, data, schemaPath }: ErrorObject): boolean {
  if (/\/(?:anyOf|oneOf)\/\d|\/not\//.test(schemaPath)) return false;
  if (keyword === "required" || keyword === "additionalProperties") return true;
  return (keyword === "type" && typeof data === "object") || !isComputed(data);
}

function isComputed(value: unknown): boolean {
  if (typeof value === "string") return hasExpression(value);
  return typeof value === "object" && value !== null && Object.values(value).some(isComputed);
}
