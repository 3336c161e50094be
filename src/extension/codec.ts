/** Decodes hook requests and encodes responses, that to discovery as well. */

import type { ValidateFunction } from "ajv";
import { byText } from "../lib/compare-text.ts";
import { parseJson } from "../lib/fields.ts";
import { printable } from "../lib/printable.ts";
import { handlerName, type ServedHooks } from "../api/hook-catalog.ts";
import {
  HOOK_NAMES,
  HOOKS_GROUP_VERSION,
  type HookName,
  type HookResponse,
  VERSION_FIELDS,
  type VersionField,
} from "../api/runtime-hooks.ts";
import { isRequest, isUpgradedRequest, isUpgradeRequest, type RawRequest } from "./request-validators.ts";

/** In characters. */
const MAX_SETTINGS = 64 * 1024;

/** Hooks with the same version fields share a validator. */
const VALIDATORS = new Map<readonly VersionField[], ValidateFunction<RawRequest>>([
  [VERSION_FIELDS.BeforeClusterDelete, isRequest],
  [VERSION_FIELDS.BeforeClusterUpgrade, isUpgradeRequest],
  [VERSION_FIELDS.AfterClusterUpgrade, isUpgradedRequest],
]);

/** `undefined`: not a request for this hook. Never throws for any text. */
export function decode(hook: HookName, text: string): RawRequest | undefined {
  const raw = parseJson(text);
  const validate = VALIDATORS.get(VERSION_FIELDS[hook]);
  if (validate === undefined || !validate(raw)) return undefined;
  const isLong = Object.entries(raw.settings ?? {}).join("").length > MAX_SETTINGS;
  return isLong ? undefined : raw;
}

export interface HookAnswer {
  readonly status: "Success" | "Failure";
  /** 0: Cluster API proceeds. */
  readonly retryAfterSeconds: number;
  readonly message: string;
}

/** `waits`: the hook's response type has retryAfterSeconds in this Cluster API version. */
export function encodeResponse(
  hook: HookName,
  { status, retryAfterSeconds, message }: HookAnswer,
  waits: boolean,
): string {
  const response: HookResponse = {
    apiVersion: HOOKS_GROUP_VERSION,
    kind: `${hook}Response`,
    status,
    ...(message !== "" && { message: printable(message) }),
    ...(waits && { retryAfterSeconds: Number.isSafeInteger(retryAfterSeconds) ? retryAfterSeconds : 5 }),
  };
  return JSON.stringify(response);
}

/** Why a call is not decided. */
export type Failure = "undecodable" | "too-large" | "unauthenticated";

/** Constant texts, because Cluster API writes them into a condition, which must not repeat the content of a request. */
const FAILURES: Readonly<Record<Failure, (hook: HookName) => string>> = {
  undecodable: (hook) => `the request is not a valid ${hook}Request`,
  "too-large": () =>
    "the request is larger than HookPolicy takes: more than 4 MiB, or more than 32768 values (variables and their fields, labels, annotations)",
  // The operator's log names the client.
  unauthenticated: () =>
    "the call has no client certificate that HookPolicy accepts (its flags --client-ca-file and --client-cn, Cluster API's --runtime-extension-client-cert-file)",
};

export function failureResponse(hook: HookName, why: Failure, waits: boolean): string {
  return encodeResponse(
    hook,
    { status: "Failure", retryAfterSeconds: 0, message: FAILURES[why](hook) },
    waits,
  );
}

/** Cluster API's default, and longer than WITHIN_MS in decisions/decisions.ts. */
const HANDLER_TIMEOUT_SECONDS = 10;

/**
 * The text of the answer to Cluster API's first call. Cluster API's manager exits if an extension does not answer for 60 s.
 * Handlers are sorted by name, because Cluster API would patch the status of the ExtensionConfig again and again if replicas
 * answered differently.
 */
export function discoveryResponse(served: ServedHooks): string {
  const handlers = HOOK_NAMES.filter((hook) => served.advertised.has(hook))
    .map((hook) => ({
      name: handlerName(hook),
      requestHook: { apiVersion: HOOKS_GROUP_VERSION, hook },
      timeoutSeconds: HANDLER_TIMEOUT_SECONDS,
      failurePolicy: "Fail",
    }))
    .toSorted(byText(({ name }) => name));
  return JSON.stringify({
    apiVersion: HOOKS_GROUP_VERSION,
    kind: "DiscoveryResponse",
    status: "Success",
    handlers,
  });
}
