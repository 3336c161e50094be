/** The serving certificate and its authority change while calls come in. */

import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createCertificateAuthority } from "../../test/controlplane/certificates.ts";
import { objectsOf } from "../../test/controlplane/client.ts";
import {
  issueServingCertificate,
  NAMESPACE,
  writeServingCertificate,
} from "../../test/controlplane/operator.ts";
import { repeat } from "../calls/pace.ts";
import { QUICK } from "../part.ts";
import { arrangeDefault, type Lab } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const MANIFESTS = resolve(import.meta.dirname, "../../manifests");
const AUTHORITY = {
  apiVersion: "v1",
  kind: "Secret",
  namespace: NAMESPACE,
  name: "hookpolicy-webhook-service-cert-ca",
};
const WEBHOOKS = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};
/** The operator publishes a new authority half a minute before the authority signs anything. */
const ROTATION_MS = 150_000;
/** Calls that began before the change have ended by then; a real rotation trusts both authorities much longer. */
const CALLS_END_MS = 11_000;

async function changedEverywhere({ cp, replicas }: Lab, timeoutMs: number): Promise<void> {
  for (const { name, operator } of replicas) {
    const changed = (): boolean =>
      operator.lines().some(({ msg }) => msg.startsWith("Changed the serving certificate"));
    await cp.waitFor(`${name} to change its certificate`, changed, timeoutMs);
  }
}

async function published({ cp }: Lab): Promise<string> {
  const { webhooks } = await cp.get(WEBHOOKS);
  const bundle: string = webhooks[0]?.clientConfig.caBundle ?? "";
  return Buffer.from(bundle, "base64").toString();
}

/** Callers trust the published authorities and no others. */
async function followPublished(lab: Lab): Promise<void> {
  await lab.cp.waitFor("the caBundle", async () => (lab.trusted = await published(lab)) !== "");
  const stop = new AbortController();
  const following = repeat(200, stop.signal, async () => {
    lab.trusted = await published(lab).catch(() => lab.trusted);
  });
  lab.onStop(async () => {
    stop.abort();
    await following;
  });
}

export const CERTIFICATES: readonly Scenario[] = [
  {
    // The order of cert-manager: callers trust both authorities, the files change, callers trust the new one alone.
    id: "certificate-files",
    title: "Serving certificate and CA rotated, in files",
    inject: async (lab) => {
      const authority = await createCertificateAuthority("the next authority");
      lab.trusted = `${lab.trusted}\n${authority.certificate}`;
      await sleep(CALLS_END_MS);
      for (const { operator } of lab.replicas)
        await writeServingCertificate(operator.certDir, await issueServingCertificate({ authority }));
      await changedEverywhere(lab, 30_000);
      await sleep(CALLS_END_MS);
      lab.trusted = authority.certificate;
    },
  },
  {
    id: "certificate-self",
    title: "Serving certificate and CA rotated, by the operator itself",
    arrange: async (lab) => {
      await arrangeDefault(lab);
      const shipped = objectsOf(await lab.cp.kubectl("kustomize", MANIFESTS));
      await lab.cp.apply(shipped.filter(({ kind }) => kind === WEBHOOKS.kind));
    },
    replica: () => ({ flags: { "cert-management": "Self" } }),
    settle: followPublished,
    inject: async (lab) => {
      const before = lab.trusted;
      await lab.cp.delete(AUTHORITY);
      await lab.cp.waitFor("the new authority to be published", () => lab.trusted !== before, 60_000);
      if (!QUICK) await changedEverywhere(lab, ROTATION_MS);
    },
  },
];
