/** What an answer is worth: the contract of each path, written down again so that a bug of the operator cannot hide. */

import { HOOK_NAMES, type HookName } from "../../src/api/runtime-hooks.ts";
import { goldenDiscovery } from "../contract/golden.ts";
import { canWait } from "../contract/situations.ts";
import type { Tally } from "./tally.ts";

export type Route =
  | { readonly kind: "hook"; readonly hook: HookName; readonly path: string }
  | { readonly kind: "discovery" | "admission"; readonly path: string };

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

const MAX_MESSAGE_BYTES = 1024;
const NOT_FOUND = '{"error":"not found"}\n';

/** `route`: undefined where no path is known for sure. `sent`: names the request, for whoever looks for the cause. */
export function judge(tally: Tally, route: Route | undefined, answer: HttpAnswer, sent: string): void {
  if (isRefusal(answer)) {
    tally.refusal();
    return;
  }
  const go = isGo(answer.text);
  const problem = answer.status === 200 ? problemOf(route, answer.text) : `status ${answer.status}`;
  if (go) tally.wrong("wrongAllows", `${sent}: ${shortened(answer.text)}`);
  else if (problem !== undefined) tally.wrong("invalid", `${sent}: ${problem}: ${shortened(answer.text)}`);
  else tally.answer();
}

/** What is answered to a request that is not valid HTTP, is too slow or has too many headers. HEAD has no body. */
function isRefusal({ status, text }: HttpAnswer): boolean {
  if (status === 404) return text === NOT_FOUND || text === "";
  return [400, 408, 431].includes(status) && text === "";
}

/** Every Cluster is held here, so that no answer of a hook that waits may let one go. */
function isGo(text: string): boolean {
  const { kind, status, retryAfterSeconds } = fieldsOf(text) ?? {};
  const hook = typeof kind === "string" ? kind.replace(/Response$/, "") : "";
  return isHook(hook) && canWait(hook) && status === "Success" && !(Number(retryAfterSeconds) > 0);
}

function problemOf(route: Route | undefined, text: string): string | undefined {
  const fields = fieldsOf(text);
  if (fields === undefined) return "no JSON object";
  if (route === undefined) {
    const found = PROBLEMS.map((check) => check(fields, text));
    return found.includes(undefined) ? undefined : found.join(", ");
  }
  if (route.kind === "hook") return hookProblem(fields, route.hook);
  return route.kind === "discovery" ? discoveryProblem(fields, text) : admissionProblem(fields);
}

type Fields = Readonly<Record<string, unknown>>;

const PROBLEMS: readonly ((fields: Fields, text: string) => string | undefined)[] = [
  discoveryProblem,
  admissionProblem,
  (fields) => hookProblem(fields),
];

function discoveryProblem(_: Fields, text: string): string | undefined {
  return text === goldenDiscovery(14) ? undefined : "another discovery than the golden one";
}

/** admission.k8s.io/v1 AdmissionReview with a response. */
function admissionProblem({ apiVersion, kind, response }: Fields): string | undefined {
  if (apiVersion !== "admission.k8s.io/v1" || kind !== "AdmissionReview") return "no AdmissionReview";
  if (!isFields(response)) return "no response";
  const { uid, allowed, status, warnings = [] } = response;
  if (typeof uid !== "string" || typeof allowed !== "boolean") return "no uid or no verdict";
  if (allowed ? uid === "" : !isFields(status)) return "an allow for nothing, or a denial without a reason";
  return isTexts(warnings) ? undefined : "warnings that are none";
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** What Cluster API's Go types take: hooks.runtime.cluster.x-k8s.io/v1alpha1, lifecyclehooks_types.go. */
function hookProblem(fields: Fields, expected?: HookName): string | undefined {
  const { apiVersion, kind, status, message, retryAfterSeconds, ...rest } = fields;
  const hook = String(kind).replace(/Response$/, "");
  if (apiVersion !== "hooks.runtime.cluster.x-k8s.io/v1alpha1") return `apiVersion ${String(apiVersion)}`;
  if (!isHook(hook) || (expected !== undefined && hook !== expected)) return `kind ${String(kind)}`;
  if (Object.keys(rest).length > 0) return `unknown fields ${Object.keys(rest).join(", ")}`;
  if (status !== "Success" && status !== "Failure") return `status ${String(status)}`;
  return messageProblem(message, status, hook) ?? retryProblem(retryAfterSeconds, hook);
}

function messageProblem(message: unknown, status: string, hook: HookName): string | undefined {
  if (status === "Failure") {
    const known = [
      `the request is not a valid ${hook}Request`,
      "the request is larger than HookPolicy takes",
      "the call has no client certificate",
    ];
    return known.some((text) => String(message).startsWith(text)) ? undefined : "an unknown Failure";
  }
  if (message === undefined) return undefined;
  if (typeof message !== "string" || message === "") return "an empty message";
  if (message.includes("internal error")) return "an internal error";
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) return "a message that is too long";
  return /\p{Cc}/u.test(message) ? "control characters in the message" : undefined;
}

function retryProblem(seconds: unknown, hook: HookName): string | undefined {
  if (!canWait(hook)) return seconds === undefined ? undefined : "retryAfterSeconds where there is none";
  const whole = Number.isInteger(seconds) && Number(seconds) >= 0 && Number(seconds) <= 300;
  return whole ? undefined : `retryAfterSeconds ${String(seconds)}`;
}

function isHook(name: string): name is HookName {
  return HOOKS.has(name);
}

const HOOKS: ReadonlySet<string> = new Set(HOOK_NAMES);

function fieldsOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
