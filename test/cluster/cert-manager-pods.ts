/** cert-manager's own chart on the nodes, with one replica of each program. */

import { certManagerBinary } from "../controlplane/binaries.ts";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { helmIn } from "../install/tools.ts";
import { isRolledOut } from "./cluster.ts";
import { certManagerImage } from "./images.ts";

const NAME = "cert-manager";
const IN_NAMESPACE = ["--namespace", NAME];
/** Never stored. */
const ISSUER: KubeObject = {
  apiVersion: "cert-manager.io/v1",
  kind: "Issuer",
  metadata: { name: "dry-run" },
  spec: { selfSigned: {} },
};

/** Its images are on the nodes. Certificates are issued when this resolves, and not only accepted. */
export async function installCertManager(cp: ControlPlane): Promise<void> {
  const { chart } = await certManagerBinary();
  const [repository, tag] = (await certManagerImage()).tag.split(":");
  const program = (name: string): object => ({
    image: { repository, tag },
    extraEnv: [{ name: "PROGRAM", value: name }],
  });
  const values = {
    ...program("controller"),
    webhook: program("webhook"),
    cainjector: program("cainjector"),
    crds: { enabled: true },
    livenessProbe: { enabled: false }, // this controller has no port for it
    startupapicheck: { enabled: false }, // an image of its own; what it asks is asked below
  };
  const set = Object.entries(values).flatMap(([key, value]) => [
    "--set-json",
    `${key}=${JSON.stringify(value)}`,
  ]);
  await helmIn(cp, "install", NAME, chart, ...IN_NAMESPACE, "--create-namespace", ...set);
  for (const deployment of [NAME, `${NAME}-webhook`, `${NAME}-cainjector`])
    await isRolledOut(cp, NAME, deployment);
  const issuer = JSON.stringify(ISSUER);
  await cp.waitFor("cert-manager's webhook to be trusted by the API server", async () => {
    return await cp.request("POST", "/apis/cert-manager.io/v1/namespaces/default/issuers?dryRun=All", issuer);
  });
}

/** Its CRDs and every Certificate, too. */
export async function removeCertManager(cp: ControlPlane): Promise<void> {
  await helmIn(cp, "uninstall", NAME, ...IN_NAMESPACE, "--ignore-not-found");
  await cp.kubectl("delete", "crd", "-l", `app.kubernetes.io/name=${NAME}`);
  await cp.kubectl("delete", "namespace", NAME, "--ignore-not-found");
}
