/** Bodies that are JSON, or nearly, and cost much: too large, too dense, too deep, or with names that objects have anyway. */

import type { HookName } from "../../src/api/runtime-hooks.ts";
import { post } from "../controlplane/post.ts";
import { type Attack, repeated, type Scale } from "./attack.ts";
import type { Tally } from "./tally.ts";
import { portOf, seedOf, type Target } from "./target.ts";
import { judge, type Route } from "./verdict.ts";
import { attackingAgent } from "./wire.ts";

const MIB = 1024 * 1024;
const LIMIT = 4 * MIB;
const LEVELS = 100_000;
const TIMEOUT_MS = 40_000;
/** A body that takes longer is refused while it is sent, so that the client may see the end of the connection alone. */
const REQUEST_LIMIT_MS = 30_000;

/** `unit` again and again until it is `size` long. */
function filled(size: number, unit: string, [before, after]: readonly [string, string] = ["", ""]): Buffer {
  const body = Buffer.alloc(size, unit);
  body.write(before, 0);
  body.write(after, size - after.length);
  return body;
}

const nested = (open: string, close: string, inside = ""): string =>
  open.repeat(LEVELS) + inside + close.repeat(LEVELS);
/** As keys of their own, which JSON.parse makes of them. */
const OWN_NAMES = `{"__proto__":{"allowed":true,"cluster":{}},"constructor":{"prototype":{"retryAfterSeconds":0}},"toString":1}`;

const OVERSIZED: Readonly<Record<string, Buffer>> = {
  "4 MiB and a byte": Buffer.alloc(LIMIT + 1, " "),
  "4 MiB of spaces": Buffer.alloc(LIMIT, " "),
  "4 MiB of a name": filled(LIMIT, "x", ['{"cluster":{"metadata":{"name":"', '"}}}']),
  "4 MiB that are no UTF-8": Buffer.alloc(LIMIT, 0xff),
  "20 MiB of spaces": Buffer.alloc(20 * MIB, " "),
  "20 MiB of a name": filled(20 * MIB, "x", ['{"cluster":{"metadata":{"name":"', '"}}}']),
};

/** Few bytes each, and many in memory. */
const DENSE: Readonly<Record<string, Buffer>> = {
  "empty lists": filled(LIMIT, "[],", ['{"cluster":[', "[]]}"]),
  "empty objects": filled(LIMIT, "{},", ['{"cluster":[', "{}]}"]),
  "open lists": Buffer.alloc(LIMIT, "["),
  "open objects": Buffer.alloc(LIMIT, '{"":'),
  numbers: filled(LIMIT, "1.5,", ["[0,", "1]"]),
  names: Buffer.from(
    `{${Array.from({ length: 400_000 }, (_, index) => `"${index}":0`).join(",")}}`.slice(0, LIMIT),
  ),
  "commas in a text": filled(LIMIT, ",", ['{"":"', '"}']),
};

export const oversized: Attack = {
  id: "oversized",
  title: "bodies of 4 MiB, of a byte more, and of 20 MiB",
  run: async (target, scale, tally) => await sendAll(target, { bodies: OVERSIZED, scale, tally }),
};

export const dense: Attack = {
  id: "dense",
  title: "4 MiB of JSON that is nothing but lists, objects or numbers",
  run: async (target, scale, tally) => await sendAll(target, { bodies: DENSE, scale, tally }),
};

const VALUES: Readonly<Record<string, string>> = {
  "nested lists": nested("[", "]"),
  "nested objects": nested('{"a":', "}", "1"),
  "open lists": "[".repeat(LEVELS),
  "a high surrogate": String.raw`"\ud800"`,
  "surrogates in the wrong order": String.raw`"\udc00\ud800"`,
  "a surrogate in UTF-8": '"\u00ed\u00a0\u0080"',
  "2^53 + 1": "9007199254740993",
  "-2^63": "-9223372036854775808",
  "1e400": "1e400",
  "a number of 100,000 digits": "9".repeat(LEVELS),
  "an exponent of 100,000 digits": `1e-${"9".repeat(LEVELS)}`,
  "minus zero": "-0",
  "names of Object.prototype": OWN_NAMES,
  "a text of a MiB": `"${"x".repeat(MIB)}"`,
  "control characters": String.raw`"a\u0000\u001b[31m\r\nb\u2028"`,
};

/** Where in a golden request a value is put. */
const PLACES: Readonly<Record<string, (request: string, value: string) => string>> = {
  "the request": (_, value) => value,
  "an unknown field": (request, value) => request.replace('"cluster":{', (found) => `${found}"x":${value},`),
  "the Cluster": (request, value) => `${request.slice(0, -1)},"cluster":${value}}`,
  metadata: (request, value) => request.replace('"metadata":{', (found) => `${found}"metadata":${value},`),
  settings: (request, value) => request.replace('"settings":{', (found) => `${found}"x":${value},`),
  "the settings": (request, value) => `${request.slice(0, -1)},"settings":${value}}`,
  "a label": (request, value) => request.replace('"labels":{', (found) => `${found}"tier":${value},`),
  "an annotation": (request, value) =>
    request.replace('"annotations":{', (found) => `${found}"hooks.example.com/approved":${value},`),
  "a variable": (request, value) =>
    request.replace('"variables":[', (found) => `${found}{"name":"x","value":${value}},`),
  "the name": (request, value) => request.replace('"name":"prod-1"', () => `"name":${value}`),
  "the resource version": (request, value) =>
    request.replace('"resourceVersion":"1000"', () => `"resourceVersion":${value}`),
};

/** Makes the copy in the request the newer one, so that what it says counts in memory. */
const newer = (request: string): string =>
  request.replace(/"resourceVersion":"\d+"/, '"resourceVersion":"999999999"');

export const json: Attack = {
  id: "json",
  title:
    "JSON of 100,000 levels, duplicate keys, __proto__, lone surrogates and numbers that no double holds",
  run: async (target, scale, tally) => {
    const { route, body } = seedOf(target, "BeforeClusterUpgrade");
    const bodies: Record<string, Buffer> = {};
    for (const [what, value] of Object.entries(VALUES)) {
      for (const [where, put] of Object.entries(PLACES)) {
        const changed = put(newer(body.toString()), value);
        bodies[`${what} as ${where}`] = Buffer.from(changed, what.includes("UTF-8") ? "latin1" : "utf8");
      }
    }
    await sendAll(target, { bodies, scale, tally, routes: [route] });
  },
};

interface SendOptions {
  readonly bodies: Readonly<Record<string, Buffer>>;
  readonly scale: Scale;
  readonly tally: Tally;
  /** Default: a hook that waits, one that does not, discovery and admission. */
  readonly routes?: readonly Route[];
}

async function sendAll(
  target: Target,
  { bodies, scale, tally, routes = routesOf(target) }: SendOptions,
): Promise<void> {
  const agent = attackingAgent(target);
  const send = async (route: Route, [name, body]: readonly [string, Buffer]): Promise<void> => {
    const begun = performance.now();
    try {
      const port = portOf(target, route);
      const answer = await post({ port, path: route.path, body, agent, timeoutMs: TIMEOUT_MS });
      judge(tally, route, answer, name);
    } catch (error) {
      const isEnd = /EPIPE|ECONNRESET|socket hang up/.test(String(error));
      if (isEnd && performance.now() - begun > REQUEST_LIMIT_MS) tally.refusal();
      else tally.wrong("invalid", `${name} on ${route.path}: ${String(error)}`);
    }
  };
  try {
    await repeated(scale, async () => {
      for (const each of Object.entries(bodies)) await Promise.all(routes.map((route) => send(route, each)));
    });
  } finally {
    agent.destroy();
  }
}

function routesOf({ seeds }: Target): Route[] {
  const names: readonly HookName[] = ["BeforeClusterDelete", "AfterControlPlaneInitialized"];
  const wanted = seeds.filter(({ route }) => (route.kind === "hook" ? names.includes(route.hook) : true));
  return [...new Map(wanted.map(({ route }) => [route.path, route])).values()];
}
