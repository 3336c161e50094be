/** Writes Events: only for transitions, never per hook call, and never so many that they are a burden. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../api/logger.ts";
import type { Transition } from "../controller/transitions.ts";
import type { KubeClient } from "../kube/client.ts";
import { isAlreadyExists } from "../kube/errors.ts";
import type { Resource } from "../kube/resource.ts";
import { truncateBytes } from "../policy/message.ts";
import { describeTransition, type EventText } from "./eventtext.ts";

const EVENTS: Resource = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

/** Ten thousand Clusters can come near their deadline at once: then some are not told of. */
const MAX_WAITING = 1000;
const INTERVAL_MS = 100;
/** Bytes: bound of the API (apis/events/validation: NoteLengthLimit). */
const MAX_NOTE = 1024;

export class EventRecorder {
  readonly #client: Pick<KubeClient, "create">;
  readonly #log: Logger;
  readonly #waiting: { readonly text: EventText; readonly at: Date }[] = [];
  #arrived = Promise.withResolvers<void>();

  constructor({ client, log }: { readonly client: Pick<KubeClient, "create">; readonly log: Logger }) {
    this.#client = client;
    this.#log = log;
  }

  record(transition: Transition): void {
    const text = describeTransition(transition);
    this.#log.info(text.note, { reason: text.reason });
    this.tell(text);
  }

  /** Of something that is no transition of a policy, and that its teller logs. */
  tell(text: EventText): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push({ text, at: new Date() });
    this.#arrived.resolve();
  }

  /** Until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = signal.aborted ? Promise.resolve() : once(signal, "abort");
    while (!signal.aborted) {
      const next = this.#waiting.shift();
      if (next === undefined) {
        await Promise.race([this.#arrived.promise, stopped]);
        this.#arrived = Promise.withResolvers<void>();
        continue;
      }
      await this.#write(next.text, next.at, signal);
      await pause(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Events are a service, not a promise: one that cannot be written is dropped. */
  async #write(text: EventText, at: Date, signal: AbortSignal): Promise<void> {
    try {
      await this.#client.create(EVENTS, toEvent(text, at), { signal });
    } catch (error) {
      // Another replica was quicker.
      if (isAlreadyExists(error) || signal.aborted) return;
      this.#log.warn("Failed to write an Event", { reason: text.reason, error: String(error) });
    }
  }
}

function toEvent(text: EventText, at: Date): Parameters<KubeClient["create"]>[1] {
  const { identity, note, regarding, ...rest } = text;
  const digest = createHash("sha256").update(`${text.reason} ${identity}`).digest("hex").slice(0, 24);
  // An Event about an object without a namespace lives in "default".
  const metadata = { name: `hookpolicy.${digest}`, namespace: regarding.namespace ?? "default" };
  const event = {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata,
    eventTime: at.toISOString().replace("Z", "000Z"),
    reportingController: "hookpolicy.dev/operator",
    reportingInstance: hostname(),
    regarding,
    note: truncateBytes(note, MAX_NOTE),
    ...rest,
  };
  return event;
}
