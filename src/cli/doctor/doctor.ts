/** Whether what is installed protects anything: checks over what was read, each with what to do about it. */

import type { ServedHooks } from "../../api/hookcatalog.ts";
import type { Own, Registration } from "../../hooks/registration.ts";
import type { RawObject } from "../fleet/kinds.ts";

export const STATES = ["ok", "warning", "error", "unknown"] as const;
export type State = (typeof STATES)[number];

export interface Finding {
  readonly state: State;
  readonly detail: string;
  /** A command, or the field to change; where something is not ok. */
  readonly remedy?: string;
}

export interface Check extends Finding {
  readonly name: string;
}

/** Something that was to be read. */
export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      /** The API server is clear: it is not there, or whoever runs the command may not look. */
      readonly why: "NotFound" | "Forbidden" | "Failed";
      readonly message: string;
    };

/** All that was read of an API server, once. */
export interface Evidence {
  /** Of Kubernetes. */
  readonly serverVersion: string;
  /** Our CustomResourceDefinitions, by kind. */
  readonly definitions: ReadonlyMap<string, Read<RawObject>>;
  readonly deployments: Read<readonly RawObject[]>;
  /** What clusterctl has installed. */
  readonly providers: Read<readonly RawObject[]>;
  readonly registrations: Read<readonly Registration[]>;
  /** What Cluster API says when an ExtensionConfig is to be created (a dry run). */
  readonly creation: Read<true>;
  /** PEM by key, of the Secrets that ExtensionConfigs are about: by namespace and name. */
  readonly secrets: ReadonlyMap<string, Read<Readonly<Record<string, string>>>>;
  /** Our ValidatingWebhookConfiguration. */
  readonly webhook: Read<RawObject>;
  /** HookPolicies, ClusterHookPolicies and HookOverrides. */
  readonly policies: Read<readonly RawObject[]>;
  readonly clusters: Read<readonly RawObject[]>;
  readonly namespaces: Read<readonly RawObject[]>;
  readonly grants: readonly Grant[];
}

/** Whether the operator may read a kind that gates look at. */
export interface Grant {
  /** "backups.velero.io". */
  readonly resource: string;
  /** The verbs that it lacks. */
  readonly missing: Read<readonly string[]>;
}

export interface Settings {
  readonly now: Date;
  /** By the `--capi-version` of the operator that was found. */
  readonly served: ServedHooks;
  /** Longer HookOverrides have no effect. */
  readonly maxOverrideMs: number;
  /** By what our ExtensionConfig is recognized. */
  readonly own: Own;
  /** By Cluster API minor: the hooks that it knows. */
  readonly knownHooks: (minor: number) => ReadonlySet<string>;
}

export const ok = (detail: string): Finding => ({ state: "ok", detail });
export const warning = (detail: string, remedy: string): Finding => ({ state: "warning", detail, remedy });
export const error = (detail: string, remedy: string): Finding => ({ state: "error", detail, remedy });
export const unknown = (detail: string, remedy: string): Finding => ({ state: "unknown", detail, remedy });

/** Whoever may not look can be told so, and whom to ask. */
export function unread({ message }: { readonly message: string }): Finding {
  return unknown(message, "run it as somebody who may read that");
}

const SHOWN = 5;

/** "a, b, c and 4 more". */
export function some(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).join(", ");
  return names.length > SHOWN ? `${shown} and ${names.length - SHOWN} more` : shown;
}

export function count(number: number, noun: string): string {
  const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${number} ${number === 1 ? noun : plural}`;
}

/** The worst of them. */
export function worst(checks: readonly Check[]): State {
  return (
    (["error", "warning", "unknown"] as const).find((state) => checks.some((c) => c.state === state)) ?? "ok"
  );
}
