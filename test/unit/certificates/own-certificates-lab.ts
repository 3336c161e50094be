/** Own certificates on Secrets in memory, with a clock, and with one client that follows when it is told to. */

import { X509Certificate } from "node:crypto";

import { OwnCertificates, type WriteAction } from "../../../src/certificates/own-certificates.ts";
import { parseCertificates } from "../../../src/certificates/pem.ts";
import type { CertificateSettings } from "../../../src/certificates/settings.ts";
import type { SecretData, StoredSecret } from "../../../src/certificates/secrets.ts";
import {
  type CertificateWorld,
  certificateWorld,
  type Surroundings,
} from "../../../src/certificates/world.ts";
import type { KubeClient } from "../../../src/kube/kube-client.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject, Resource } from "../../../src/kube/resource.ts";
import type { KeyPair } from "../../../src/server/tls-server.ts";
import { MemoryLogger } from "../kube/fixtures.ts";

export const SERVING = "serving";
export const AUTHORITY = "serving-ca";
export const NAMES = ["hooks.system.svc", "hooks.system.svc.cluster.local"] as const;
export const SIGNAL = new AbortController().signal;

type Client = CertificateWorld["client"];

const OWNER = "app.kubernetes.io/managed-by";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const decoded = (data: SecretData): SecretData =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );

/** Secrets as the API server keeps them: created once, replaced by who has seen the last version. */
class Secrets {
  readonly kept = new Map<string, StoredSecret>();
  /** Called before each write; throws where it is to fail. */
  beforeWrite: (name: string) => void = () => undefined;
  afterWrite: (name: string) => void = () => undefined;
  failure: Error | undefined;
  #version = 0;

  put(name: string, data: SecretData, ours = true): void {
    this.#version += 1;
    this.kept.set(name, { uid: `uid-${name}`, resourceVersion: String(this.#version), ours, data });
  }

  read(name: string): KubeObject {
    if (this.failure !== undefined) throw this.failure;
    const found = this.kept.get(name);
    if (found === undefined) throw new KubeError("gone", { code: 404, reason: "NotFound" });
    const { uid, resourceVersion, ours, data } = found;
    const labels = { [OWNER]: ours ? "hookpolicy" : "others" };
    const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)]));
    return { metadata: { name, uid, resourceVersion, labels }, data: encoded } as KubeObject;
  }

  write(name: string, version: string | undefined, data: SecretData): KubeObject {
    this.beforeWrite(name);
    const now = this.kept.get(name);
    if (now?.resourceVersion !== version) {
      const reason = version === undefined ? "AlreadyExists" : "Conflict";
      throw new KubeError("written by another", { code: 409, reason });
    }
    this.put(name, { ...now?.data, ...decoded(data) });
    this.afterWrite(name);
    return this.read(name);
  }

  get(name: string, key: string): string {
    return this.kept.get(name)?.data[key] ?? "";
  }
}

interface WorldParts extends Partial<Omit<Surroundings, "client" | "settings">> {
  readonly client: Partial<CertificateWorld["client"]>;
  readonly settings?: Partial<CertificateSettings>;
}

/** Of the Service "hooks" in the namespace "system". */
export function worldOf({ client, settings, ...more }: WorldParts): CertificateWorld {
  return certificateWorld({
    settings: {
      certManagement: "Self",
      namespace: "system",
      webhookCertDir: "/nowhere",
      webhookCertName: "tls.crt",
      webhookKeyName: "tls.key",
      webhookConfiguration: "hookpolicy",
      webhookServiceName: "hooks",
      webhookSecretName: SERVING,
      ...settings,
    },
    client: client as CertificateWorld["client"],
    leading: () => true,
    log: new MemoryLogger(),
    now: () => new Date(),
    ...more,
  });
}

export class Lab {
  now = new Date("2026-11-21T12:00:00Z");
  readonly secrets = new Secrets();
  readonly log = new MemoryLogger();
  readonly steps: WriteAction[] = [];
  /** What the API server was asked for, in order. */
  readonly requests: string[] = [];
  /** What the one object that calls us trusts; `undefined`: there is none. */
  clientBundle: string | undefined;
  leading = true;
  trustFailure: Error | undefined;

  keeper({ service = "hooks" } = {}): OwnCertificates {
    const world = worldOf({
      settings: { webhookServiceName: service },
      client: this.#client(),
      leading: () => this.leading,
      log: this.log,
      now: () => this.now,
    });
    return new OwnCertificates(world, (action) => this.steps.push(action));
  }

  #client(): Client {
    const extension = {
      metadata: { name: "hookpolicy", uid: "u", resourceVersion: "1" },
      spec: { clientConfig: { service: { namespace: "system", name: "hooks" } } },
    };
    const list = async ({ plural }: Resource): Promise<unknown> => {
      this.requests.push(`list ${plural}`);
      if (this.trustFailure !== undefined) throw this.trustFailure;
      const { clientBundle: pem } = this;
      const clientConfig = { ...extension.spec.clientConfig, caBundle: base64(pem ?? "") };
      return {
        items: pem === undefined ? [] : [{ ...extension, spec: { clientConfig } }],
        resourceVersion: "1",
      };
    };
    return {
      get: async ({ kind, plural }: Resource, { name }) => {
        this.requests.push(`get ${plural} ${name}`);
        if (kind === "Secret") return this.secrets.read(name);
        throw new KubeError("gone", { code: 404, reason: "NotFound" });
      },
      create: async (_, value) => {
        this.requests.push(`create ${value.metadata.name}`);
        const data = "data" in value ? (value.data as SecretData) : {};
        return this.secrets.write(value.metadata.name, undefined, data);
      },
      mergePatch: async (_, { name }, patch) => {
        this.requests.push(`patch ${name}`);
        const { metadata, data } = patch as KubeObject & { readonly data: SecretData };
        return this.secrets.write(name, metadata.resourceVersion, data);
      },
      getPath: async (path) => {
        this.requests.push(`get ${path}`);
        return { versions: [{ version: "v1beta2" }] };
      },
      list: list as KubeClient["list"],
    };
  }

  pass(ms: number): void {
    this.now = new Date(this.now.getTime() + ms);
  }

  actions(): string[] {
    return this.steps.splice(0);
  }

  warnings(): MemoryLogger["lines"] {
    return this.log.lines.filter(({ level }) => level === "warn");
  }

  leaf(): X509Certificate {
    return new X509Certificate(this.secrets.get(SERVING, "tls.crt"));
  }

  /** Whether the client trusts what is served. */
  trusts(): boolean {
    return parseCertificates(this.clientBundle ?? "").some((each) => this.leaf().verify(each.publicKey));
  }

  follow(): void {
    this.clientBundle = this.secrets.get(SERVING, "ca.crt");
  }
}

/** As in a Secret. */
export function secretOf({ cert, key }: KeyPair): SecretData {
  return { "tls.crt": cert, "tls.key": key };
}
