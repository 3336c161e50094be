/** The keeper on Secrets in memory, with a clock, and with one client that follows when it is told to. */

import { X509Certificate } from "node:crypto";

import {
  authoritySecretName,
  CertificateKeeper,
  type KeeperOptions,
  type Step,
} from "../../../src/certificates/keeper.ts";
import { holds, parseCertificates } from "../../../src/certificates/pem.ts";
import type { SecretStore } from "../../../src/certificates/secret-store.ts";
import type { SecretData, StoredSecret } from "../../../src/certificates/stored-certificates.ts";
import type { KeyPair } from "../../../src/server/tls-server.ts";
import { MemoryLogger } from "../kube/fixtures.ts";

export const SERVING = "serving";
export const AUTHORITY = authoritySecretName(SERVING);
export const NAMES = ["hooks.system.svc", "hooks.system.svc.cluster.local"] as const;
export const SIGNAL = new AbortController().signal;

/** Secrets as the API server keeps them: created once, replaced by who has seen the last version. */
class Secrets implements Pick<SecretStore, "read" | "write"> {
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

  async read(name: string): Promise<StoredSecret | undefined> {
    if (this.failure !== undefined) throw this.failure;
    return this.kept.get(name);
  }

  async write(name: string, read: StoredSecret | undefined, data: SecretData): Promise<boolean> {
    this.beforeWrite(name);
    const now = this.kept.get(name);
    if (now?.resourceVersion !== read?.resourceVersion) return false;
    this.put(name, { ...now?.data, ...data });
    this.afterWrite(name);
    return true;
  }

  get(name: string, key: string): string {
    return this.kept.get(name)?.data[key] ?? "";
  }
}

export class Lab {
  now = new Date("2026-11-21T12:00:00Z");
  readonly secrets = new Secrets();
  readonly log = new MemoryLogger();
  readonly steps: Step[] = [];
  readonly pairs: KeyPair[] = [];
  /** What the one object that calls us trusts; `undefined`: there is none. */
  clientBundle: string | undefined;
  leading = true;
  trustFailure: Error | undefined;

  keeper(more: Partial<KeeperOptions> = {}): CertificateKeeper {
    return new CertificateKeeper({
      store: this.secrets,
      distrusting: async (authority) => {
        if (this.trustFailure !== undefined) throw this.trustFailure;
        const { clientBundle } = this;
        return clientBundle === undefined || holds(clientBundle, authority)
          ? []
          : ["extensionconfigs hookpolicy"];
      },
      secretName: SERVING,
      names: NAMES,
      leading: () => this.leading,
      log: this.log,
      now: () => this.now,
      onPair: (pair) => this.pairs.push(pair),
      onStep: (step) => this.steps.push(step),
      remedyOf: () => "grant it",
      ...more,
    });
  }

  pass(ms: number): void {
    this.now = new Date(this.now.getTime() + ms);
  }

  actions(): string[] {
    return this.steps.splice(0).map(({ action }) => action);
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
