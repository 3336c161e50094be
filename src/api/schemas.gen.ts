// Generated from crds/source/crds.yaml by crds/generate.ts (npm run generate): change that instead.

import type { CrdSchema, ValidationRule } from "./crd-schema.ts";

const LabelSelectorMatchLabelsRules: readonly ValidationRule[] = [
  {
    rule: "self.all(k, k.matches(r'^([a-z0-9]+((\\.|-+)[a-z0-9]+)*/)?[A-Za-z0-9]([-\\w.]{0,61}[A-Za-z0-9])?$') && k.indexOf('/') <= 253)",
    messageExpression:
      "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]+((\\.|-+)[a-z0-9]+)*/)?[A-Za-z0-9]([-\\w.]{0,61}[A-Za-z0-9])?$') && k.indexOf('/') <= 253))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
    message: "every key must be a label key, as name or as prefix/name",
  },
];

const labelValue: CrdSchema = {
  type: "string",
  maxLength: 63,
  "x-kubernetes-validations": [
    {
      rule: "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
      messageExpression:
        "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
      message:
        "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last",
    },
  ],
};

const LabelSelectorMatchExpressionsItemRules: readonly ValidationRule[] = [
  {
    rule: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
    messageExpression:
      '"operator " + self.operator + " needs at least one value: list the values, or use the operator " + (self.operator == "In" ? "Exists" : "DoesNotExist")',
    message: "operators In and NotIn need at least one value",
    reason: "FieldValueRequired",
    fieldPath: ".values",
  },
  {
    rule: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
    messageExpression:
      '"operator " + self.operator + " takes no values: remove them, or use the operator " + (self.operator == "Exists" ? "In" : "NotIn")',
    message: "operators Exists and DoesNotExist take no values",
    reason: "FieldValueForbidden",
    fieldPath: ".values",
  },
];

const labelKey: CrdSchema = {
  type: "string",
  minLength: 1,
  maxLength: 317,
  "x-kubernetes-validations": [
    {
      rule: "self.matches(r'^([a-z0-9]+((\\.|-+)[a-z0-9]+)*/)?[A-Za-z0-9]([-\\w.]{0,61}[A-Za-z0-9])?$') && self.indexOf('/') <= 253",
      messageExpression:
        "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
      message: "must be a label key, as name or as prefix/name",
    },
  ],
};

const LabelSelector: CrdSchema = {
  type: "object",
  "x-kubernetes-map-type": "atomic",
  properties: {
    matchLabels: {
      type: "object",
      maxProperties: 16,
      additionalProperties: labelValue,
      "x-kubernetes-validations": LabelSelectorMatchLabelsRules,
    },
    matchExpressions: {
      type: "array",
      maxItems: 16,
      "x-kubernetes-list-type": "atomic",
      items: {
        type: "object",
        required: ["key", "operator"],
        properties: {
          key: labelKey,
          operator: { type: "string", enum: ["In", "NotIn", "Exists", "DoesNotExist"] },
          values: { type: "array", maxItems: 32, "x-kubernetes-list-type": "atomic", items: labelValue },
        },
        "x-kubernetes-validations": LabelSelectorMatchExpressionsItemRules,
      },
    },
  },
};

const HookPolicySpecServiceAccountNameRules: readonly ValidationRule[] = [
  {
    rule: "self.matches(r'^[a-z0-9]+((\\.|-+)[a-z0-9]+)*$')",
    messageExpression:
      '"\\"" + self + "\\" is not a name: use lower-case letters, digits, \'-\' and \'.\', with a letter or digit first and last"',
    message:
      "must be a name of lower-case letters, digits, '-' and '.', with a letter or digit first and last",
  },
];

const objectName: CrdSchema = {
  type: "string",
  minLength: 1,
  maxLength: 253,
  "x-kubernetes-validations": HookPolicySpecServiceAccountNameRules,
};

const RuleSpecRules: readonly ValidationRule[] = [
  {
    rule: "!has(self.until) || !('AfterControlPlaneInitialized' in self.hooks)",
    message:
      "until cannot hold AfterControlPlaneInitialized, which Cluster API does not wait for. Remove until, or move that hook to a rule of its own without until",
    reason: "FieldValueForbidden",
    fieldPath: ".until",
  },
  {
    rule: "!has(self.until) || self.hooks.all(h, h.endsWith('Upgrade')) || !self.until.exists(g, (has(g.annotation) && has(g.annotation.valueFrom) && g.annotation.valueFrom == 'TargetVersion') || (has(g.label) && has(g.label.valueFrom) && g.label.valueFrom == 'TargetVersion') || (has(g.anyOf) && g.anyOf.exists(a, (has(a.annotation) && has(a.annotation.valueFrom) && a.annotation.valueFrom == 'TargetVersion') || (has(a.label) && has(a.label.valueFrom) && a.label.valueFrom == 'TargetVersion'))))",
    messageExpression:
      '"valueFrom TargetVersion needs an upgrade, and " + self.hooks.filter(h, !h.endsWith(\'Upgrade\'))[0] + " is none. Use ClusterUID or ClusterName, or move that hook to another rule"',
    message: "valueFrom TargetVersion is for upgrade hooks only",
    reason: "FieldValueInvalid",
    fieldPath: ".until",
  },
  {
    rule: "!has(self.until) || self.hooks.all(h, h.endsWith('Upgrade')) || !self.until.exists(g, has(g.version) || (has(g.anyOf) && g.anyOf.exists(a, has(a.version))))",
    messageExpression:
      '"a version gate needs an upgrade, and " + self.hooks.filter(h, !h.endsWith(\'Upgrade\'))[0] + " is none. Move that hook to another rule"',
    message: "version gates are for upgrade hooks only",
    reason: "FieldValueInvalid",
    fieldPath: ".until",
  },
  {
    rule: "!has(self.deadline) || has(self.until)",
    message: "deadline needs until, as a rule without gates holds nothing. Remove it, or add until",
    reason: "FieldValueForbidden",
    fieldPath: ".deadline",
  },
  {
    rule: "!has(self.admission) || self.admission == 'None' || self.hooks.exists(h, h in ['BeforeClusterCreate', 'BeforeClusterUpgrade', 'BeforeClusterDelete'])",
    message:
      "admission is for BeforeClusterCreate, BeforeClusterUpgrade and BeforeClusterDelete, and the rule has none of them. Remove admission",
    reason: "FieldValueForbidden",
    fieldPath: ".admission",
  },
  {
    rule: "!has(self.admission) || self.admission == 'None' || (has(self.until) && self.until.exists(g, !has(g.wait)))",
    message:
      "admission needs a gate other than wait, which counts from the hook's first call. Remove admission, or add a gate to until",
    reason: "FieldValueForbidden",
    fieldPath: ".admission",
  },
];

const name: CrdSchema = {
  type: "string",
  minLength: 1,
  maxLength: 63,
  "x-kubernetes-validations": [
    {
      rule: "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
      messageExpression:
        '"\\"" + self + "\\" is not a name: use at most 63 lower-case letters, digits and \'-\', and start and end it with a letter or digit"',
      message:
        "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last",
    },
  ],
};

const HookName: CrdSchema = {
  type: "string",
  enum: [
    "BeforeClusterCreate",
    "AfterControlPlaneInitialized",
    "BeforeClusterUpgrade",
    "BeforeControlPlaneUpgrade",
    "AfterControlPlaneUpgrade",
    "BeforeWorkersUpgrade",
    "AfterWorkersUpgrade",
    "AfterClusterUpgrade",
    "BeforeClusterDelete",
  ],
};

const celExpression: CrdSchema = { type: "string", minLength: 1, maxLength: 1024 };

const MatchCondition: CrdSchema = {
  type: "object",
  required: ["name", "expression"],
  properties: { name: name, expression: celExpression },
};

const GateSpecRules: readonly ValidationRule[] = [
  {
    rule: "[has(self.annotation), has(self.label), has(self.expression), has(self.window), has(self.version), has(self.object), has(self.wait), has(self.anyOf)].exists_one(set, set)",
    messageExpression:
      '"gate \\"" + self.name + "\\" has " + [[has(self.annotation) ? "annotation" : "", has(self.label) ? "label" : "", has(self.expression) ? "expression" : "", has(self.window) ? "window" : "", has(self.version) ? "version" : "", has(self.object) ? "object" : "", has(self.wait) ? "wait" : "", has(self.anyOf) ? "anyOf" : ""].filter(kind, kind != "")].map(set, set.size() == 0 ? "no condition" : set.join(" and "))[0] + ": set exactly one of annotation, label, expression, window, version, object, wait and anyOf"',
    message:
      "a gate must have exactly one of annotation, label, expression, window, version, object, wait and anyOf",
  },
];

const AnnotationGateSpecRules: readonly ValidationRule[] = [
  {
    rule: "!(has(self.value) && has(self.valueFrom))",
    message: "value and valueFrom exclude each other, and both are set. Remove one of them",
    reason: "FieldValueForbidden",
    fieldPath: ".valueFrom",
  },
  {
    rule: "!self.key.contains('cluster.x-k8s.io/') || !(self.key in ['cluster.x-k8s.io/paused', 'cluster.x-k8s.io/watch-filter'] || ['runtime.cluster.x-k8s.io/', 'topology.internal.cluster.x-k8s.io/', 'unsafe.topology.cluster.x-k8s.io/', 'before-upgrade.hook.cluster.cluster.x-k8s.io/', 'clusterctl.cluster.x-k8s.io/'].exists(domain, self.key.startsWith(domain)))",
    messageExpression:
      '"\\"" + self.key + "\\" is a mark of Cluster API, which acts on it. Use a key of your own, such as example.com/approved"',
    message:
      "is a mark of Cluster API, which acts on it. Use a key of your own, such as example.com/approved",
    reason: "FieldValueForbidden",
    fieldPath: ".key",
  },
];

const annotationKey: CrdSchema = {
  type: "string",
  minLength: 1,
  maxLength: 317,
  "x-kubernetes-validations": [
    {
      rule: "self.matches(r'^([a-z0-9]+((\\.|-+)[a-z0-9]+)*/)?[A-Za-z0-9]([-\\w.]{0,61}[A-Za-z0-9])?$') && self.indexOf('/') <= 253",
      messageExpression:
        "\"\\\"\" + self + \"\\\" is not an annotation key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
      message: "must be an annotation key, as name or as prefix/name",
    },
  ],
};

const AnnotationGateSpec: CrdSchema = {
  type: "object",
  required: ["key"],
  properties: {
    key: annotationKey,
    from: { type: "string", enum: ["Cluster", "Namespace"] },
    value: { type: "string", maxLength: 1024 },
    valueFrom: { type: "string", enum: ["ClusterName", "ClusterUID", "TargetVersion"] },
  },
  "x-kubernetes-validations": AnnotationGateSpecRules,
};

const LabelGateSpec: CrdSchema = {
  type: "object",
  required: ["key"],
  properties: {
    key: labelKey,
    from: { type: "string", enum: ["Cluster", "Namespace"] },
    value: labelValue,
    valueFrom: { type: "string", enum: ["ClusterName", "ClusterUID", "TargetVersion"] },
  },
  "x-kubernetes-validations": AnnotationGateSpecRules,
};

const duration: CrdSchema = {
  type: "string",
  minLength: 1,
  maxLength: 16,
  "x-kubernetes-validations": [
    {
      rule: "self.matches(r'^(\\d{1,4}h)?(\\d{1,6}m)?(\\d{1,8}s)?$') && duration(self) > duration('0s') && duration(self) <= duration('8784h')",
      messageExpression:
        '"\\"" + self + "\\" is not a duration: write hours, minutes and seconds, such as 168h for 7 days, 1h30m or 90s, more than 0 and at most 8784h"',
      message:
        "must be hours, minutes and seconds, such as 168h for 7 days, 1h30m or 90s, more than 0 and at most 8784h",
    },
  ],
};

const moment: CrdSchema = {
  type: "string",
  maxLength: 35,
  pattern:
    "^2(\\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))|(\\d(0[48]|[2468][048]|[13579][26])|[048]00)-02-29)(T([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d((\\.\\d{1,9})?(Z|[-+]([01]\\d|2[0-3]):[0-5]\\d))?)?)?$",
  "x-expected":
    "an instant of RFC 3339 such as 2026-12-20T00:00:00Z, or a date or time of timeZone such as 2026-12-20 or 2026-12-20T18:00",
};

const WindowEntry: CrdSchema = {
  type: "object",
  properties: {
    schedule: { type: "string", minLength: 1, maxLength: 100 },
    duration: duration,
    from: moment,
    to: moment,
  },
  "x-kubernetes-validations": [
    {
      rule: "has(self.schedule) == has(self.duration) && has(self.from) == has(self.to) && has(self.schedule) != has(self.from)",
      messageExpression:
        '"has " + [[has(self.schedule) ? "schedule" : "", has(self.duration) ? "duration" : "", has(self.from) ? "from" : "", has(self.to) ? "to" : ""].filter(field, field != "")] .map(set, set.size() == 0 ? "no field" : set.join(" and "))[0] + ": set either schedule and duration, or from and to"',
      message: "an entry must have either schedule and duration, or from and to",
    },
    {
      rule: "!has(self.from) || !has(self.to) || (self.from.size() >= 20 && self.to.size() >= 20 ? timestamp(self.from) < timestamp(self.to) : self.from.size() >= 20 || self.to.size() >= 20 || self.from < self.to)",
      messageExpression: '"to is " + self.to + ", which is not after from, " + self.from',
      message: "to must be after from",
      reason: "FieldValueInvalid",
      fieldPath: ".to",
    },
  ],
};

const WindowGateSpec: CrdSchema = {
  type: "object",
  properties: {
    timeZone: {
      type: "string",
      minLength: 1,
      maxLength: 64,
      "x-kubernetes-validations": [
        {
          rule: "self.matches(r'^[-\\w+]+(/[-\\w+]+)*$')",
          messageExpression:
            '"\\"" + self + "\\" is not an IANA time zone: write it like Europe/Berlin or UTC"',
          message: "must be an IANA time zone such as Europe/Berlin or UTC",
        },
      ],
    },
    allow: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "atomic",
      items: WindowEntry,
    },
    deny: {
      type: "array",
      minItems: 1,
      maxItems: 32,
      "x-kubernetes-list-type": "atomic",
      items: WindowEntry,
    },
  },
  "x-kubernetes-validations": [
    {
      rule: "has(self.allow) || has(self.deny)",
      message: "has neither allow nor deny: set at least one of them",
    },
    {
      rule: "has(self.timeZone) || !((has(self.allow) && self.allow.exists(e, has(e.schedule) || (has(e.from) && e.from.size() < 20) || (has(e.to) && e.to.size() < 20))) || (has(self.deny) && self.deny.exists(e, has(e.schedule) || (has(e.from) && e.from.size() < 20) || (has(e.to) && e.to.size() < 20))))",
      message:
        "a schedule needs a time zone, and so does a date or time without an offset. Set one, such as Europe/Berlin or UTC",
      reason: "FieldValueRequired",
      fieldPath: ".timeZone",
    },
  ],
};

const VersionGateSpec: CrdSchema = {
  type: "object",
  required: ["range"],
  properties: {
    range: {
      type: "string",
      minLength: 1,
      maxLength: 256,
      "x-kubernetes-validations": [
        {
          rule: "!self.contains(',')",
          messageExpression:
            '"\\"" + self + "\\" has a comma, as Helm writes it: use a space for and, \\"" + self.replace(", ", " ").replace(",", " ") + "\\""',
          message: "must not have a comma, as Helm writes it. Use a space for and",
        },
      ],
    },
  },
};

const ObjectGateSpecRules: readonly ValidationRule[] = [
  {
    rule: "[has(self.name), has(self.nameExpression), has(self.selector)].exists_one(set, set)",
    messageExpression:
      '"has " + [[has(self.name) ? "name" : "", has(self.nameExpression) ? "nameExpression" : "", has(self.selector) ? "selector" : ""].filter(field, field != "")] .map(set, set.size() == 0 ? "no way to find an object" : set.join(" and "))[0] + ": set exactly one of name, nameExpression and selector"',
    message: "must have exactly one of name, nameExpression and selector",
  },
  {
    rule: "self.apiVersion != 'v1' || self.kind != 'Secret'",
    message:
      "Secrets are out of reach, so that the operator needs no right to read them. Look at another object",
    reason: "FieldValueForbidden",
    fieldPath: ".kind",
  },
  {
    rule: "!has(self.minCount) || !has(self.absent)",
    message: "minCount and absent exclude each other, and both are set. Remove one of them",
    reason: "FieldValueForbidden",
    fieldPath: ".minCount",
  },
  {
    rule: "!has(self.maxCount) || !has(self.absent)",
    message: "maxCount and absent exclude each other, and both are set. Remove one of them",
    reason: "FieldValueForbidden",
    fieldPath: ".maxCount",
  },
  {
    rule: "!has(self.minCount) || !has(self.maxCount) || self.minCount <= self.maxCount",
    message: "maxCount is less than minCount. Raise it",
    reason: "FieldValueInvalid",
    fieldPath: ".maxCount",
  },
  {
    rule: "!has(self.minCount) || self.minCount == 1 || has(self.selector)",
    message: "there is at most one object of a name. Use selector, or remove minCount",
    reason: "FieldValueInvalid",
    fieldPath: ".minCount",
  },
  {
    rule: "!has(self.maxCount) || has(self.selector)",
    message: "there is at most one object of a name. Use selector, or remove maxCount",
    reason: "FieldValueInvalid",
    fieldPath: ".maxCount",
  },
];

const HookPolicyLabelSelector: CrdSchema = {
  type: "object",
  "x-kubernetes-map-type": "atomic",
  properties: {
    matchLabels: {
      type: "object",
      maxProperties: 8,
      additionalProperties: {
        type: "string",
        maxLength: 63,
        pattern: "^([A-Za-z0-9]([-\\w.]*[A-Za-z0-9])?)?$",
        "x-expected":
          "a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last",
      },
      "x-kubernetes-validations": LabelSelectorMatchLabelsRules,
    },
    matchExpressions: {
      type: "array",
      maxItems: 8,
      "x-kubernetes-list-type": "atomic",
      items: {
        type: "object",
        required: ["key", "operator"],
        properties: {
          key: {
            type: "string",
            minLength: 1,
            maxLength: 317,
            pattern: "^([a-z0-9]+((\\.|-+)[a-z0-9]+)*/)?[A-Za-z0-9]([-\\w.]{0,61}[A-Za-z0-9])?$",
            "x-expected":
              "a label key, as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case",
            "x-kubernetes-validations": [
              {
                rule: "self.indexOf('/') <= 253",
                message: "is not a label key, as its prefix has more than 253 characters. Shorten it",
              },
            ],
          },
          operator: { type: "string", enum: ["In", "NotIn", "Exists", "DoesNotExist"] },
          values: {
            type: "array",
            maxItems: 16,
            "x-kubernetes-list-type": "atomic",
            items: {
              type: "string",
              maxLength: 63,
              pattern: "^([A-Za-z0-9]([-\\w.]*[A-Za-z0-9])?)?$",
              "x-expected":
                "a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last",
            },
          },
        },
        "x-kubernetes-validations": LabelSelectorMatchExpressionsItemRules,
      },
    },
  },
};

const ObjectGateSpec: CrdSchema = {
  type: "object",
  required: ["apiVersion", "kind"],
  properties: {
    apiVersion: {
      type: "string",
      minLength: 1,
      maxLength: 317,
      "x-kubernetes-validations": [
        {
          rule: "self == 'v1' || self.matches(r'^[a-z0-9]+((\\.|-+)[a-z0-9]+)*/[a-z][a-z0-9]*$')",
          messageExpression:
            '"\\"" + self + "\\" is not an apiVersion: write it as group/version, such as velero.io/v1, or v1 for the core group"',
          message: "must be group/version, such as velero.io/v1, or v1 for the core group",
        },
      ],
    },
    kind: {
      type: "string",
      minLength: 1,
      maxLength: 63,
      "x-kubernetes-validations": [
        {
          rule: "self.matches(r'^[A-Z][A-Za-z0-9]*$')",
          messageExpression:
            '"\\"" + self + "\\" is not a kind: write it in CamelCase and in the singular, such as Backup"',
          message: "must be a kind in CamelCase and in the singular, such as Backup",
        },
      ],
    },
    name: {
      type: "string",
      minLength: 1,
      maxLength: 253,
      "x-kubernetes-validations": [
        {
          rule: "self.matches(r'^[-\\w.:]+$') && !(self in ['.', '..'])",
          messageExpression:
            "\"\\\"\" + self + \"\\\" is not the name of an object: use letters, digits, '-', '_', '.' and ':'\"",
          message: "must be the name of an object, of letters, digits, '-', '_', '.' and ':'",
        },
      ],
    },
    nameExpression: celExpression,
    selector: HookPolicyLabelSelector,
    expression: celExpression,
    minCount: { type: "integer", format: "int32", minimum: 1, maximum: 1000 },
    maxCount: { type: "integer", format: "int32", minimum: 1, maximum: 1000 },
    absent: { type: "boolean", enum: [true] },
  },
  "x-kubernetes-validations": ObjectGateSpecRules,
};

const WaitGateSpec: CrdSchema = {
  type: "object",
  required: ["duration"],
  properties: { duration: duration },
};

const AnyOfGateSpecRules: readonly ValidationRule[] = [
  {
    rule: "[has(self.annotation), has(self.label), has(self.expression), has(self.window), has(self.version), has(self.object)].exists_one(set, set)",
    messageExpression:
      '"gate \\"" + self.name + "\\" has " + [[has(self.annotation) ? "annotation" : "", has(self.label) ? "label" : "", has(self.expression) ? "expression" : "", has(self.window) ? "window" : "", has(self.version) ? "version" : "", has(self.object) ? "object" : ""].filter(kind, kind != "")].map(set, set.size() == 0 ? "no condition" : set.join(" and "))[0] + ": set exactly one of annotation, label, expression, window, version and object"',
    message:
      "a gate of anyOf must have exactly one of annotation, label, expression, window, version and object",
  },
];

const AnyOfGateSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    message: {
      type: "string",
      minLength: 1,
      maxLength: 128,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      "x-expected":
        "one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |",
    },
    annotation: AnnotationGateSpec,
    label: LabelGateSpec,
    expression: celExpression,
    window: WindowGateSpec,
    version: VersionGateSpec,
    object: ObjectGateSpec,
  },
  "x-kubernetes-validations": AnyOfGateSpecRules,
};

const GateSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    message: {
      type: "string",
      minLength: 1,
      maxLength: 128,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      "x-expected":
        "one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |",
    },
    annotation: AnnotationGateSpec,
    label: LabelGateSpec,
    expression: celExpression,
    window: WindowGateSpec,
    version: VersionGateSpec,
    object: ObjectGateSpec,
    wait: WaitGateSpec,
    anyOf: {
      type: "array",
      minItems: 2,
      maxItems: 8,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: AnyOfGateSpec,
    },
  },
  "x-kubernetes-validations": GateSpecRules,
};

const TaskSpecRules: readonly ValidationRule[] = [
  {
    rule: "[has(self.create), has(self.apply), has(self.delete)].exists_one(set, set)",
    messageExpression:
      '"task \\"" + self.name + "\\" has " + [[has(self.create) ? "create" : "", has(self.apply) ? "apply" : "", has(self.delete) ? "delete" : ""].filter(field, field != "")] .map(set, set.size() == 0 ? "nothing to do" : set.join(" and "))[0] + ": set exactly one of create, apply and delete"',
    message: "a task must have exactly one of create, apply and delete",
  },
  {
    rule: "has(self.succeeded) || has(self.delete) || (has(self.create) && (self.create.apiVersion.startsWith('hookpolicy.dev/') || (self.create.apiVersion + '/' + self.create.kind) in ['batch/v1/Job', 'v1/Pod', 'v1/Secret'])) || (has(self.apply) && (self.apply.apiVersion.startsWith('hookpolicy.dev/') || (self.apply.apiVersion + '/' + self.apply.kind) in ['batch/v1/Job', 'v1/Pod', 'v1/Secret'])) || (!has(self.create) && !has(self.apply))",
    messageExpression:
      '"nothing says when a " + (has(self.create) ? self.create.kind : self.apply.kind) + " is done: set succeeded, a CEL expression over object (\\"true\\" if it only has to exist)"',
    message: "nothing says when the object is done. Set succeeded, a CEL expression over object",
    reason: "FieldValueRequired",
    fieldPath: ".succeeded",
  },
  {
    rule: "!has(self.succeeded) || !has(self.delete)",
    message: "delete is done when the objects are gone. Remove succeeded",
    reason: "FieldValueForbidden",
    fieldPath: ".succeeded",
  },
  {
    rule: "!has(self.failed) || !has(self.delete)",
    message: "delete is done when the objects are gone. Remove failed",
    reason: "FieldValueForbidden",
    fieldPath: ".failed",
  },
  {
    rule: "!has(self.ownedByCluster) || has(self.apply)",
    message: "ownedByCluster is for apply only. Remove it",
    reason: "FieldValueForbidden",
    fieldPath: ".ownedByCluster",
  },
  {
    rule: "!has(self.keep) || has(self.create)",
    message: "keep is for create only, as other tasks leave nothing to remove. Remove it",
    reason: "FieldValueForbidden",
    fieldPath: ".keep",
  },
];

const TaskTemplate: CrdSchema = {
  type: "object",
  "x-kubernetes-preserve-unknown-fields": true,
  required: ["apiVersion", "kind"],
  properties: {
    apiVersion: {
      type: "string",
      minLength: 1,
      maxLength: 317,
      pattern: "^(v1|[a-z0-9]+((\\.|-+)[a-z0-9]+)*/[a-z][a-z0-9]*)$",
      "x-expected": "group/version, such as batch/v1, or v1 for the core group, without expressions",
    },
    kind: {
      type: "string",
      minLength: 1,
      maxLength: 63,
      pattern: "^[A-Z][A-Za-z0-9]*$",
      "x-expected": "a kind in CamelCase and in the singular, such as Job, without expressions",
    },
  },
  "x-kubernetes-validations": [
    {
      rule: "self.apiVersion != 'v1' || self.kind != 'Secret'",
      message:
        "Secrets are out of reach, as everyone who may read HookTasks could read their values. Let a Job, or an operator for secrets, write it",
      reason: "FieldValueForbidden",
      fieldPath: ".kind",
    },
    {
      rule: "!self.apiVersion.startsWith('hookpolicy.dev/')",
      message: "tasks must not change what hookpolicy.dev decides by",
      reason: "FieldValueForbidden",
      fieldPath: ".apiVersion",
    },
  ],
};

const TaskDeleteSpecRules: readonly ValidationRule[] = [
  {
    rule: "self.apiVersion != 'v1' || self.kind != 'Secret'",
    message:
      "Secrets are out of reach, as everyone who may read HookTasks could read their values. Let a Job, or an operator for secrets, write it",
    reason: "FieldValueForbidden",
    fieldPath: ".kind",
  },
  {
    rule: "!self.apiVersion.startsWith('hookpolicy.dev/')",
    message: "tasks must not change what hookpolicy.dev decides by",
    reason: "FieldValueForbidden",
    fieldPath: ".apiVersion",
  },
  {
    rule: "has(self.name) != has(self.selector)",
    messageExpression:
      '(has(self.name) ? "has name and selector" : "has no way to find an object") + ": set exactly one of name and selector"',
    message: "must have exactly one of name and selector",
  },
];

const TaskSelector: CrdSchema = {
  type: "object",
  required: ["matchLabels"],
  properties: {
    matchLabels: {
      type: "object",
      minProperties: 1,
      maxProperties: 8,
      additionalProperties: { type: "string", maxLength: 1024 },
      "x-kubernetes-validations": LabelSelectorMatchLabelsRules,
    },
  },
};

const TaskDeleteSpec: CrdSchema = {
  type: "object",
  required: ["apiVersion", "kind"],
  properties: {
    apiVersion: {
      type: "string",
      minLength: 1,
      maxLength: 317,
      pattern: "^(v1|[a-z0-9]+((\\.|-+)[a-z0-9]+)*/[a-z][a-z0-9]*)$",
      "x-expected": "group/version, such as batch/v1, or v1 for the core group, without expressions",
    },
    kind: {
      type: "string",
      minLength: 1,
      maxLength: 63,
      pattern: "^[A-Z][A-Za-z0-9]*$",
      "x-expected": "a kind in CamelCase and in the singular, such as Job, without expressions",
    },
    name: celExpression,
    selector: TaskSelector,
  },
  "x-kubernetes-validations": TaskDeleteSpecRules,
};

const TaskSpecKeepRules: readonly ValidationRule[] = [
  {
    rule: "self.matches(r'^(\\d{1,4}h)?(\\d{1,6}m)?(\\d{1,8}s)?$') && duration(self) <= duration('8784h')",
    messageExpression:
      '"\\"" + self + "\\" is not a duration: write hours, minutes and seconds, such as 168h for 7 days, 1h30m or 90s, at most 8784h"',
    message: "must be hours, minutes and seconds, such as 168h for 7 days, 1h30m or 90s, at most 8784h",
  },
];

const durationOrZero: CrdSchema = {
  type: "string",
  minLength: 1,
  maxLength: 16,
  "x-kubernetes-validations": TaskSpecKeepRules,
};

const TaskSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    when: celExpression,
    begins: { type: "string", enum: ["Last", "First"] },
    create: TaskTemplate,
    apply: TaskTemplate,
    delete: TaskDeleteSpec,
    ownedByCluster: { type: "boolean" },
    succeeded: celExpression,
    failed: celExpression,
    timeout: duration,
    retries: { type: "integer", format: "int32", minimum: 0, maximum: 3 },
    onFailure: { type: "string", enum: ["Hold", "Proceed"] },
    validFor: duration,
    keep: durationOrZero,
  },
  "x-kubernetes-validations": TaskSpecRules,
};

const DeadlineSpec: CrdSchema = {
  type: "object",
  required: ["after", "onExpiry"],
  properties: {
    after: duration,
    onExpiry: { type: "string", enum: ["Allow", "KeepBlocking"] },
    warnBefore: duration,
  },
  "x-kubernetes-validations": [
    {
      rule: "!has(self.warnBefore) || duration(self.warnBefore) < duration(self.after)",
      messageExpression:
        '"warnBefore is " + self.warnBefore + ", which is not shorter than after, " + self.after + ": the rule would warn from its first block on"',
      message: "warnBefore must be shorter than after",
      reason: "FieldValueInvalid",
      fieldPath: ".warnBefore",
    },
  ],
};

const oneLine: readonly ValidationRule[] = [
  {
    rule: "!self.matches(r'[\\x00-\\x1f\\x7f-\\x{9f}\\x{2028}\\x{2029}]')",
    message:
      "must be one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |",
  },
];

const RuleSpec: CrdSchema = {
  type: "object",
  required: ["name", "hooks"],
  properties: {
    name: name,
    hooks: { type: "array", minItems: 1, maxItems: 9, "x-kubernetes-list-type": "set", items: HookName },
    admission: { type: "string", enum: ["None", "Warn", "Deny"] },
    matchConditions: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: MatchCondition,
    },
    until: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: GateSpec,
    },
    tasks: {
      type: "array",
      minItems: 1,
      maxItems: 4,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: TaskSpec,
    },
    deadline: DeadlineSpec,
    message: { type: "string", minLength: 1, maxLength: 256, "x-kubernetes-validations": oneLine },
    retryAfterSeconds: { type: "integer", format: "int32", minimum: 5, maximum: 300 },
  },
  "x-kubernetes-validations": RuleSpecRules,
};

const HookPolicySpec: CrdSchema = {
  type: "object",
  required: ["rules"],
  properties: {
    mode: { type: "string", enum: ["Enforce", "Audit"], default: "Enforce" },
    failurePolicy: { type: "string", enum: ["Fail", "Ignore"], default: "Fail" },
    clusterSelector: LabelSelector,
    serviceAccountName: objectName,
    rules: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: RuleSpec,
    },
  },
  "x-kubernetes-validations": [
    {
      rule: "has(self.serviceAccountName) || !self.rules.exists(r, has(r.tasks))",
      message: "tasks act as a ServiceAccount of the policy's namespace. Name it",
      reason: "FieldValueRequired",
      fieldPath: ".serviceAccountName",
    },
  ],
};

const time: CrdSchema = { type: "string", format: "date-time", maxLength: 64 };

const Condition: CrdSchema = {
  type: "object",
  required: ["type", "status", "lastTransitionTime", "reason", "message"],
  properties: {
    type: {
      type: "string",
      minLength: 1,
      maxLength: 316,
      pattern:
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    lastTransitionTime: time,
    reason: {
      type: "string",
      maxLength: 128,
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
      minLength: 1,
    },
    message: { type: "string", maxLength: 1024 },
  },
};

const conditions: CrdSchema = {
  type: "array",
  maxItems: 16,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
  items: Condition,
};

const clusterUID: CrdSchema = { type: "string", maxLength: 64 };

const reason: CrdSchema = {
  type: "string",
  maxLength: 128,
  pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
};

const TornDown: CrdSchema = {
  type: "object",
  required: ["reason", "message"],
  properties: {
    reason: { type: "string", enum: ["ForegroundDeletion", "OwnedObjectsDeleted"] },
    message: { type: "string", maxLength: 256 },
  },
};

const RuleTimers: CrdSchema = {
  type: "object",
  required: ["rule"],
  properties: { rule: { type: "string", maxLength: 63 }, blockedSince: time, gatesMetSince: time },
};

const DecisionRow: CrdSchema = {
  type: "object",
  required: [
    "namespace",
    "cluster",
    "hook",
    "clusterUID",
    "rule",
    "verdict",
    "reason",
    "message",
    "firstAsked",
    "since",
  ],
  properties: {
    namespace: { type: "string", maxLength: 63 },
    cluster: { type: "string", maxLength: 253 },
    hook: HookName,
    clusterUID: clusterUID,
    targetVersion: clusterUID,
    rule: { type: "string", maxLength: 63 },
    gate: { type: "string", maxLength: 63 },
    verdict: { type: "string", enum: ["Blocked", "WouldBlock", "NotEvaluable", "Allowed"] },
    reason: reason,
    message: { type: "string", maxLength: 256 },
    firstAsked: time,
    since: time,
    earliestRelease: time,
    tornDown: TornDown,
    timers: { type: "array", maxItems: 16, "x-kubernetes-list-type": "atomic", items: RuleTimers },
  },
};

const RecentResult: CrdSchema = {
  type: "object",
  required: ["namespace", "cluster", "clusterUID", "hook", "verdict", "time"],
  properties: {
    namespace: { type: "string", maxLength: 63 },
    cluster: { type: "string", maxLength: 253 },
    clusterUID: clusterUID,
    hook: HookName,
    targetVersion: clusterUID,
    verdict: {
      type: "string",
      enum: ["Allowed", "Observed", "WouldBlock", "NotEvaluable", "Refused", "NotAsked"],
    },
    rule: { type: "string", maxLength: 63 },
    gate: { type: "string", maxLength: 63 },
    reason: reason,
    message: { type: "string", maxLength: 256 },
    override: { type: "string", maxLength: 63 },
    time: time,
  },
};

const HookPolicyStatus: CrdSchema = {
  type: "object",
  default: { observedGeneration: -1 },
  properties: {
    observedGeneration: { type: "integer", format: "int64" },
    conditions: conditions,
    mode: { type: "string", enum: ["Enforce", "Audit", "Observe"] },
    hooks: { type: "string", maxLength: 256 },
    matchedClusters: { type: "integer", format: "int32", minimum: 0 },
    blocked: { type: "integer", format: "int32", minimum: 0 },
    wouldBlock: { type: "integer", format: "int32", minimum: 0 },
    nextTransitionTime: time,
    decisions: { type: "array", maxItems: 50, "x-kubernetes-list-type": "atomic", items: DecisionRow },
    decisionsOmitted: { type: "integer", format: "int32", minimum: 0 },
    recent: { type: "array", maxItems: 10, "x-kubernetes-list-type": "atomic", items: RecentResult },
  },
};

const TaskAccount: CrdSchema = {
  type: "object",
  required: ["namespace", "name"],
  properties: { namespace: name, name: objectName },
};

const ClusterHookPolicyObjectGateSpec: CrdSchema = {
  type: "object",
  required: ["apiVersion", "kind"],
  properties: {
    apiVersion: {
      type: "string",
      minLength: 1,
      maxLength: 317,
      "x-kubernetes-validations": [
        {
          rule: "self == 'v1' || self.matches(r'^[a-z0-9]+((\\.|-+)[a-z0-9]+)*/[a-z][a-z0-9]*$')",
          messageExpression:
            '"\\"" + self + "\\" is not an apiVersion: write it as group/version, such as velero.io/v1, or v1 for the core group"',
          message: "must be group/version, such as velero.io/v1, or v1 for the core group",
        },
      ],
    },
    kind: {
      type: "string",
      minLength: 1,
      maxLength: 63,
      "x-kubernetes-validations": [
        {
          rule: "self.matches(r'^[A-Z][A-Za-z0-9]*$')",
          messageExpression:
            '"\\"" + self + "\\" is not a kind: write it in CamelCase and in the singular, such as Backup"',
          message: "must be a kind in CamelCase and in the singular, such as Backup",
        },
      ],
    },
    namespace: name,
    namespaceSelector: HookPolicyLabelSelector,
    name: {
      type: "string",
      minLength: 1,
      maxLength: 253,
      "x-kubernetes-validations": [
        {
          rule: "self.matches(r'^[-\\w.:]+$') && !(self in ['.', '..'])",
          messageExpression:
            "\"\\\"\" + self + \"\\\" is not the name of an object: use letters, digits, '-', '_', '.' and ':'\"",
          message: "must be the name of an object, of letters, digits, '-', '_', '.' and ':'",
        },
      ],
    },
    nameExpression: celExpression,
    selector: HookPolicyLabelSelector,
    expression: celExpression,
    minCount: { type: "integer", format: "int32", minimum: 1, maximum: 1000 },
    maxCount: { type: "integer", format: "int32", minimum: 1, maximum: 1000 },
    absent: { type: "boolean", enum: [true] },
  },
  "x-kubernetes-validations": [
    {
      rule: "[has(self.name), has(self.nameExpression), has(self.selector)].exists_one(set, set)",
      messageExpression:
        '"has " + [[has(self.name) ? "name" : "", has(self.nameExpression) ? "nameExpression" : "", has(self.selector) ? "selector" : ""].filter(field, field != "")] .map(set, set.size() == 0 ? "no way to find an object" : set.join(" and "))[0] + ": set exactly one of name, nameExpression and selector"',
      message: "must have exactly one of name, nameExpression and selector",
    },
    {
      rule: "self.apiVersion != 'v1' || self.kind != 'Secret'",
      message:
        "Secrets are out of reach, so that the operator needs no right to read them. Look at another object",
      reason: "FieldValueForbidden",
      fieldPath: ".kind",
    },
    {
      rule: "!has(self.minCount) || !has(self.absent)",
      message: "minCount and absent exclude each other, and both are set. Remove one of them",
      reason: "FieldValueForbidden",
      fieldPath: ".minCount",
    },
    {
      rule: "!has(self.maxCount) || !has(self.absent)",
      message: "maxCount and absent exclude each other, and both are set. Remove one of them",
      reason: "FieldValueForbidden",
      fieldPath: ".maxCount",
    },
    {
      rule: "!has(self.minCount) || !has(self.maxCount) || self.minCount <= self.maxCount",
      message: "maxCount is less than minCount. Raise it",
      reason: "FieldValueInvalid",
      fieldPath: ".maxCount",
    },
    {
      rule: "!has(self.minCount) || self.minCount == 1 || has(self.selector) || has(self.namespaceSelector)",
      message: "there is at most one object of a name. Use selector or namespaceSelector, or remove minCount",
      reason: "FieldValueInvalid",
      fieldPath: ".minCount",
    },
    {
      rule: "!has(self.maxCount) || has(self.selector) || has(self.namespaceSelector)",
      message: "there is at most one object of a name. Use selector or namespaceSelector, or remove maxCount",
      reason: "FieldValueInvalid",
      fieldPath: ".maxCount",
    },
    {
      rule: "!has(self.namespace) || !has(self.namespaceSelector)",
      message: "namespace and namespaceSelector exclude each other, and both are set. Remove one of them",
      reason: "FieldValueForbidden",
      fieldPath: ".namespaceSelector",
    },
  ],
};

const ClusterHookPolicyAnyOfGateSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    message: {
      type: "string",
      minLength: 1,
      maxLength: 128,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      "x-expected":
        "one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |",
    },
    annotation: AnnotationGateSpec,
    label: LabelGateSpec,
    expression: celExpression,
    window: WindowGateSpec,
    version: VersionGateSpec,
    object: ClusterHookPolicyObjectGateSpec,
  },
  "x-kubernetes-validations": AnyOfGateSpecRules,
};

const ClusterHookPolicyGateSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    message: {
      type: "string",
      minLength: 1,
      maxLength: 128,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      "x-expected":
        "one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |",
    },
    annotation: AnnotationGateSpec,
    label: LabelGateSpec,
    expression: celExpression,
    window: WindowGateSpec,
    version: VersionGateSpec,
    object: ClusterHookPolicyObjectGateSpec,
    wait: WaitGateSpec,
    anyOf: {
      type: "array",
      minItems: 2,
      maxItems: 8,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: ClusterHookPolicyAnyOfGateSpec,
    },
  },
  "x-kubernetes-validations": GateSpecRules,
};

const ClusterHookPolicyTaskDeleteSpec: CrdSchema = {
  type: "object",
  required: ["apiVersion", "kind"],
  properties: {
    apiVersion: {
      type: "string",
      minLength: 1,
      maxLength: 317,
      pattern: "^(v1|[a-z0-9]+((\\.|-+)[a-z0-9]+)*/[a-z][a-z0-9]*)$",
      "x-expected": "group/version, such as batch/v1, or v1 for the core group, without expressions",
    },
    kind: {
      type: "string",
      minLength: 1,
      maxLength: 63,
      pattern: "^[A-Z][A-Za-z0-9]*$",
      "x-expected": "a kind in CamelCase and in the singular, such as Job, without expressions",
    },
    namespace: celExpression,
    name: celExpression,
    selector: TaskSelector,
  },
  "x-kubernetes-validations": TaskDeleteSpecRules,
};

const ClusterHookPolicyTaskSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    when: celExpression,
    begins: { type: "string", enum: ["Last", "First"] },
    create: TaskTemplate,
    apply: TaskTemplate,
    delete: ClusterHookPolicyTaskDeleteSpec,
    ownedByCluster: { type: "boolean" },
    succeeded: celExpression,
    failed: celExpression,
    timeout: duration,
    retries: { type: "integer", format: "int32", minimum: 0, maximum: 3 },
    onFailure: { type: "string", enum: ["Hold", "Proceed"] },
    validFor: duration,
    keep: durationOrZero,
  },
  "x-kubernetes-validations": TaskSpecRules,
};

const ClusterHookPolicyRuleSpec: CrdSchema = {
  type: "object",
  required: ["name", "hooks"],
  properties: {
    name: name,
    hooks: { type: "array", minItems: 1, maxItems: 9, "x-kubernetes-list-type": "set", items: HookName },
    admission: { type: "string", enum: ["None", "Warn", "Deny"] },
    matchConditions: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: MatchCondition,
    },
    until: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: ClusterHookPolicyGateSpec,
    },
    tasks: {
      type: "array",
      minItems: 1,
      maxItems: 4,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: ClusterHookPolicyTaskSpec,
    },
    deadline: DeadlineSpec,
    message: { type: "string", minLength: 1, maxLength: 256, "x-kubernetes-validations": oneLine },
    retryAfterSeconds: { type: "integer", format: "int32", minimum: 5, maximum: 300 },
  },
  "x-kubernetes-validations": RuleSpecRules,
};

const ClusterHookPolicySpec: CrdSchema = {
  type: "object",
  required: ["namespaceSelector", "rules"],
  properties: {
    mode: { type: "string", enum: ["Enforce", "Audit"], default: "Enforce" },
    failurePolicy: { type: "string", enum: ["Fail", "Ignore"], default: "Fail" },
    namespaceSelector: LabelSelector,
    clusterSelector: LabelSelector,
    serviceAccount: TaskAccount,
    rules: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: ClusterHookPolicyRuleSpec,
    },
  },
  "x-kubernetes-validations": [
    {
      rule: "has(self.serviceAccount) || !self.rules.exists(r, has(r.tasks))",
      message: "tasks act as a ServiceAccount. Name it, with its namespace",
      reason: "FieldValueRequired",
      fieldPath: ".serviceAccount",
    },
  ],
};

const ClusterRefSpec: CrdSchema = {
  type: "object",
  required: ["namespace", "name"],
  "x-kubernetes-map-type": "atomic",
  properties: { namespace: name, name: objectName, uid: { type: "string", minLength: 1, maxLength: 64 } },
};

const PolicyRefSpec: CrdSchema = {
  type: "object",
  required: ["kind", "name"],
  properties: {
    kind: { type: "string", enum: ["HookPolicy", "ClusterHookPolicy", "HookRollout"] },
    name: {
      type: "string",
      minLength: 1,
      maxLength: 63,
      "x-kubernetes-validations": HookPolicySpecServiceAccountNameRules,
    },
    namespace: name,
  },
  "x-kubernetes-validations": [
    {
      rule: "self.kind != 'HookPolicy' || has(self.namespace)",
      message: "a HookPolicy lies in a namespace, which must be named",
      reason: "FieldValueRequired",
      fieldPath: ".namespace",
    },
    {
      rule: "self.kind == 'HookPolicy' || !has(self.namespace)",
      messageExpression: '"a " + self.kind + " lies in no namespace. Remove it, or refer to a HookPolicy"',
      message: "the kind lies in no namespace. Remove it, or refer to a HookPolicy",
      reason: "FieldValueForbidden",
      fieldPath: ".namespace",
    },
  ],
};

const instant: CrdSchema = {
  type: "string",
  maxLength: 35,
  pattern:
    "^2(\\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))|(\\d(0[48]|[2468][048]|[13579][26])|[048]00)-02-29)T([01]\\d|2[0-3])(:[0-5]\\d){2}(\\.\\d{1,9})?(Z|[-+]([01]\\d|2[0-3]):[0-5]\\d)$",
  "x-expected": "an instant of RFC 3339 such as 2026-12-20T00:00:00Z or 2026-12-20T00:00:00+01:00",
};

const HookOverrideSpec: CrdSchema = {
  type: "object",
  required: ["clusterRef", "hooks", "reason", "expiresAt"],
  properties: {
    clusterRef: ClusterRefSpec,
    hooks: { type: "array", minItems: 1, maxItems: 9, "x-kubernetes-list-type": "set", items: HookName },
    policyRefs: {
      type: "array",
      minItems: 1,
      maxItems: 32,
      "x-kubernetes-list-type": "atomic",
      items: PolicyRefSpec,
    },
    reason: { type: "string", minLength: 1, maxLength: 512, "x-kubernetes-validations": oneLine },
    expiresAt: instant,
  },
  "x-kubernetes-validations": [
    {
      rule: "self.clusterRef == oldSelf.clusterRef",
      message: "cannot be changed. Create another HookOverride",
      reason: "FieldValueForbidden",
      fieldPath: ".clusterRef",
    },
    {
      rule: "self.hooks == oldSelf.hooks",
      message: "cannot be changed. Create another HookOverride",
      reason: "FieldValueForbidden",
      fieldPath: ".hooks",
    },
    {
      rule: "has(self.policyRefs) == has(oldSelf.policyRefs) && (!has(self.policyRefs) || self.policyRefs == oldSelf.policyRefs)",
      message: "cannot be changed. Create another HookOverride",
      reason: "FieldValueForbidden",
      fieldPath: ".policyRefs",
    },
    {
      rule: "self.reason == oldSelf.reason",
      message: "cannot be changed. Create another HookOverride",
      reason: "FieldValueForbidden",
      fieldPath: ".reason",
    },
    {
      rule: "timestamp(self.expiresAt) <= timestamp(oldSelf.expiresAt)",
      messageExpression:
        '"can only become earlier than " + oldSelf.expiresAt + ". Create another HookOverride"',
      message: "can only become earlier. Create another HookOverride",
      reason: "FieldValueForbidden",
      fieldPath: ".expiresAt",
    },
  ],
};

const OverrideUse: CrdSchema = {
  type: "object",
  required: ["hook", "clusterUID", "time", "policies"],
  properties: {
    hook: HookName,
    clusterUID: clusterUID,
    targetVersion: clusterUID,
    time: time,
    policies: {
      type: "array",
      maxItems: 10,
      "x-kubernetes-list-type": "atomic",
      items: { type: "string", maxLength: 256 },
    },
  },
};

const HookOverrideStatus: CrdSchema = {
  type: "object",
  default: { observedGeneration: -1 },
  properties: {
    observedGeneration: { type: "integer", format: "int64" },
    conditions: conditions,
    used: { type: "array", maxItems: 20, "x-kubernetes-list-type": "atomic", items: OverrideUse },
    usedCount: { type: "integer", format: "int32", minimum: 0 },
  },
};

const RolloutSpreadSpec: CrdSchema = {
  type: "object",
  required: ["labelKey", "maxConcurrency"],
  properties: {
    labelKey: labelKey,
    from: { type: "string", enum: ["Cluster", "Namespace"] },
    maxConcurrency: {
      type: ["integer", "string"],
      minimum: 0,
      maxLength: 4,
      pattern: "^(100|[1-9]?[0-9])%$",
      "x-expected": "a whole number without quotes, or a percentage from 0% to 100%",
      maximum: 200,
    },
  },
};

const HookRolloutObjectGateSpec: CrdSchema = {
  type: "object",
  required: ["apiVersion", "kind"],
  properties: {
    apiVersion: {
      type: "string",
      minLength: 1,
      maxLength: 317,
      "x-kubernetes-validations": [
        {
          rule: "self == 'v1' || self.matches(r'^[a-z0-9]+((\\.|-+)[a-z0-9]+)*/[a-z][a-z0-9]*$')",
          messageExpression:
            '"\\"" + self + "\\" is not an apiVersion: write it as group/version, such as velero.io/v1, or v1 for the core group"',
          message: "must be group/version, such as velero.io/v1, or v1 for the core group",
        },
      ],
    },
    kind: {
      type: "string",
      minLength: 1,
      maxLength: 63,
      "x-kubernetes-validations": [
        {
          rule: "self.matches(r'^[A-Z][A-Za-z0-9]*$')",
          messageExpression:
            '"\\"" + self + "\\" is not a kind: write it in CamelCase and in the singular, such as Backup"',
          message: "must be a kind in CamelCase and in the singular, such as Backup",
        },
      ],
    },
    namespace: name,
    name: {
      type: "string",
      minLength: 1,
      maxLength: 253,
      "x-kubernetes-validations": [
        {
          rule: "self.matches(r'^[-\\w.:]+$') && !(self in ['.', '..'])",
          messageExpression:
            "\"\\\"\" + self + \"\\\" is not the name of an object: use letters, digits, '-', '_', '.' and ':'\"",
          message: "must be the name of an object, of letters, digits, '-', '_', '.' and ':'",
        },
      ],
    },
    nameExpression: celExpression,
    selector: HookPolicyLabelSelector,
    expression: celExpression,
    minCount: { type: "integer", format: "int32", minimum: 1, maximum: 1000 },
    maxCount: { type: "integer", format: "int32", minimum: 1, maximum: 1000 },
    absent: { type: "boolean", enum: [true] },
  },
  "x-kubernetes-validations": ObjectGateSpecRules,
};

const HookRolloutAnyOfGateSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    message: {
      type: "string",
      minLength: 1,
      maxLength: 128,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      "x-expected":
        "one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |",
    },
    annotation: AnnotationGateSpec,
    label: LabelGateSpec,
    expression: celExpression,
    window: WindowGateSpec,
    version: VersionGateSpec,
    object: HookRolloutObjectGateSpec,
  },
  "x-kubernetes-validations": AnyOfGateSpecRules,
};

const StageGateSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    message: {
      type: "string",
      minLength: 1,
      maxLength: 128,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      "x-expected":
        "one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |",
    },
    annotation: AnnotationGateSpec,
    label: LabelGateSpec,
    expression: celExpression,
    window: WindowGateSpec,
    version: VersionGateSpec,
    object: HookRolloutObjectGateSpec,
    anyOf: {
      type: "array",
      minItems: 2,
      maxItems: 8,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: HookRolloutAnyOfGateSpec,
    },
  },
  "x-kubernetes-validations": [
    {
      rule: "[has(self.annotation), has(self.label), has(self.expression), has(self.window), has(self.version), has(self.object), has(self.anyOf)].exists_one(set, set)",
      messageExpression:
        '"gate \\"" + self.name + "\\" has " + [[has(self.annotation) ? "annotation" : "", has(self.label) ? "label" : "", has(self.expression) ? "expression" : "", has(self.window) ? "window" : "", has(self.version) ? "version" : "", has(self.object) ? "object" : "", has(self.anyOf) ? "anyOf" : ""].filter(kind, kind != "")].map(set, set.size() == 0 ? "no condition" : set.join(" and "))[0] + ": set exactly one of annotation, label, expression, window, version, object and anyOf"',
      message:
        "a gate must have exactly one of annotation, label, expression, window, version, object and anyOf",
    },
  ],
};

const RolloutStageSpec: CrdSchema = {
  type: "object",
  required: ["name"],
  properties: {
    name: name,
    clusterSelector: HookPolicyLabelSelector,
    namespaceSelector: HookPolicyLabelSelector,
    maxConcurrency: {
      type: ["integer", "string"],
      minimum: 0,
      maxLength: 4,
      pattern: "^(100|[1-9]?[0-9])%$",
      "x-expected": "a whole number without quotes, or a percentage from 0% to 100%",
      maximum: 200,
    },
    minSucceeded: {
      type: ["integer", "string"],
      minimum: 0,
      maxLength: 4,
      pattern: "^(100|[1-9]?[0-9])%$",
      "x-expected": "a whole number without quotes, or a percentage from 0% to 100%",
      maximum: 10000,
      default: "100%",
    },
    minSuccessTime: {
      type: "string",
      minLength: 1,
      maxLength: 16,
      "x-kubernetes-validations": TaskSpecKeepRules,
      default: "0s",
    },
    maxFailures: {
      type: ["integer", "string"],
      minimum: 0,
      maxLength: 4,
      pattern: "^(100|[1-9]?[0-9])%$",
      "x-expected": "a whole number without quotes, or a percentage from 0% to 100%",
      maximum: 50,
      default: 0,
    },
    until: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: StageGateSpec,
    },
  },
};

const HookRolloutSpec: CrdSchema = {
  type: "object",
  required: ["operation", "namespaceSelector", "progressDeadline"],
  properties: {
    operation: {
      type: "string",
      enum: ["Create", "Upgrade", "Delete"],
      "x-kubernetes-validations": [
        {
          rule: "self == oldSelf",
          message: "cannot be changed. Create another HookRollout",
          reason: "FieldValueForbidden",
        },
      ],
    },
    mode: { type: "string", enum: ["Enforce", "Audit"], default: "Enforce" },
    paused: { type: "boolean", default: false },
    namespaceSelector: LabelSelector,
    clusterSelector: LabelSelector,
    maxConcurrency: {
      type: ["integer", "string"],
      minimum: 0,
      maxLength: 4,
      pattern: "^(100|[1-9]?[0-9])%$",
      "x-expected": "a whole number without quotes, or a percentage from 0% to 100%",
      maximum: 200,
      default: 1,
    },
    spread: {
      type: "array",
      maxItems: 8,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["labelKey"],
      items: RolloutSpreadSpec,
    },
    orderLabelKey: labelKey,
    retryAfterSeconds: { type: "integer", format: "int32", minimum: 5, maximum: 300 },
    progressDeadline: duration,
    healthyWhen: {
      type: "array",
      minItems: 1,
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: MatchCondition,
    },
    ignoreFailuresBefore: instant,
    stages: {
      type: "array",
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: RolloutStageSpec,
    },
  },
  "x-kubernetes-validations": [
    {
      rule: "!has(self.stages) || self.stages.size() == 0 || self.operation == 'Upgrade'",
      messageExpression:
        '"stages are for upgrades only, and operation is " + self.operation + ". Remove them, and limit the operations with maxConcurrency and spread"',
      message: "stages are for upgrades only. Remove them",
      reason: "FieldValueForbidden",
      fieldPath: ".stages",
    },
    {
      rule: "!has(self.stages) || self.stages.all(s, s.name == self.stages[self.stages.size() - 1].name || (has(s.clusterSelector) && ((has(s.clusterSelector.matchLabels) && s.clusterSelector.matchLabels.size() > 0) || (has(s.clusterSelector.matchExpressions) && s.clusterSelector.matchExpressions.size() > 0))) || (has(s.namespaceSelector) && ((has(s.namespaceSelector.matchLabels) && s.namespaceSelector.matchLabels.size() > 0) || (has(s.namespaceSelector.matchExpressions) && s.namespaceSelector.matchExpressions.size() > 0))))",
      message:
        "only the last stage may be without a selector, as no Cluster comes to the stages after it. Put it last",
      reason: "FieldValueInvalid",
      fieldPath: ".stages",
    },
  ],
};

const RolloutSummary: CrdSchema = {
  type: "object",
  required: ["running", "succeeded", "failed", "waiting"],
  properties: {
    running: { type: "integer", format: "int32", minimum: 0 },
    succeeded: { type: "integer", format: "int32", minimum: 0 },
    failed: { type: "integer", format: "int32", minimum: 0 },
    waiting: { type: "integer", format: "int32", minimum: 0 },
  },
};

const RolloutClaim: CrdSchema = {
  type: "object",
  required: ["namespace", "name", "uid", "claimedAt", "renewedAt", "attempts", "claimed"],
  properties: {
    namespace: { type: "string", maxLength: 63 },
    name: { type: "string", maxLength: 253 },
    uid: clusterUID,
    target: clusterUID,
    stage: { type: "string", maxLength: 63 },
    claimedAt: time,
    renewedAt: time,
    attempts: { type: "integer", format: "int32", minimum: 0 },
    markedAt: time,
    claimed: { type: "boolean" },
    tasks: { type: "boolean" },
  },
};

const RolloutAwaited: CrdSchema = {
  type: "object",
  required: ["namespace", "name", "reason"],
  properties: {
    namespace: { type: "string", maxLength: 63 },
    name: { type: "string", maxLength: 253 },
    reason: reason,
  },
};

const RolloutStageStatus: CrdSchema = {
  type: "object",
  required: ["name", "members", "notAsked", "waiting", "running", "succeeded", "failed", "passed"],
  properties: {
    name: { type: "string", maxLength: 63 },
    members: { type: "integer", format: "int32", minimum: 0 },
    notAsked: { type: "integer", format: "int32", minimum: 0 },
    waiting: { type: "integer", format: "int32", minimum: 0 },
    running: { type: "integer", format: "int32", minimum: 0 },
    succeeded: { type: "integer", format: "int32", minimum: 0 },
    failed: { type: "integer", format: "int32", minimum: 0 },
    waitsFor: { type: "array", maxItems: 10, "x-kubernetes-list-type": "atomic", items: RolloutAwaited },
    soakingSince: time,
    passed: { type: "boolean" },
  },
};

const RolloutTarget: CrdSchema = {
  type: "object",
  required: ["stages"],
  properties: {
    version: clusterUID,
    stages: { type: "array", maxItems: 16, "x-kubernetes-list-type": "atomic", items: RolloutStageStatus },
  },
};

const RolloutFailure: CrdSchema = {
  type: "object",
  required: ["namespace", "name", "uid", "reason", "time", "message"],
  properties: {
    namespace: { type: "string", maxLength: 63 },
    name: { type: "string", maxLength: 253 },
    uid: clusterUID,
    target: clusterUID,
    stage: { type: "string", maxLength: 63 },
    reason: reason,
    time: time,
    message: { type: "string", maxLength: 256 },
  },
};

const RolloutHeld: CrdSchema = {
  type: "object",
  required: ["namespace", "name", "uid", "reason", "message", "since"],
  properties: {
    namespace: { type: "string", maxLength: 63 },
    name: { type: "string", maxLength: 253 },
    uid: clusterUID,
    target: clusterUID,
    stage: { type: "string", maxLength: 63 },
    reason: reason,
    message: { type: "string", maxLength: 256 },
    since: time,
  },
};

const RolloutCandidate: CrdSchema = {
  type: "object",
  required: ["namespace", "name", "since"],
  properties: {
    namespace: { type: "string", maxLength: 63 },
    name: { type: "string", maxLength: 253 },
    target: clusterUID,
    stage: { type: "string", maxLength: 63 },
    since: time,
    reason: reason,
  },
};

const HookRolloutStatus: CrdSchema = {
  type: "object",
  default: { observedGeneration: -1 },
  properties: {
    observedGeneration: { type: "integer", format: "int64" },
    conditions: conditions,
    target: clusterUID,
    stage: { type: "string", maxLength: 63 },
    scope: { type: "string", maxLength: 16 },
    summary: RolloutSummary,
    running: { type: "array", maxItems: 200, "x-kubernetes-list-type": "atomic", items: RolloutClaim },
    targets: { type: "array", maxItems: 16, "x-kubernetes-list-type": "atomic", items: RolloutTarget },
    failed: { type: "array", maxItems: 50, "x-kubernetes-list-type": "atomic", items: RolloutFailure },
    held: { type: "array", maxItems: 50, "x-kubernetes-list-type": "atomic", items: RolloutHeld },
    heldOmitted: { type: "integer", format: "int32", minimum: 0 },
    turns: {
      type: "array",
      maxItems: 200,
      "x-kubernetes-list-type": "atomic",
      items: { type: "string", maxLength: 63 },
    },
    next: { type: "array", maxItems: 10, "x-kubernetes-list-type": "atomic", items: RolloutCandidate },
  },
};

/** The openAPIV3Schema of each kind that users write, without descriptions. */
export const CRD_SCHEMAS: Readonly<
  Record<"HookPolicy" | "ClusterHookPolicy" | "HookOverride" | "HookRollout", CrdSchema>
> = {
  HookPolicy: {
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object", properties: { name: { type: "string", maxLength: 63 } } },
      spec: HookPolicySpec,
      status: HookPolicyStatus,
    },
  },
  ClusterHookPolicy: {
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object", properties: { name: { type: "string", maxLength: 63 } } },
      spec: ClusterHookPolicySpec,
      status: HookPolicyStatus,
    },
  },
  HookOverride: {
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object", properties: { name: { type: "string", maxLength: 63 } } },
      spec: HookOverrideSpec,
      status: HookOverrideStatus,
    },
  },
  HookRollout: {
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object", properties: { name: { type: "string", maxLength: 63 } } },
      spec: HookRolloutSpec,
      status: HookRolloutStatus,
    },
  },
};
