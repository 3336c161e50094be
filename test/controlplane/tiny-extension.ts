/** An extension of Cluster API's that answers every hook, and holds what it is told to. */
import { createServer, type Server } from "node:https";
import { json } from "node:stream/consumers";
import { HOOK_NAMES, HOOKS_GROUP_VERSION, type HookName } from "../../src/api/runtime-hooks.ts";
import type { CertificateAuthority } from "./certificates.ts";
import { portOf } from "./ports.ts";

export interface TinyExtension {
  readonly port: number;
  /** The hooks called, in their order, without repetitions in a row. */
  readonly hooks: () => readonly HookName[];
  readonly hold: (hook: HookName, message: string) => void;
  /** Answers `Failure`, as some extensions do while they wait. */
  readonly fail: (hook: HookName, message: string) => void;
  readonly allow: (hook: HookName) => void;
  /** Does this before each answer of the hook; it has to end within Cluster API's 10 s. */
  readonly doFirst: (hook: HookName, work: () => Promise<void>) => void;
  readonly forget: () => void;
  readonly stop: () => void;
}

export async function startTinyExtension(authority: CertificateAuthority): Promise<TinyExtension> {
  const names = ["127.0.0.1", "tiny.extensions.svc"];
  const { certificate, key } = await authority.issue({ commonName: "tiny", names });
  const calls: HookName[] = [];
  const held = new Map<HookName, object>();
  const first = new Map<HookName, () => Promise<void>>();
  const server: Server = createServer({ cert: certificate, key }, (req, res) => {
    void answer(req.url ?? "/").then(
      (body) => res.end(JSON.stringify(body)),
      () => res.destroy(),
    );
    void json(req).catch(() => undefined);
  });
  const answer = async (url: string): Promise<unknown> => {
    const segment = new URL(url, "https://tiny").pathname.split("/")[3] ?? "";
    if (segment === "discovery") return discovery();
    const hook = HOOK_NAMES.find((name) => name.toLowerCase() === segment);
    if (hook === undefined) throw new Error(`no hook in ${url}`);
    if (calls.at(-1) !== hook) calls.push(hook);
    await first.get(hook)?.();
    const verdict = held.get(hook);
    return { apiVersion: HOOKS_GROUP_VERSION, kind: `${hook}Response`, status: "Success", ...verdict };
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: portOf(server),
    hooks: () => calls,
    hold: (hook, message) => void held.set(hook, { message, retryAfterSeconds: 1 }),
    fail: (hook, message) => void held.set(hook, { message, retryAfterSeconds: 1, status: "Failure" }),
    allow: (hook) => void held.delete(hook),
    doFirst: (hook, work) => void first.set(hook, work),
    forget: () => void calls.splice(0),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function discovery(): unknown {
  const handlers = HOOK_NAMES.map((hook) => ({
    // HookPolicy takes a registration with its own handlers' names for its own.
    name: `tiny-${hook.replaceAll(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase()}`,
    requestHook: { apiVersion: HOOKS_GROUP_VERSION, hook },
    timeoutSeconds: 10,
    failurePolicy: "Fail",
  }));
  return { apiVersion: HOOKS_GROUP_VERSION, kind: "DiscoveryResponse", status: "Success", handlers };
}
