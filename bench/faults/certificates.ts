/** Serving certificate and authority change under the callers. */

import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createCertificateAuthority } from "../../test/controlplane/certificates.ts";
import { objectsOf, type Ref } from "../../test/controlplane/client.ts";
import {
  issueServingCertificate,
  NAMESPACE,
  writeServingCertificate,
} from "../../test/controlplane/operator.ts";
import { repeat } from "../calls/pace.ts";
import { arrangeDefault, type Lab } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const MANIFESTS = resolve(import.meta.dirname, "../../manifests");
const AUTHORITY: Ref = {
  apiVersion: "v1",
  kind: "Secret",
  namespace: NAMESPACE,
  name: "hookpolicy-webhook-service-cert-ca",
};
const WEBHOOKS: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};
/** The new authority is published and trusted for half a minute before anything is signed by it. */
const ROTATION_MS = 150_000;
/** Calls that began before the change have ended by then: whoever rotates trusts both authorities much longer. */
const CALLS_END_MS = 11_000;

/** As cert-manager does it: callers trust both authorities, then the files change, then only the new one is trusted. */
const files: Scenario = {
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
};

/** As the operator does it, when its authority is deleted; callers trust what is published to them, and nothing else. */
const self: Scenario = {
  id: "certificate-self",
  title: "Serving certificate and CA rotated, by the operator itself",
  arrange: async (lab) => {
    await arrangeDefault(lab);
    const shipped = objectsOf(await lab.cp.kubectl("kustomize", MANIFESTS));
    await lab.cp.apply(shipped.filter(({ kind }) => kind === WEBHOOKS.kind));
  },
  replica: () => ({ flags: { "cert-management": "Self" } }),
  settle: async (lab) => {
    await lab.cp.waitFor("the caBundle", async () => (lab.trusted = await published(lab)) !== "");
    followPublished(lab);
  },
  inject: async (lab) => {
    const before = lab.trusted;
    await lab.cp.delete(AUTHORITY);
    await lab.cp.waitFor("the new authority to be published", async () => lab.trusted !== before, 60_000);
    if (!lab.quick) await changedEverywhere(lab, ROTATION_MS);
  },
};

async function changedEverywhere(lab: Lab, timeoutMs: number): Promise<void> {
  for (const { name, operator } of lab.replicas) {
    const changed = (): boolean =>
      operator.lines().some(({ msg }) => msg.startsWith("Changed the serving certificate"));
    await lab.cp.waitFor(`${name} to change its certificate`, changed, timeoutMs);
  }
}

async function published({ cp }: Lab): Promise<string> {
  const { webhooks } = await cp.get(WEBHOOKS);
  const bundle: string = webhooks[0]?.clientConfig.caBundle ?? "";
  return Buffer.from(bundle, "base64").toString();
}

function followPublished(lab: Lab): void {
  const stop = new AbortController();
  const following = repeat(200, stop.signal, async () => {
    lab.trusted = await published(lab).catch(() => lab.trusted);
  });
  lab.onStop(async () => {
    stop.abort();
    await following;
  });
}

export const CERTIFICATES: readonly Scenario[] = [files, self];
