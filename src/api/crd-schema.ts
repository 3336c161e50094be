/** The part of apiextensions.k8s.io/v1 JSONSchemaProps that HookPolicy's CRDs use: a test refuses other keywords. */

export interface CrdSchema {
  /** The union is served as x-kubernetes-int-or-string. */
  readonly type: "array" | "boolean" | "integer" | "object" | "string" | readonly ["integer", "string"];
  readonly format?: string;
  readonly enum?: readonly (string | boolean)[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, CrdSchema>>;
  readonly additionalProperties?: CrdSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  /** Fields that are not listed are kept as they are. */
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly items?: CrdSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly "x-kubernetes-list-type"?: "atomic" | "map" | "set";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
  /** Describes `pattern` in words: HookPolicy's own keyword, absent from the shipped CRDs. */
  readonly "x-expected"?: string;
}

export interface ValidationRule {
  /** CEL over `self`, and `oldSelf` in a rule about changes; true when the value is valid. */
  readonly rule: string;
  readonly message: string;
  /** CEL that gives a better message; `message` is the fallback if it fails. */
  readonly messageExpression?: string;
  readonly reason?:
    "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  /** The affected field below `self`, such as ".name". */
  readonly fieldPath?: string;
}
