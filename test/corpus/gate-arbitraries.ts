/** Valid gates, conditions and deadlines of every kind. */

import * as fc from "fast-check";

export interface NamedObject {
  readonly name: string;
}

export const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
export const labelValue = fc.stringMatching(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?)?$/);
export const text = fc.string({ unit: "binary", maxLength: 40 });
export const key = fc.stringMatching(
  /^([a-z0-9]([-a-z0-9]{0,9}[a-z0-9])?(\.[a-z0-9]{1,5})?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?$/,
);
export const expression = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });

const requirement = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom("In", "NotIn"),
    values: fc.array(labelValue, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ key, operator: fc.constantFrom("Exists", "DoesNotExist") }),
);
export const selector = fc.record(
  {
    matchLabels: fc.dictionary(key, labelValue, { maxKeys: 3 }),
    matchExpressions: fc.array(requirement, { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

const part = (unit: string, max: number): fc.Arbitrary<string> =>
  fc.option(fc.nat({ max }), { nil: undefined }).map((n) => (n === undefined ? "" : `${n}${unit}`));
export const duration = fc.oneof(
  fc.constantFrom("8784h", "1s", "31622400s", "00h01m"),
  fc
    .tuple(part("h", 8000), part("m", 999), part("s", 9999))
    .map((parts) => parts.join(""))
    .filter((t) => /[1-9]/.test(t)),
);

/** With offset, fraction or neither. */
function written(ms: number, style: number): string {
  if (style === 0) return new Date(ms).toISOString();
  if (style === 1) return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
  return new Date(ms + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
}
const START = Date.UTC(2000, 0, 2);
const END = Date.UTC(2999, 11, 30);
const style = fc.nat({ max: 2 });
const moment = fc.integer({ min: START, max: END });
export const instant = fc.tuple(moment, style).map(([ms, s]) => written(ms, s));
const period = fc
  .tuple(moment, fc.integer({ min: 1000, max: 1e11 }), style, style)
  .filter(([start, length]) => start + length <= END)
  .map(([start, length, s, t]) => ({ from: written(start, s), to: written(start + length, t) }));

const localPeriod = fc
  .tuple(moment, fc.integer({ min: 2, max: 300 }), fc.constantFrom(10, 16, 19), fc.constantFrom(10, 16, 19))
  .filter(([start, days]) => start + days * 86_400_000 <= END)
  .map(([start, days, a, b]) => ({
    from: new Date(start).toISOString().slice(0, a),
    to: new Date(start + days * 86_400_000).toISOString().slice(0, b),
  }));

const recurrence = fc.record({ schedule: fc.constantFrom("0 22 * * FRI", "*/5 * 1 JAN *"), duration });
const timeZone = fc.constantFrom("Europe/Berlin", "UTC", "Etc/GMT+1", "America/Argentina/Buenos_Aires");
const list = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(item, { minLength: 1, maxLength: 3 });
const entries = list(fc.oneof(recurrence, period, localPeriod));
const window = fc.oneof(
  fc.record({ timeZone, allow: entries, deny: entries }, { requiredKeys: ["timeZone", "allow"] }),
  fc.record({ timeZone, deny: entries }),
  fc.record({ allow: list(period) }),
);

const apiVersion = fc.constantFrom("v1", "velero.io/v1", "apps/v1beta2", "a-b.example.com/v1alpha1");
const kind = fc.constantFrom("Backup", "ConfigMap", "HelmChartProxy", "X509");
const absent = fc.constant(true);
function object(fleet: boolean): fc.Arbitrary<object> {
  const what = { apiVersion, kind, expression, ...(fleet && { namespace: label }) };
  const name = fc.constantFrom("a", "system:node", "Some_Name.1");
  const minCount = fc.integer({ min: 1, max: 1000 });
  const required = ["apiVersion", "kind"] as const;
  const elsewhere = { apiVersion, kind, selector, namespaceSelector: selector };
  return fc.oneof(
    fc.record({ ...what, name, absent }, { requiredKeys: [...required, "name"] }),
    fc.record(
      { ...what, nameExpression: expression, minCount: fc.constant(1) },
      { requiredKeys: [...required, "nameExpression"] },
    ),
    fc.record({ ...what, selector, minCount }, { requiredKeys: [...required, "selector"] }),
    fc.record({ ...what, selector, absent }, { requiredKeys: [...required, "selector"] }),
    fc.record({ ...what, selector, maxCount: minCount }, { requiredKeys: [...required, "selector"] }),
    ...(fleet ? [fc.record({ ...elsewhere, maxCount: minCount }), fc.record({ ...elsewhere, absent })] : []),
  );
}

const from = fc.constantFrom("Cluster", "Namespace");
function metadata(value: fc.Arbitrary<string>, upgrade: boolean): fc.Arbitrary<object> {
  const valueFrom = fc.constantFrom("ClusterName", "ClusterUID", ...(upgrade ? ["TargetVersion"] : []));
  return fc.oneof(
    fc.record({ key, from, value }, { requiredKeys: ["key"] }),
    fc.record({ key, from, valueFrom }, { requiredKeys: ["key"] }),
  );
}

const range = fc.constantFrom(">=1.34.0 <1.36.0", "1.34.x || ~1.35.2", "*");

/** The kinds that anyOf may hold too. */
function plainGate(upgrade: boolean, fleet: boolean): fc.Arbitrary<NamedObject> {
  return fc.oneof(
    fc.record({ name: label, annotation: metadata(text, upgrade) }),
    fc.record({ name: label, label: metadata(labelValue, upgrade) }),
    fc.record({ name: label, expression }),
    fc.record({ name: label, window }),
    fc.record({ name: label, object: object(fleet) }),
    ...(upgrade ? [fc.record({ name: label, version: fc.record({ range }) })] : []),
  );
}

export function named<T extends NamedObject>(item: fc.Arbitrary<T>, minLength = 1): fc.Arbitrary<T[]> {
  return fc.uniqueArray(item, { selector: ({ name }) => name, minLength, maxLength: 3 });
}

/** `upgrade`: with what only upgrade hooks may have; `fleet`: with what only kinds without a namespace may have. */
export function gate(upgrade: boolean, fleet: boolean): fc.Arbitrary<NamedObject> {
  return fc.oneof(
    { weight: 6, arbitrary: gateWithoutWait(upgrade, fleet) },
    { weight: 1, arbitrary: fc.record({ name: label, wait: fc.record({ duration }) }) },
  );
}

function gateWithoutWait(upgrade: boolean, fleet: boolean): fc.Arbitrary<NamedObject> {
  const plain = plainGate(upgrade, fleet);
  return fc.oneof(
    { weight: 5, arbitrary: plain },
    { weight: 1, arbitrary: fc.record({ name: label, anyOf: named(plain, 2) }) },
  );
}

export const stageGate = gateWithoutWait(true, true);

export const matchConditions = named(fc.record({ name: label, expression }));
export const deadline = fc.record({ after: duration, onExpiry: fc.constantFrom("Allow", "KeepBlocking") });
