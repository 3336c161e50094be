/**
 * "As kubectl does": kubectl and hookpolicy side by side, with the same kubeconfig, environment and plugin, on a real API server,
 * which says who asked. Who asks here may read nothing, so both are told their name.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createConnection, type Socket } from "node:net";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { type Files, folder, hookpolicy, MAIN, type Outcome } from "../unit/cli/program.ts";
import { onTerminal } from "../unit/cli/terminal/pseudo-terminal.ts";

const NS = "as-kubectl";
const CLIENT_GO = "client.authentication.k8s.io/v1";
const CLEAN = { KUBECONFIG: "", HTTPS_PROXY: "", https_proxy: "", NO_PROXY: "", no_proxy: "" };

let cp: ControlPlane;
let kubectl: string;
let ca: string;
const tokens = { alice: "", bob: "" };

before(async () => {
  cp = await sharedControlPlane();
  ({ kubectl } = await controlPlaneBinaries());
  ca = Buffer.from(await readFile(cp.caFile)).toString("base64");
  await cp.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: NS } }]);
  for (const name of ["alice", "bob"] as const) {
    await cp.apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: NS, name } }]);
    tokens[name] = await cp.tokenFor(NS, name);
  }
});
after(async () => await cp?.stop());

const account = (name: string): string => `system:serviceaccount:${NS}:${name}`;

/** A kubeconfig, as JSON, of one context for each user; the first is the current one. */
function config(
  users: Readonly<Record<string, object>>,
  more: { cluster?: object; current?: string } = {},
): string {
  const [first = ""] = Object.keys(users);
  const cluster = { server: cp.apiServer.url, "certificate-authority-data": ca, ...more.cluster };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": more.current ?? first,
    clusters: [{ name: "c", cluster }],
    contexts: Object.keys(users).map((user) => ({ name: user, context: { cluster: "c", user } })),
    users: Object.entries(users).map(([name, user]) => ({ name, user })),
  });
}

/** A file of a case is a text, or what it is once the control plane runs. */
interface Case {
  readonly files: () => Files;
  /** In the folder of the files, whose path stands for "@". */
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** Who the API server says asks; absent: neither gets that far. */
  readonly user?: string;
  /** What hookpolicy says where neither gets that far. */
  readonly says?: RegExp;
}

interface Outcomes {
  readonly kubectl: Outcome;
  readonly hookpolicy: Outcome;
}

async function ask(dir: string, { env = {}, flags = [] }: Omit<Case, "files">): Promise<Outcomes> {
  const at = (text: string): string => text.replaceAll("@", dir);
  const variables = Object.entries({ ...CLEAN, HOME: dir, ...env }).map(
    ([name, value]) => [name, at(value)] as const,
  );
  const start = { cwd: dir, env: Object.fromEntries(variables) };
  const words = flags.map(at);
  const [theirs, ours] = await Promise.all([
    run(kubectl, [...words, "get", "hookpolicies.hookpolicy.dev", "-n", NS], start),
    hookpolicy([...words, "get", "-n", NS], start),
  ]);
  return { kubectl: theirs, hookpolicy: ours };
}

async function run(
  program: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Outcome> {
  return await new Promise((done) => {
    const child = execFile(program, args, { cwd, env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/** "" where the API server named nobody. */
const userIn = ({ stderr }: Outcome): string =>
  /[Uu]ser \\?"([^"\\]+)\\?" cannot list/.exec(stderr)?.[1] ?? "";

/** Plugins can be run. */
async function folderOf(t: Parameters<typeof folder>[0], files: Files): Promise<string> {
  const dir = await folder(t, files);
  const plugins = Object.keys(files).filter((name) => basename(name) === "plugin");
  await Promise.all(plugins.map(async (name) => await chmod(join(dir, name), 0o755)));
  return dir;
}

async function compare(
  t: Parameters<typeof folder>[0],
  { files, user = "", says, ...rest }: Case,
): Promise<Outcomes> {
  const asked = await ask(await folderOf(t, files()), rest);
  assert.deepEqual(
    { kubectl: userIn(asked.kubectl), hookpolicy: userIn(asked.hookpolicy) },
    { kubectl: user, hookpolicy: user },
    `kubectl: ${asked.kubectl.stderr}\nhookpolicy: ${asked.hookpolicy.stderr}`,
  );
  assert.notEqual(asked.kubectl.code, 0);
  assert.notEqual(asked.hookpolicy.code, 0);
  if (says !== undefined) assert.match(asked.hookpolicy.stderr, says);
  return asked;
}

const alice = (): object => ({ token: tokens.alice });
const bob = (): object => ({ token: tokens.bob });
const plugin = (more: object = {}): object => ({
  exec: { apiVersion: CLIENT_GO, command: "./plugin", interactiveMode: "IfAvailable", ...more },
});
/** A script that prints the token of alice. */
const printing = (token: string, first = ""): string =>
  `#!/bin/sh\n${first}\necho '${JSON.stringify({ apiVersion: CLIENT_GO, kind: "ExecCredential", status: { token } })}'\n`;

const cases: Readonly<Record<string, Case>> = {
  "~/.kube/config": {
    files: () => ({ ".kube/config": config({ alice: alice() }) }),
    user: account("alice"),
  },
  "$KUBECONFIG before ~/.kube/config": {
    files: () => ({ ".kube/config": config({ alice: alice() }), k: config({ bob: bob() }) }),
    env: { KUBECONFIG: "@/k" },
    user: account("bob"),
  },
  "--kubeconfig before $KUBECONFIG": {
    files: () => ({ a: config({ alice: alice() }), b: config({ bob: bob() }) }),
    env: { KUBECONFIG: "@/a" },
    flags: ["--kubeconfig", "b"],
    user: account("bob"),
  },
  "the first of two files that have the same names": {
    files: () => ({ a: config({ u: alice() }), b: config({ u: bob() }) }),
    env: { KUBECONFIG: "@/a:@/b" },
    user: account("alice"),
  },
  "the first current-context that is set": {
    files: () => ({
      a: config({ alice: alice() }, { current: "" }),
      b: config({ bob: bob() }),
    }),
    env: { KUBECONFIG: "@/a:@/b" },
    user: account("bob"),
  },
  "the same file twice, an empty one and one that is missing": {
    files: () => ({ a: config({ alice: alice() }), empty: "" }),
    env: { KUBECONFIG: "@/empty:@/a:@/a:@/missing" },
    user: account("alice"),
  },
  "a file with entries that are incomplete and unused": {
    files: () => {
      const { clusters, contexts, users, ...rest } = JSON.parse(config({ alice: alice() }));
      return {
        a: JSON.stringify({
          ...rest,
          clusters: [{ name: "half", cluster: {} }, ...clusters],
          contexts: [{ name: "half", context: { namespace: "x" } }, ...contexts],
          users: [{ name: "half" }, ...users],
        }),
      };
    },
    env: { KUBECONFIG: "@/a" },
    user: account("alice"),
  },
  "--context": {
    files: () => ({ a: config({ alice: alice(), bob: bob() }) }),
    env: { KUBECONFIG: "@/a" },
    flags: ["--context=bob"],
    user: account("bob"),
  },
  "--user": {
    files: () => ({ a: config({ alice: alice(), bob: bob() }) }),
    env: { KUBECONFIG: "@/a" },
    flags: ["--user", "bob"],
    user: account("bob"),
  },
  "a context that does not exist": {
    files: () => ({ a: config({ alice: alice() }) }),
    env: { KUBECONFIG: "@/a" },
    flags: ["--context=carol"],
    says: /context "carol" does not exist/,
  },
  "a relative tokenFile, which wins over a token": {
    files: () => ({
      "kube/config": config({ u: { tokenFile: "token", token: tokens.bob } }),
      "kube/token": `${tokens.alice}\n`,
    }),
    env: { KUBECONFIG: "@/kube/config" },
    user: account("alice"),
  },
  "a relative certificate-authority": {
    files: () => ({
      "kube/config": config(
        { alice: alice() },
        { cluster: { "certificate-authority-data": undefined, "certificate-authority": "ca.crt" } },
      ),
      "kube/ca.crt": Buffer.from(ca, "base64").toString(),
    }),
    env: { KUBECONFIG: "@/kube/config" },
    user: account("alice"),
  },
  "the machine's certificate authorities": {
    files: () => ({
      k: config({ alice: alice() }, { cluster: { "certificate-authority-data": undefined } }),
      "ca.crt": Buffer.from(ca, "base64").toString(),
    }),
    env: { KUBECONFIG: "@/k", SSL_CERT_FILE: "@/ca.crt" },
    user: account("alice"),
  },
  "a server that nothing trusts": {
    files: () => ({
      k: config({ alice: alice() }, { cluster: { "certificate-authority-data": undefined } }),
    }),
    env: { KUBECONFIG: "@/k" },
    says: /certificate/,
  },
  "--insecure-skip-tls-verify": {
    files: () => ({
      k: config({ alice: alice() }, { cluster: { "certificate-authority-data": undefined } }),
    }),
    env: { KUBECONFIG: "@/k" },
    flags: ["--insecure-skip-tls-verify"],
    user: account("alice"),
  },
  "--token before a tokenFile": {
    files: () => ({ k: config({ u: { tokenFile: "missing" } }), token: "" }),
    env: { KUBECONFIG: "@/k" },
    flags: ["--token", "TOKEN-OF-BOB"],
    user: account("bob"),
  },
  "the user whom a kubeconfig impersonates": {
    files: () => ({ k: config({ u: { token: "admin", as: "jane", "as-groups": ["a", "b"] } }) }),
    env: { KUBECONFIG: "@/k" },
    user: "jane",
  },
  "--as and --as-group": {
    files: () => ({ k: config({ u: { token: "admin" } }) }),
    env: { KUBECONFIG: "@/k" },
    flags: ["--as", "jane", "--as-group=a", "--as-group=b"],
    user: "jane",
  },
  "a group to impersonate without a user": {
    files: () => ({ k: config({ u: { token: "admin" } }) }),
    env: { KUBECONFIG: "@/k" },
    flags: ["--as-group=a"],
    says: /needs the name of a user/,
  },
  "a token that the API server does not know": {
    files: () => ({ k: config({ u: { token: "stale" } }) }),
    env: { KUBECONFIG: "@/k" },
    says: /Unauthorized/i,
  },
  "a plugin, whose path is relative to the file": {
    files: () => ({ "kube/config": config({ u: plugin() }), "kube/plugin": printing(tokens.alice) }),
    env: { KUBECONFIG: "@/kube/config" },
    user: account("alice"),
  },
  "a plugin that is not there": {
    files: () => ({ k: config({ u: plugin({ installHint: "Get it." }) }) }),
    env: { KUBECONFIG: "@/k" },
    says: /was not found\. Get it\./,
  },
  "a plugin that fails": {
    files: () => ({ k: config({ u: plugin() }), plugin: "#!/bin/sh\necho no login >&2\nexit 4\n" }),
    env: { KUBECONFIG: "@/k" },
    says: /no login[^]*exit code 4/,
  },
  "a plugin that needs a terminal where there is none": {
    files: () => ({
      k: config({ u: plugin({ interactiveMode: "Always" }) }),
      plugin: printing(tokens.alice),
    }),
    env: { KUBECONFIG: "@/k" },
    says: /needs a terminal/,
  },
  "a plugin of another version": {
    files: () => ({ k: config({ u: plugin({ apiVersion: "client.authentication.k8s.io/v2" }) }) }),
    env: { KUBECONFIG: "@/k" },
    says: /exec\.apiVersion/,
  },
};

describe("kubectl and hookpolicy ask alike with", { concurrency: 2 }, () => {
  for (const [name, each] of Object.entries(cases))
    test(name, async (t) => {
      const flags = each.flags?.map((word) => word.replace("TOKEN-OF-BOB", tokens.bob));
      await compare(t, { ...each, ...(flags && { flags }) });
    });

  test("--server alone, without a kubeconfig", async (t) => {
    const { folder: controlPlane, url } = { folder: cp.caFile, url: cp.apiServer.url };
    const flags = ["--server", url, "--certificate-authority", controlPlane, "--token", tokens.alice];
    await compare(t, { files: () => ({}), flags, user: account("alice") });
  });

  test("a plugin that says something to the person, who reads it from both", async (t) => {
    const script = printing(tokens.alice, "echo 'sign in at https://login.example and enter ABCD' >&2");
    const asked = await compare(t, {
      files: () => ({ k: config({ u: plugin() }), plugin: script }),
      env: { KUBECONFIG: "@/k" },
      user: account("alice"),
    });
    for (const { stderr } of Object.values(asked)) assert.match(stderr, /sign in at \S+ and enter ABCD/);
  });

  test("a plugin that asks for a code on the terminal", async (t) => {
    const script = printing(
      tokens.alice,
      `printf 'MFA code: ' >&2; read -r code; [ "$code" = 123 ] || exit 1`,
    );
    const dir = await folderOf(t, { k: config({ u: plugin() }), plugin: script });
    const env = { ...CLEAN, KUBECONFIG: join(dir, "k") };
    const terminal = { env, question: "MFA code: " };
    const theirs = await onTerminal(["get", "hookpolicies.hookpolicy.dev", "-n", NS], () => "123\n", {
      ...terminal,
      program: kubectl,
    });
    const ours = await onTerminal([MAIN, "get", "-n", NS], () => "123\n", terminal);
    for (const { seen, code } of [theirs, ours]) {
      assert.match(seen, new RegExp(`"${account("alice")}" cannot list`));
      assert.notEqual(code, 0);
    }
  });

  test("a proxy of the environment, unless $NO_PROXY or proxy-url say otherwise", async (t) => {
    const proxies = [await connectProxy(t), await connectProxy(t)] as const;
    const { port } = new URL(cp.apiServer.url);
    const server = `https://management.example.internal:${port}`;
    const cluster = { server, "tls-server-name": "kubernetes.default.svc" };
    const files = (): Files => ({
      k: config({ alice: alice() }, { cluster }),
      own: config({ alice: alice() }, { cluster: { ...cluster, "proxy-url": proxies[1].url } }),
    });
    const used = async (each: Omit<Case, "files">): Promise<boolean[]> => {
      const earlier = proxies.map(({ tunnels }) => tunnels());
      await compare(t, { files, ...each });
      return proxies.map(({ tunnels }, index) => tunnels() > (earlier[index] ?? 0));
    };
    const env = { HTTPS_PROXY: proxies[0].url, KUBECONFIG: "@/k" };
    const user = account("alice");
    assert.deepEqual(await used({ env, user }), [true, false]);
    assert.deepEqual(await used({ env: { ...env, KUBECONFIG: "@/own" }, user }), [false, true]);
    const excepted = { ...env, NO_PROXY: ".example.internal" };
    assert.deepEqual(await used({ env: excepted, says: /management\.example\.internal/ }), [false, false]);
  });
});

/** Everything that it is asked for is the API server. */
async function connectProxy(
  t: Parameters<typeof folder>[0],
): Promise<{ url: string; tunnels: () => number }> {
  const { port } = new URL(cp.apiServer.url);
  let tunnels = 0;
  const proxy = createServer().on("connect", (_, socket: Socket) => {
    tunnels++;
    const upstream = createConnection(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  t.after(() => proxy.close());
  const address = proxy.address();
  assert.ok(address !== null && typeof address !== "string");
  return { url: `http://127.0.0.1:${address.port}`, tunnels: () => tunnels };
}
