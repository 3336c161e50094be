/** The shipped ExtensionConfig, as it is: a Service, a certificate for its name, the CA injected from a Secret. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import test, { after, describe } from "node:test";
import { HOOK_NAMES } from "../../src/api/runtime-hooks.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { startConnectProxy } from "../controlplane/connect-proxy.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { extensionRef } from "../controlplane/extension.ts";
import { createCluster, installLab } from "../controlplane/lab.ts";
import {
  installHookPolicy,
  issueServingCertificate,
  NAMESPACE,
  SERVICE_HOST,
  startOperator,
} from "../controlplane/operator.ts";
import { hooksCalled } from "./fleet.ts";

const cp = await startControlPlane({ seed: "clusterApi" });
await installHookPolicy(cp);
const operator = await startOperator(cp);
// No kubelet, no Service: Cluster API honours HTTPS_PROXY, and the proxy connects as a Service would.
const service = await startConnectProxy({ [`${SERVICE_HOST}:443`]: operator.ports.webhook });
after(async () => {
  await cp.stop();
  await service.stop();
});
await installClusterApi(cp, { env: { HTTPS_PROXY: service.url, NO_PROXY: "127.0.0.1,localhost" } });
await installLab(cp);

describe("the shipped ExtensionConfig", () => {
  test("is discovered and called through the Service's name", async () => {
    const { certificate, key } = await issueServingCertificate(cp);
    const stringData = { "ca.crt": cp.authority.certificate, "tls.crt": certificate, "tls.key": key };
    const metadata = { name: "hookpolicy-webhook-service-cert", namespace: NAMESPACE };
    await cp.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData });
    await cp.apply(
      await readFile(resolve(import.meta.dirname, "../../manifests/extensionconfig.yaml"), "utf8"),
    );
    const handlers = await cp.waitFor("nine handlers", async () => {
      const { status } = await cp.get(extensionRef("hookpolicy"));
      return status?.handlers?.length === 9 && status.handlers;
    });
    const hooks = handlers.map((handler: { requestHook: { hook: string } }) => handler.requestHook.hook);
    assert.deepEqual(new Set(hooks), new Set(HOOK_NAMES));
    await createCluster(cp, { namespace: "team-a", name: "c1" });
    await cp.waitFor("the call", () => hooksCalled(operator, "team-a/c1").includes("BeforeClusterCreate"));
  });
});
