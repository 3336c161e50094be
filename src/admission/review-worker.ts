/** The thread that examines reviews, so that their cost never delays a hook call. */

import { inflateRawSync } from "node:zlib";
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";

import { examine, type Settings } from "./examine.ts";

/** Above the need of the largest review; beyond it the thread ends, and not the process. */
const MEMORY = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 4 };

interface ThreadData {
  readonly role: typeof ROLE;
  readonly settings: Settings;
}

export interface Task {
  readonly body: Uint8Array;
  readonly now: Date;
}

const ROLE = "hookpolicy-reviews";

/** This module and what it imports, compressed, in base64; only the built program has it (release/build.ts). */
declare const HOOKPOLICY_REVIEW_THREAD: string | undefined;

/** Posts "ready" once, and then answers each Task with an Examined. */
export function startThread(settings: Settings): Worker {
  const data: ThreadData = { role: ROLE, settings };
  const options = { workerData: data, resourceLimits: MEMORY, argv: [], execArgv: [] };
  return typeof HOOKPOLICY_REVIEW_THREAD === "undefined"
    ? new Worker(new URL(import.meta.url), options)
    : new Worker(inflated(HOOKPOLICY_REVIEW_THREAD), { ...options, eval: true });
}

function inflated(base64: string): string {
  return inflateRawSync(Buffer.from(base64, "base64")).toString("latin1");
}

function serve(port: MessagePort, settings: Settings): void {
  examine(WARM_UP, settings, new Date());
  port.on("message", ({ body, now }: Task) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window
    port.postMessage(examine(body, settings, now));
  });
  port.postMessage("ready"); // oxlint-disable-line unicorn/require-post-message-target-origin -- no window
}

/** The first policy compiles the rules of the schema, which is part of the start. */
const WARM_UP = Buffer.from(
  JSON.stringify({
    request: {
      uid: "warm-up",
      kind: { group: "hookpolicy.dev", kind: "HookPolicy" },
      operation: "CREATE",
      userInfo: { username: "" },
      object: {
        apiVersion: "hookpolicy.dev/v1alpha1",
        kind: "HookPolicy",
        metadata: { name: "warm-up", namespace: "warm-up" },
        spec: {
          rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until: [{ name: "g", expression: "true" }] }],
        },
      },
    },
  }),
);

function isThreadData(data: unknown): data is ThreadData {
  return typeof data === "object" && data !== null && "role" in data && data.role === ROLE;
}

const data: unknown = workerData;
if (!isMainThread && parentPort !== null && isThreadData(data)) serve(parentPort, data.settings);
