/** Certificates between the real Cluster API and the operator: who trusts it, and whom it answers. */

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import test, { after, before, describe } from "node:test";

import { parseCertificates } from "../../src/certificates/pem.ts";
import { type CertificateAuthority, createCertificateAuthority } from "../controlplane/certificates.ts";
import type { Ref } from "../controlplane/client.ts";
import { type ClusterApi, installClusterApi, type ManagerOptions } from "../controlplane/cluster-api.ts";
import { type ConnectProxy, startConnectProxy } from "../controlplane/connect-proxy.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { extensionRef } from "../controlplane/extension.ts";
import { createCluster, installLab } from "../controlplane/lab.ts";
import {
  installHookPolicy,
  NAMESPACE,
  type Operator,
  SERVICE_HOST,
  startOperator,
} from "../controlplane/operator.ts";
import { applyPolicy, approvalRule, approve, policyRef } from "../controlplane/policies.ts";
import { isCreated, isNotCreated, topologySays } from "./fleet.ts";

const SERVING: Ref = {
  apiVersion: "v1",
  kind: "Secret",
  namespace: NAMESPACE,
  name: "hookpolicy-webhook-service-cert",
};
const AUTHORITY: Ref = { ...SERVING, name: `${SERVING.name}-ca` };
const CLIENT_NAME = "capi-controller-manager";

describe("Cluster API with a client certificate, and an operator that issues its own", () => {
  let cp: ControlPlane;
  let capi: ClusterApi;
  let operator: Operator;
  let service: ConnectProxy;
  let clients: CertificateAuthority;
  let others: CertificateAuthority;
  let clientCaFile: string;

  before(async () => {
    cp = await startControlPlane({ seed: "clusterApi" });
    await installHookPolicy(cp);
    [clients, others] = (await Promise.all(["clients", "others"].map(createCertificateAuthority))) as [
      CertificateAuthority,
      CertificateAuthority,
    ];
    clientCaFile = join(cp.folder, "client-ca.crt");
    await writeFile(clientCaFile, clients.certificate);
    operator = await startOperator(cp, {
      flags: { "cert-management": "Self", "client-ca-file": clientCaFile, "client-cn": CLIENT_NAME },
    });
    // No kubelet, no Service: Cluster API honours HTTPS_PROXY, and the proxy connects as a Service would.
    service = await startConnectProxy({ [`${SERVICE_HOST}:443`]: operator.ports.webhook });
    capi = await installClusterApi(cp, await managerWith("good", clients, CLIENT_NAME));
    await installLab(cp);
    await cp.apply(
      await readFile(resolve(import.meta.dirname, "../../manifests/extensionconfig.yaml"), "utf8"),
    );
  });
  after(async () => {
    await cp?.stop();
    await service?.stop();
  });

  /** Cluster API's own flags; without an authority it shows no certificate. */
  async function managerWith(
    name: string,
    authority?: CertificateAuthority,
    commonName = CLIENT_NAME,
  ): Promise<ManagerOptions> {
    const env = { HTTPS_PROXY: service.url, NO_PROXY: "127.0.0.1,localhost" };
    if (authority === undefined) return { env };
    const folder = join(cp.folder, `client-${name}`);
    const { certificate, key } = await authority.issue({ commonName });
    await mkdir(folder);
    await writeFile(join(folder, "tls.crt"), certificate);
    await writeFile(join(folder, "tls.key"), key);
    const flag = "--runtime-extension-client";
    return { env, args: [`${flag}-cert-file=${folder}/tls.crt`, `${flag}-key-file=${folder}/tls.key`] };
  }

  async function discovered(): Promise<void> {
    await cp.waitFor("nine handlers", async () => {
      const { status } = await cp.get(extensionRef("hookpolicy"));
      return status?.handlers?.length === 9;
    });
  }

  const refusals = async (): Promise<number> =>
    await operator.metric("hookpolicy_hook_calls_total", 'verdict="Unauthenticated"');

  async function isRefused(name: string): Promise<void> {
    const refused = await refusals();
    await createCluster(cp, { namespace: "team-a", name });
    await cp.waitFor("a refused call", async () => (await refusals()) > refused);
    await isNotCreated(cp, "team-a", name);
  }

  test("is discovered with the authority that Cluster API injects, and its calls are answered", async () => {
    await discovered();
    await createCluster(cp, { namespace: "team-a", name: "good" });
    await isCreated(cp, "team-a", "good");
    assert.equal(await refusals(), 0);
  });

  test("a rotation of the authority under a held Cluster fails none of Cluster API's calls", async () => {
    const rule = { ...approvalRule("BeforeClusterCreate"), retryAfterSeconds: 5 };
    await applyPolicy(cp, policyRef("team-held", "approval"), { rules: [rule] });
    await createCluster(cp, { namespace: "team-held", name: "held" });
    await topologySays(cp, "team-held", "held", /approval/);
    const { data } = await cp.get(SERVING);
    const blocked = async (): Promise<number> =>
      await operator.metric("hookpolicy_hook_calls_total", 'verdict="Blocked"');
    const calls = await blocked();
    const from = capi.daemon().log().length;
    await cp.delete(AUTHORITY);
    await cp.waitFor(
      "the new serving certificate",
      async () => (await cp.get(SERVING))["data"]["tls.crt"] !== data["tls.crt"],
    );
    const { data: rotated } = await cp.get(SERVING);
    const [authority] = parseCertificates(Buffer.from(rotated["ca.crt"], "base64").toString());
    assert.ok(new X509Certificate(Buffer.from(rotated["tls.crt"], "base64")).verify(authority!.publicKey));
    const { spec } = await cp.get(extensionRef("hookpolicy"));
    assert.equal(spec.clientConfig.caBundle, rotated["ca.crt"]);
    await operatorServes(rotated["tls.crt"]);
    assert.ok((await blocked()) > calls + 3, "Cluster API went on calling");
    await approve(cp, "team-held", "held");
    await isCreated(cp, "team-held", "held");
    assert.doesNotMatch(capi.daemon().log().slice(from), /x509|tls: |certificate/i);
    assert.equal(await refusals(), 0);
  });

  async function operatorServes(tlsCrt: string): Promise<void> {
    const { validToDate } = new X509Certificate(Buffer.from(tlsCrt, "base64"));
    const served = async (): Promise<boolean> =>
      (await operator.metric("hookpolicy_certificate_expiry_timestamp_seconds", "serving")) ===
      validToDate.getTime() / 1000;
    await cp.waitFor("the operator to serve it", served);
  }

  test("without a client certificate it is discovered, and its calls are refused", async () => {
    await capi.stop();
    await cp.patchStatus(extensionRef("hookpolicy"), { handlers: [] });
    await capi.start(await managerWith("none"));
    await isRefused("no-certificate");
    await discovered();
    assert.ok(operator.lines().some(({ reason }) => reason === "no client certificate"));
    const text = await topologySays(cp, "team-a", "no-certificate", /hook/i);
    assert.doesNotMatch(text, /BEGIN|tls\.key/);
  });

  test("a certificate of another authority is refused, until that authority is in the file", async () => {
    await capi.restart(await managerWith("other", others));
    await isRefused("other-authority");
    await writeFile(clientCaFile, `${clients.certificate}\n${others.certificate}`);
    await isCreated(cp, "team-a", "other-authority");
    await isCreated(cp, "team-a", "no-certificate");
  });

  test("another common name is refused", async () => {
    await capi.restart(await managerWith("name", clients, "somebody-else"));
    await isRefused("other-name");
  });
});
