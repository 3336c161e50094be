/** Policies that cost as much as a policy can: whoever may write one in a namespace must not slow down the others. */

import type { Ref } from "../controlplane/client.ts";
import { createCluster } from "../controlplane/lab.ts";
import { applyPolicy, policyRef, storePolicy } from "../controlplane/policies.ts";
import { type Attack, repeated } from "./attack.ts";
import { HOLDING, type Target } from "./target.ts";
import type { Tally } from "./tally.ts";
import { judge } from "./verdict.ts";

const NAMESPACE = "bombs";
const DELETE = "BeforeClusterDelete";
const LONGEST = 1024;
const CALLS = 5;

const range = (count: number): string => `[${Array.from({ length: count }, (_, index) => index).join(",")}]`;
const loops = `${range(20)}.all(a, ${range(20)}.all(b, ${range(20)}.all(c, ${range(20)}.all(d, ${range(20)}.all(e, a + b + c + d + e >= 0)))))`;

/** Each gives a bool, as a gate must. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  loops: `size(cluster.metadata.name) > 0 && ${loops}`,
  doubling: `${"[cluster.metadata.name]".concat(".map(x, x + x)".repeat(40))}.exists(x, x == '')`,
  lists: `[[0]]${".map(x, [x, x, x, x])".repeat(30)}.size() > size(cluster.metadata.name)`,
  parentheses: `${"(".repeat(400)}cluster.metadata.name == 'x'${")".repeat(400)}`,
  negations: `${"!".repeat(LONGEST - 30)}(cluster.metadata.name == 'x')`,
  alternatives: `cluster.metadata.name == ''${" || cluster.metadata.name == 'x'".repeat(30)}`,
  ternaries: `cluster.metadata.name == 'x'${" ? true : cluster.metadata.name == 'x'".repeat(25)}`,
  "a regular expression that backtracks": "cluster.metadata.name.matches('^(([a-z])+.)+[A-Z]([a-z])+$')",
  "a regular expression that repeats": "cluster.metadata.name.matches('((a{100}){100}){100}')",
  "a regular expression of alternatives": `cluster.metadata.name.matches('^(${"(a|aa)+".repeat(120)})$')`,
  "a regular expression of a class": String.raw`cluster.metadata.name.matches('(\\pL{1,1000}|\\PL{1,1000}){1,1000}')`,
};

const expressionRule = (name: string, expressions: readonly string[]): object => ({
  name,
  hooks: [DELETE],
  until: expressions.map((expression, index) => ({ name: `gate-${index}`, expression })),
});

function longest(unique: string): string {
  const begin = `cluster.metadata.name == '${unique}'`;
  const more = " && cluster.metadata.labels.all(k, k != 'x')";
  return begin + more.repeat(Math.floor((LONGEST - begin.length) / more.length));
}

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** As many of the longest expressions as the operator looks at. */
const LARGEST = {
  rules: [
    expressionRule(
      "rule",
      many(8, (gate) => longest(String(gate))),
    ),
  ],
};

/** As much as the API server takes, which notes who owns each of its fields, too: 16 rules of 16 gates of 3 more. */
const LARGEST_STORED = {
  rules: many(16, (rule) => ({
    name: `rule-${rule}`,
    hooks: [DELETE],
    until: many(16, (gate) => ({
      name: `gate-${gate}`,
      anyOf: many(3, (member) => ({ name: `m-${member}`, expression: longest(`${rule}-${gate}-${member}`) })),
    })),
  })),
};

/** Each is a policy of its own, by name. */
const BOMBS: readonly (readonly [name: string, spec: object])[] = [
  ...Object.entries(EXPRESSIONS).map(
    ([name, expression]) => [name, { rules: [expressionRule("bomb", [expression])] }] as const,
  ),
  ["the largest legal policy", LARGEST],
  ["the largest policy that can be stored", LARGEST_STORED],
];

export const policies: Attack = {
  id: "policies",
  title: "policies with CEL bombs, catastrophic regular expressions, and the largest legal policy",
  run: async (target, scale, tally) => {
    const request = await heldCluster(target);
    await repeated(scale, async () => await explodeAll(target, request, tally));
  },
};

async function explodeAll(target: Target, request: object, tally: Tally): Promise<void> {
  for (const [name, spec] of BOMBS) {
    const ref = policyRef(NAMESPACE, name.replaceAll(" ", "-"));
    await judged(target, ref, spec);
    for (let call = 0; call < CALLS; call += 1) {
      const answer = await target.operator.ask(DELETE, request);
      const route = { kind: "hook", hook: DELETE, path: "" } as const;
      judge(tally, route, { status: 200, text: JSON.stringify(answer) }, name);
    }
    await target.cp.delete(ref);
  }
}

/** All of the bombs are about it, and one policy that holds it whatever they say. */
async function heldCluster({ cp }: Target): Promise<object> {
  await applyPolicy(cp, policyRef(NAMESPACE, "protect"), { rules: [HOLDING] });
  const name = "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz";
  const cluster = await createCluster(cp, { namespace: NAMESPACE, name, labels: { tier: "production" } });
  return { cluster };
}

/** The API server takes every one of them; what the operator thinks of it stands in the status. */
async function judged({ cp }: Target, ref: Ref, spec: object): Promise<void> {
  const { metadata } = await storePolicy(cp, ref, spec);
  await cp.waitFor(`${ref.name} to be judged`, async () => {
    const { status } = await cp.get(ref);
    return status?.observedGeneration >= (metadata.generation ?? 0);
  });
}
