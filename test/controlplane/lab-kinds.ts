/**
 * Eight kinds that stand in for Cluster API's providers. Its contract asks for objects with the right fields
 * and status, not for machines (Cluster API book, "Provider contracts"), so a test may write that status.
 */
import type { KubeObject } from "./client.ts";

const VERSION = "v1beta2";
const INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANE = "controlplane.cluster.x-k8s.io";
const BOOTSTRAP = "bootstrap.cluster.x-k8s.io";

export const LAB_NAMESPACE = "lab";
export const LAB_CLASS = "lab";
export const CLUSTER_API = "cluster.x-k8s.io/v1beta2";
export const LAB_INFRASTRUCTURE = `${INFRASTRUCTURE}/${VERSION}`;
export const LAB_BOOTSTRAP = `${BOOTSTRAP}/${VERSION}`;
export const LAB_CONTROL_PLANE = `${CONTROL_PLANE}/${VERSION}`;
export const LAB_WORKER_CLASS = "lab-worker";
/** A string that Clusters may set. */
export const LAB_VARIABLE = "tier";

const KINDS: readonly (readonly [group: string, kind: string])[] = [
  [INFRASTRUCTURE, "LabCluster"],
  [INFRASTRUCTURE, "LabClusterTemplate"],
  [INFRASTRUCTURE, "LabMachine"],
  [INFRASTRUCTURE, "LabMachineTemplate"],
  [CONTROL_PLANE, "LabControlPlane"],
  [CONTROL_PLANE, "LabControlPlaneTemplate"],
  [BOOTSTRAP, "LabConfig"],
  [BOOTSTRAP, "LabConfigTemplate"],
];

export function labDefinitions(): KubeObject[] {
  return KINDS.map(([group, kind]) => definition(group, kind));
}

function definition(group: string, kind: string): KubeObject {
  const singular = kind.toLowerCase();
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    // Cluster API looks for a CRD by this spelling of its name, and for the contract's version in the label.
    metadata: { name: `${singular}s.${group}`, labels: { "cluster.x-k8s.io/v1beta2": VERSION } },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List`, categories: ["cluster-api"] },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } },
        },
      ],
    },
  };
}

/** One class for all namespaces: a test's Namespace then holds nothing but its Clusters. */
export function labClass(): KubeObject[] {
  const template = (group: string, kind: string): KubeObject => ({
    apiVersion: `${group}/${VERSION}`,
    kind,
    metadata: { name: "lab", namespace: LAB_NAMESPACE },
    spec: { template: { spec: {} } },
  });
  const infrastructure = template(INFRASTRUCTURE, "LabClusterTemplate");
  const controlPlane = template(CONTROL_PLANE, "LabControlPlaneTemplate");
  const machine = template(INFRASTRUCTURE, "LabMachineTemplate");
  const bootstrap = template(BOOTSTRAP, "LabConfigTemplate");
  const templateRef = ({ apiVersion, kind, metadata: { name } }: KubeObject): unknown => ({
    templateRef: { apiVersion, kind, name },
  });
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: LAB_NAMESPACE } },
    infrastructure,
    controlPlane,
    machine,
    bootstrap,
    {
      apiVersion: CLUSTER_API,
      kind: "ClusterClass",
      metadata: { name: LAB_CLASS, namespace: LAB_NAMESPACE },
      spec: {
        infrastructure: templateRef(infrastructure),
        controlPlane: templateRef(controlPlane),
        variables: [{ name: LAB_VARIABLE, required: false, schema: { openAPIV3Schema: { type: "string" } } }],
        workers: {
          machineDeployments: [
            {
              class: LAB_WORKER_CLASS,
              bootstrap: templateRef(bootstrap),
              infrastructure: templateRef(machine),
            },
          ],
        },
      },
    },
  ];
}
