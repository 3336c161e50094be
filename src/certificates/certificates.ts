/** Runs everything about certificates: the serving certificate, client authorities, and warnings before they expire. */

import type { EventText } from "../api/event-text.ts";
import { SECRETS } from "../kube/resources.ts";
import { timestamp } from "../lib/instant.ts";
import { every } from "../lib/signals.ts";
import type { EventRecorder } from "../report/event-recorder.ts";
import type { Sample } from "../report/metric-makers.ts";
import type { KeyPair, TlsServer } from "../server/tls-server.ts";
import { CaBundleKeeper } from "./ca-bundle.ts";
import { ClientAuthority } from "./client-authority.ts";
import { Followed, LOOK_MS } from "./followed.ts";
import { type CertificateLifetime, ExpiryAlarm, type ExpiryWarning } from "./lifetime.ts";
import { OwnCertificates, type WriteAction } from "./own-certificates.ts";
import type { CheckedPair } from "./pem.ts";
import { authoritiesIn, readServingPair } from "./serving-files.ts";
import type { ClientSettings } from "./settings.ts";
import { type CertificateWorld, certificateWorld, type Surroundings } from "./world.ts";

export interface CertificatesOptions extends Omit<Surroundings, "now"> {
  readonly events: Pick<EventRecorder, "tell">;
  /** The servers; called only when something changes. */
  readonly servers: () => Readonly<Record<Listener, Pick<TlsServer, "clientsChanged">>>;
  /** All servers that use the serving certificate. */
  readonly serving: () => readonly Pick<TlsServer, "setCertificate">[];
}

/** The listeners that can require a client certificate. */
export type Listener = "hooks" | "admission";

const CLIENTS: Readonly<Record<Listener, { readonly flag: string; readonly remedy: string }>> = {
  hooks: {
    flag: "--client-ca-file",
    remedy:
      "start Cluster API's manager with --runtime-extension-client-cert-file and --runtime-extension-client-key-file of a certificate that --client-ca-file and --client-cn accept",
  },
  admission: {
    flag: "--admission-client-ca-file",
    remedy:
      "start the API server with --admission-control-config-file and a kubeconfig for ValidatingAdmissionWebhook with a certificate that --admission-client-ca-file and --admission-client-cn accept",
  },
};

const now = (): Date => new Date();

export class Certificates {
  readonly #options: CertificatesOptions;
  readonly #serving: Followed<CheckedPair>;
  /** Absent: another controller issues the serving certificate, into files. */
  readonly #own: OwnCertificates | undefined;
  /** Absent: every client may call. */
  readonly clients: Readonly<Record<Listener, ClientAuthority | undefined>>;
  readonly #caBundle: CaBundleKeeper;
  readonly #alarm = new ExpiryAlarm();
  readonly #world: CertificateWorld;

  constructor(all: CertificatesOptions) {
    const { settings, events, log, serving } = all;
    const world = certificateWorld({ ...all, now });
    this.#options = all;
    this.#world = world;
    const step = (action: WriteAction, text: string): void =>
      events.tell(stepEvent(action, text, this.#secret()));
    const own = settings.certManagement === "Self" ? new OwnCertificates(world, step) : undefined;
    this.#own = own;
    this.#serving = new Followed({
      what: "serving certificate",
      read: async (signal) => await (own?.currentPair(signal) ?? readServingPair(settings, now())),
      onChange: (pair) => serving().forEach((server) => server.setCertificate(pair)),
      log,
    });
    this.clients = {
      hooks: this.#authority("hooks", settings.clients),
      admission: this.#authority("admission", settings.admissionClients),
    };
    this.#caBundle = new CaBundleKeeper(world, () =>
      own ? own.bundle : authoritiesIn(settings.webhookCertDir),
    );
  }

  /** Returns the pair to start with; rejects with a one-line Error when no usable certificate or authority exists. */
  async load(signal: AbortSignal): Promise<KeyPair> {
    await Promise.all(this.#authorities().map((authority) => authority.load(signal)));
    const own = this.#own;
    return await this.#serving.load(signal, own && (async () => await own.first(signal)));
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#serving.run(signal),
      ...this.#authorities().map((authority) => authority.run(signal)),
      this.#caBundle.run(signal),
      every(LOOK_MS, signal, () => this.#warn()),
    ]);
  }

  expiries(): Sample<"certificate">[] {
    return this.#all().map(({ name: certificate, notAfter }) => ({
      labels: { certificate },
      value: notAfter.getTime() / 1000,
    }));
  }

  #all(): CertificateLifetime[] {
    const all = {
      serving: this.#serving.current,
      authority: this.#own?.authority,
      "client-authority": this.clients.hooks?.current,
      "admission-client-authority": this.clients.admission?.current,
    };
    // Only the dates: one may be a pair with its key.
    return Object.entries(all).flatMap(([name, found]) =>
      found === undefined ? [] : [{ name, notBefore: found.notBefore, notAfter: found.notAfter }],
    );
  }

  #authorities(): ClientAuthority[] {
    return Object.values(this.clients).filter((authority) => authority !== undefined);
  }

  #authority(listener: Listener, clients: ClientSettings | undefined): ClientAuthority | undefined {
    if (clients === undefined) return undefined;
    const { log, servers } = this.#options;
    const onChange = (): void => servers()[listener].clientsChanged();
    return new ClientAuthority({ ...clients, ...CLIENTS[listener], log, now, onChange });
  }

  #warn(): void {
    const { events, log } = this.#options;
    const self = this.#own !== undefined;
    for (const warning of this.#alarm.look(this.#all(), now())) {
      const text = expiryEvent(warning, { self, secret: this.#secret() });
      log[warning.ended ? "error" : "warn"](text.note, { reason: text.reason, notAfter: warning.notAfter });
      events.tell(text);
    }
  }

  /** Events about the certificate regard this Secret, also when another controller fills it. */
  #secret(): Secret {
    const { version: apiVersion, kind } = SECRETS;
    const { namespace, settings } = this.#world;
    return { apiVersion, kind, namespace, name: settings.webhookSecretName, uid: this.#own?.uid ?? "" };
  }
}

type Secret = EventText["regarding"];

function stepEvent(action: WriteAction, text: string, secret: Secret): EventText {
  return {
    identity: [secret.uid, action, now().toISOString()].join(" "),
    type: "Normal",
    reason:
      action.startsWith("Create") || action === "IssueLeaf"
        ? "CertificateIssued"
        : "CertificateAuthorityRotation",
    action,
    note: text,
    regarding: secret,
  };
}

const HELD = "every Cluster that waits for a hook stays held";
const REFUSED = "with the webhook of Clusters, none can be created, deleted or upgraded";

const PURPOSE: Readonly<Record<string, string>> = {
  serving: `Cluster API cannot call HookPolicy, and ${HELD}; ${REFUSED}`,
  authority: `no caller trusts HookPolicy's serving certificate, and ${HELD}; ${REFUSED}`,
  "client-authority": `HookPolicy refuses Cluster API's calls, and ${HELD}`,
  "admission-client-authority": `HookPolicy refuses the API server's calls, and policies are stored without a review; ${REFUSED}`,
};

function expiryEvent(
  { name, notAfter, ended }: ExpiryWarning,
  { self, secret }: { readonly self: boolean; readonly secret: Secret },
): EventText {
  const own = self && !name.endsWith("client-authority");
  const remedy = own
    ? "It should have been renewed: the operator's log says why it was not"
    : "Its issuer must renew it; the operator loads the new file by itself";
  const at = timestamp(notAfter);
  return {
    identity: [secret.namespace, secret.name, name, at, ended].join(" "),
    type: "Warning",
    reason: ended ? "CertificateExpired" : "CertificateExpiring",
    action: "Renew",
    note: `The ${name} certificate ${ended ? "ended" : "ends"} at ${at}: ${ended ? "" : "then "}${PURPOSE[name] ?? "calls fail"}. ${remedy}`,
    regarding: secret,
  };
}
