import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { LogFields, Logger } from "../../../src/lib/logger.ts";
import { KubeClient } from "../../../src/kube/kube-client.ts";
import type { KubeClientOptions } from "../../../src/kube/kube-client.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { loadKubeConfig } from "../../../src/kube/kubeconfig.ts";
import { SLICE_MS } from "../../../src/turns/slice.ts";
import { FakeApiServer } from "./fake-api-server.ts";

export function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "hookpolicy-kube-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Keeps the processor for longer than a slice. */
export function busy(): void {
  const end = performance.now() + SLICE_MS;
  while (performance.now() <= end);
}

/** JSON is YAML. */
export function writeKubeConfig(
  t: TestContext,
  server: string,
  more: { cluster?: object; user?: object } = {},
): string {
  const file = join(scratch(t), "config");
  const config = {
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    clusters: [{ name: "test", cluster: { server, ...more.cluster } }],
    users: [{ name: "test", user: more.user ?? {} }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

export interface Lab {
  readonly server: FakeApiServer;
  readonly client: KubeClient;
  readonly close: () => Promise<void>;
}

/** A server over plain HTTP and a client for it, both closed at the end of the test. */
export async function startLab(t: TestContext, options: KubeClientOptions = {}): Promise<Lab> {
  const server = new FakeApiServer();
  const address = await server.start();
  const kubeconfig = writeKubeConfig(t, `http://${address}`);
  const client = new KubeClient(loadKubeConfig({ kubeconfig }), options);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await client.close();
    await server.stop();
  };
  t.after(close);
  return { server, client, close };
}

/** For conditions that no event announces; fails with the text when it does not come true. */
export async function until(what: string, condition: () => boolean, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`timed out: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

export class MemoryLogger implements Logger {
  readonly lines: LogLine[] = [];
  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "debug", message, fields });
  }
  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "info", message, fields });
  }
  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "warn", message, fields });
  }
  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "error", message, fields });
  }
  child(): Logger {
    return this;
  }
  messages(level: LogLine["level"]): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }
}

/** The KubeError with which this fails. */
export async function failure(promise: Promise<unknown>): Promise<KubeError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof KubeError, `not a KubeError: ${String(error)}`);
  return error;
}

/** Until the test ends; `undefined` removes a variable. */
export function setEnvironment(
  t: Pick<TestContext, "after">,
  values: Readonly<Record<string, string | undefined>>,
): void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  const set = ([name, value]: readonly [string, string | undefined]): void => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  t.after(() => before.forEach(set));
  Object.entries(values).forEach(set);
}
