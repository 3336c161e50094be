/** Writes Events: only for transitions, never per hook call, and in limited numbers. */

import { hash } from "node:crypto";
import { hostname } from "node:os";
import type { EventText } from "../api/event-text.ts";
import type { Logger } from "../lib/logger.ts";
import { printable } from "../lib/printable.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { pause } from "../lib/signals.ts";
import { isAlreadyExists, isNamespaceTerminating } from "../kube/kube-error.ts";
import { apiResource, microTime } from "../kube/resource.ts";
import { truncateBytes } from "../lib/truncate.ts";
import { type DatedText, EventBursts } from "./event-bursts.ts";

const EVENTS = apiResource("events", "events.k8s.io/v1", true, "Event");

/** Each cause is limited by event-bursts.ts; this limit is for many causes at once, across all namespaces. */
const MAX_WAITING = 1000;
const INTERVAL_MS = 100;
/** In bytes: limit of the API (apis/events/validation: NoteLengthLimit). */
const MAX_NOTE = 1024;

/** - repeated: another replica has written it. - refused: the namespace is being deleted and accepts no Event. */
export type EventResult = "written" | "repeated" | "refused" | "failed" | "dropped";

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, "create">;
  readonly log: Logger;
  readonly onResult: (result: EventResult) => void;
  readonly now: () => Date;
}

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #bursts = new EventBursts();
  /** By namespace; the one whose last turn is longest ago comes first. */
  readonly #waiting = new Map<string, DatedText[]>();
  #count = 0;
  #dropping = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Also logs it. Never waits, because it is called while a hook call is answered. */
  record(text: EventText): void {
    const { log, now } = this.#options;
    // memory/evaluator.ts logs changed decisions itself.
    if (text.reason !== "Held") log.info(text.note, { reason: text.reason });
    const dated = { text, at: now() };
    if (this.#bursts.admit(dated)) this.#enqueue(dated);
  }

  /** Records an Event that is no transition of a policy, and does not log it. */
  tell(text: EventText): void {
    this.#enqueue({ text, at: this.#options.now() });
  }

  #enqueue(dated: DatedText): void {
    const namespace = dated.text.regarding.namespace ?? "";
    const waiting = this.#waiting.get(namespace) ?? [];
    if (this.#count >= MAX_WAITING && !this.#makeRoom(waiting.length)) return this.#drop();
    this.#count += 1;
    waiting.push(dated);
    this.#waiting.set(namespace, waiting);
  }

  /** When all places are taken, the namespace with the most waiting Events loses its newest Event. */
  #makeRoom(own: number): boolean {
    let most: DatedText[] = [];
    for (const waiting of this.#waiting.values()) if (waiting.length > most.length) most = waiting;
    if (most.length <= own + 1) return false;
    most.pop();
    this.#count -= 1;
    this.#drop();
    return true;
  }

  #drop(): void {
    const { log, onResult } = this.#options;
    if (!this.#dropping) log.warn("Dropping Events: too many wait to be written", { waiting: MAX_WAITING });
    this.#dropping = true;
    onResult("dropped");
  }

  /** Namespaces take turns. */
  #next(): DatedText | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [namespace, waiting] = first;
    const next = waiting.shift();
    this.#waiting.delete(namespace);
    if (waiting.length > 0) this.#waiting.set(namespace, waiting); // behind the others
    this.#count -= 1;
    if (this.#count === 0) this.#dropping = false;
    return next;
  }

  async #publish(next: DatedText, signal: AbortSignal): Promise<void> {
    await this.#write(next, signal);
    await pause(INTERVAL_MS, signal);
    const other = aboutPolicy(next.text);
    if (other === undefined || signal.aborted) return;
    await this.#write({ text: other, at: next.at }, signal);
    await pause(INTERVAL_MS, signal);
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { now } = this.#options;
    while (!signal.aborted) {
      for (const text of this.#bursts.ended(now())) this.#enqueue({ text, at: now() });
      const next = this.#next();
      await (next === undefined ? pause(INTERVAL_MS, signal) : this.#publish(next, signal));
    }
  }

  /** Events are best effort. One that cannot be written is dropped. */
  async #write({ text, at }: DatedText, signal: AbortSignal): Promise<void> {
    const { client, log, onResult } = this.#options;
    try {
      await client.create(EVENTS, toEvent(text, at), { signal });
      onResult("written");
    } catch (error) {
      if (signal.aborted) return;
      const { reason } = text;
      if (isAlreadyExists(error)) return onResult("repeated");
      if (isNamespaceTerminating(error)) {
        log.debug("The namespace is being deleted, and takes no Event", { reason });
        return onResult("refused");
      }
      log.warn("Failed to write an Event", { reason, error: String(error) });
      onResult("failed");
    }
  }
}

/** The same Event about the policy, because `kubectl describe` of the policy shows no Events about Clusters. */
export function aboutPolicy({ policyNote, related, identity, ...text }: EventText): EventText | undefined {
  if (policyNote === undefined || related === undefined) return undefined;
  return { ...text, identity: `${identity} policy`, note: policyNote(), regarding: related };
}

function toEvent(text: EventText, at: Date): Parameters<KubeClient["create"]>[1] {
  const { identity, note, policyNote: _, regarding, series, ...rest } = text;
  const digest = hash("sha256", `${text.reason} ${identity}`).slice(0, 24);
  // An Event about an object without a namespace belongs in "default".
  const metadata = { name: `hookpolicy.${digest}`, namespace: regarding.namespace ?? "default" };
  const event = {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata,
    eventTime: microTime(at),
    reportingController: "hookpolicy.dev/operator",
    reportingInstance: hostname(),
    regarding,
    note: truncateBytes(printable(note), MAX_NOTE),
    ...rest,
    ...(series !== undefined && {
      series: { count: series.count, lastObservedTime: microTime(series.lastObservedTime) },
    }),
  };
  return event;
}
