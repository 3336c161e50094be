/**
 * Converts Clusters as far as tests of pinned workers need: v1beta1 has no pins and keeps them in an annotation, by the name of the
 * workers, as in Cluster API (core/webhooks/conversion/cluster.go, restoreWorkerVersions).
 */

import { createServer } from "node:https";
import { json } from "node:stream/consumers";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { portOf } from "../controlplane/ports.ts";

export const CONVERSION_DATA = "cluster.x-k8s.io/conversion-data";

interface Workers {
  readonly name: string;
  readonly version?: string;
}

export async function startPinConversion(
  cp: ControlPlane,
): Promise<{ readonly spec: object; readonly stop: () => void }> {
  const { certificate, key } = await cp.authority.issue({ commonName: "conversion", names: ["127.0.0.1"] });
  const server = createServer({ cert: certificate, key }, (req, res) => {
    void json(req).then(
      (review) => res.end(JSON.stringify(converted(review as KubeObject))),
      () => res.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const clientConfig = { url: `https://127.0.0.1:${portOf(server)}/`, caBundle: cp.authority.caBundle };
  return {
    spec: { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: ["v1"] } },
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function converted({ apiVersion, kind, request }: KubeObject): object {
  const { uid, objects, desiredAPIVersion } = request;
  const convert = String(desiredAPIVersion).endsWith("/v1beta1") ? toOlder : toNewer;
  const convertedObjects = objects.map((object: KubeObject) => ({
    ...(object.apiVersion === desiredAPIVersion ? object : convert(object)),
    apiVersion: desiredAPIVersion,
  }));
  return { apiVersion, kind, response: { uid, result: { status: "Success" }, convertedObjects } };
}

function toOlder(object: KubeObject): KubeObject {
  const { classRef, workers, ...topology } = object["spec"].topology;
  const all: readonly Workers[] = workers?.machineDeployments ?? [];
  const pins = Object.fromEntries(all.map(({ name, version }) => [name, version]));
  const machineDeployments = all.map(({ version: _, ...rest }) => rest);
  const annotations = { ...object.metadata.annotations, [CONVERSION_DATA]: JSON.stringify(pins) };
  const spec = { ...object["spec"], topology: { ...topology, class: classRef.name, workers: { machineDeployments } } }; // prettier-ignore
  return { ...object, metadata: { ...object.metadata, annotations }, spec };
}

function toNewer(object: KubeObject): KubeObject {
  const { class: name, workers, ...topology } = object["spec"].topology;
  const { [CONVERSION_DATA]: data = "{}", ...annotations } = object.metadata.annotations ?? {};
  const pins: Record<string, string | undefined> = JSON.parse(data);
  const machineDeployments = (workers?.machineDeployments ?? []).map((each: Workers) => {
    const version = pins[each.name];
    return { ...each, ...(version !== undefined && { version }) };
  });
  const spec = { ...object["spec"], topology: { ...topology, classRef: { name }, workers: { machineDeployments } } }; // prettier-ignore
  return { ...object, metadata: { ...object.metadata, annotations }, spec };
}
