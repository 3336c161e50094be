/** Whether Cluster API calls this extension, by its ExtensionConfigs. Of these, decisions depend on the settings alone. */

import { type Fields, isFields, fieldsOf, listOf, nonEmptyText, textOf } from "../lib/fields.ts";
import { handlerName } from "../api/hook-catalog.ts";
import { REASON } from "../api/hook-policy.ts";
import type { LabelSelector, ObjectMeta } from "../api/meta.ts";
import { HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";
import type { NotCalled, Unavailable } from "../memory/memory.ts";
import { viewMetadata } from "../views/cluster.ts";
import { type CompiledPolicy, isGated } from "../policy/policy.ts";
import { compileSelector, type Labels, type Selected, selected } from "../api/selector.ts";

/** The name in the shipped manifest. */
export const EXTENSION_NAME = "hookpolicy";

/** The names of all handlers of HookPolicy. */
const HANDLERS: ReadonlySet<string> = new Set(HOOK_NAMES.map(handlerName));

/** An ExtensionConfig, the same for v1alpha1 and v1beta2 (Cluster API: api/runtime/v1beta2/extensionconfig_types.go). */
export interface Registration {
  readonly metadata: ObjectMeta;
  readonly service?: { readonly namespace: string; readonly name: string };
  readonly url?: string;
  /** Base64 of PEM. */
  readonly caBundle?: string;
  /** Absent: all namespaces. */
  readonly namespaceSelector?: LabelSelector;
  /** The settings that Cluster API sends with each call. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Status of the condition Discovered; absent: Cluster API has not tried discovery yet. */
  readonly discovered?: string;
  /** Message of that condition. */
  readonly message: string;
  /** Whether the condition is about this generation of the spec. */
  readonly current: boolean;
  /** The handlers of the last successful discovery. */
  readonly handlers: readonly Handler[];
}

export interface Handler {
  /** Without the name of the ExtensionConfig. */
  readonly name: string;
  readonly hook: string;
}

export function viewRegistration(raw: unknown): Registration {
  const object = fieldsOf(raw);
  const spec = fieldsOf(object["spec"]);
  const metadata = viewMetadata(object["metadata"]);
  const config = fieldsOf(spec["clientConfig"]);
  const service = fieldsOf(config["service"]);
  const [url, caBundle] = [nonEmptyText(config["url"]), nonEmptyText(config["caBundle"])];
  const selector = spec["namespaceSelector"];
  const { status, message, observedGeneration } = discoveredIn(fieldsOf(object["status"]));
  return {
    metadata,
    ...(isFields(config["service"]) && {
      service: { namespace: textOf(service["namespace"]), name: textOf(service["name"]) },
    }),
    ...(url !== undefined && { url }),
    ...(caBundle !== undefined && { caBundle }),
    ...(isFields(spec["settings"]) && { settings: viewSettings(spec["settings"]) }),
    // A metav1.LabelSelector, by the CRD's schema.
    ...(isFields(selector) && { namespaceSelector: selector }),
    ...(typeof status === "string" && { discovered: status }),
    message: textOf(message),
    current: typeof observedGeneration !== "number" || observedGeneration >= (metadata.generation ?? 0),
    handlers: listOf(fieldsOf(object["status"])["handlers"]).map(viewHandler),
  };
}

function viewSettings(raw: Fields): Record<string, string> {
  return Object.fromEntries(
    Object.entries(raw).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** v1alpha1 keeps the new conditions in status.v1beta2; its old condition of the same name says the same. */
function discoveredIn(status: Fields): Fields {
  const conditions = [...listOf(fieldsOf(status["v1beta2"])["conditions"]), ...listOf(status["conditions"])];
  return fieldsOf(conditions.find((each) => fieldsOf(each)["type"] === "Discovered"));
}

/** Cluster API appends the name of the ExtensionConfig to the handler's own, which is a DNS label and has no dot. */
function viewHandler(raw: unknown): Handler {
  const { name, requestHook } = fieldsOf(raw);
  return { name: textOf(name).replace(/\..*/, ""), hook: textOf(fieldsOf(requestHook)["hook"]) };
}

/** Recognized by its name or Service, or by its discovered handlers if all of them are HookPolicy's. */
export function isOurs({ metadata, service, handlers }: Registration, serviceName: string): boolean {
  if (metadata.name === EXTENSION_NAME || service?.name === serviceName) return true;
  return handlers.length > 0 && handlers.every(({ name }) => HANDLERS.has(name));
}

/** Where the operator runs. The Service that callers use is in the same namespace. */
export interface OperatorPlace {
  readonly namespace: string;
  readonly serviceName: string;
}

/**
 * Why the ExtensionConfigs lead to another namespace than the operator's, as after `namespace:` of a kustomization, which
 * moves the Service but not the ExtensionConfig's references to it. `undefined`: one is discovered, or leads here.
 */
export function misplaced(ours: readonly Registration[], place: OperatorPlace): string | undefined {
  if (ours.some((each) => isDiscovered(each) || each.service?.name !== place.serviceName)) return undefined;
  const [first] = ours;
  if (first === undefined || ours.some(({ service }) => service?.namespace === place.namespace))
    return undefined;
  return `ExtensionConfig ${first.metadata.name} names the Service ${first.service?.namespace}/${place.serviceName}, and the operator runs in namespace ${place.namespace}: Cluster API does not reach it`;
}

export const MOVE =
  "A kustomization with `namespace:` needs `transformers: [../hookpolicy/manifests/namespace]`, too; the Helm chart takes any namespace";

export const NOT_CALLED_REASONS = [
  REASON.RuntimeSDKNotInstalled,
  REASON.NotRegistered,
  REASON.NotDiscovered,
  REASON.NamespaceNotSelected,
  REASON.HookNotRegistered,
] as const;

export const NOT_INSTALLED: Unavailable = {
  reason: REASON.RuntimeSDKNotInstalled,
  message:
    "The API server serves no extensionconfigs.runtime.cluster.x-k8s.io: install Cluster API, with its feature gates ClusterTopology and RuntimeSDK. Until then nothing is held",
};

/** The hooks on which the policy can hold. */
function gatedHooks({ rules }: CompiledPolicy): HookName[] {
  const gated = rules.filter(isGated);
  return HOOK_NAMES.filter((hook) => gated.some(({ hooks }) => hooks.has(hook)));
}

/**
 * Why Cluster API does not call the policy's hooks; `undefined`: it does. `ours`: the ExtensionConfigs of this operator;
 * `namespace`: the labels of a HookPolicy's namespace; "Unknown": it depends on what is not known.
 */
export function notCalled(
  policy: CompiledPolicy,
  ours: readonly Registration[],
  namespace: Labels | "unknown",
): NotCalled {
  return hooksNotCalled(gatedHooks(policy), ours, (each) =>
    policy.selectsNamespace === undefined ? selectedBy(each, namespace) : "yes",
  );
}

/** While discovery fails, Cluster API calls by the selector of the one before, which nothing shows. */
function selectedBy(registration: Registration, namespace: Labels | "unknown"): Selected {
  return isDiscovered(registration) ? selectsNamespace(registration, namespace) : "unknown";
}

/** For hooks in the namespaces that `selects` compares; by default in any. */
export function hooksNotCalled(
  hooks: readonly HookName[],
  ours: readonly Registration[],
  selects: (registration: Registration) => Selected = () => "yes",
): NotCalled {
  if (hooks.length === 0) return undefined;
  if (ours.length === 0) {
    const message =
      "No ExtensionConfig registers the operator with Cluster API: apply the shipped one. Until then nothing is held";
    return { reason: REASON.NotRegistered, message };
  }
  const learnt = ours.filter(isLearnt);
  if (learnt.length === 0) {
    const message = ours.some(isRefused)
      ? `Cluster API does not know a hook that the operator offers, and refuses all: set the operator's --capi-version to the version of Cluster API (condition Discovered of ExtensionConfig ${names(ours)})`
      : `Cluster API has never discovered the operator, so nothing is held: see the condition Discovered of ExtensionConfig ${names(ours)}`;
    return { reason: REASON.NotDiscovered, message };
  }
  const possible = learnt.filter((each) => selects(each) !== "no");
  if (possible.length === 0) {
    const message = `The namespaceSelector of ExtensionConfig ${names(learnt)} leaves out this namespace: the policy holds nothing`;
    return { reason: REASON.NamespaceNotSelected, message };
  }
  const certain = possible.filter((each) => selects(each) === "yes");
  return unknownHooks(hooks, possible) ?? (unknownHooks(hooks, certain) && "Unknown");
}

function unknownHooks(
  hooks: readonly HookName[],
  selecting: readonly Registration[],
): Unavailable | undefined {
  const unknown = hooks.filter((hook) => !isCalled(hook, selecting));
  if (unknown.length === 0) return undefined;
  const cure = selecting.every(isDiscovered)
    ? "annotate it with anything, and Cluster API discovers the operator again"
    : "the last discovery has failed, see its condition Discovered";
  const message = `ExtensionConfig ${names(selecting)} lists no handler for ${unknown.join(", ")}: ${cure}`;
  return { reason: REASON.HookNotRegistered, message };
}

/** In some namespaces at least. */
export function isCalled(hook: HookName, ours: readonly Registration[]): boolean {
  return ours.some(({ handlers }) => handlers.some((handler) => handler.hook === hook));
}

/** After a failed discovery, Cluster API still calls what the one before has shown (its extensionconfig_controller.go). */
function isLearnt({ handlers }: Registration): boolean {
  return handlers.length > 0;
}

/** Whether the last discovery has succeeded. */
export function isDiscovered({ discovered }: Registration): boolean {
  return discovered === "True";
}

/** Whether Cluster API refuses what the operator offers, as one too old does (internal/runtime/client, defaultAndValidateDiscoveryResponse). */
export function isRefused(registration: Registration): boolean {
  return !isDiscovered(registration) && registration.message.includes("is not in the Runtime SDK catalog");
}

/** `labels`: of the Cluster's Namespace. */
export function selectsNamespace({ namespaceSelector }: Registration, labels: Labels | "unknown"): Selected {
  return selected(compileSelector(namespaceSelector), labels);
}

function names(registrations: readonly Registration[]): string {
  const all = registrations.map(({ metadata }) => metadata.name);
  return all.toSorted().join(", ");
}
