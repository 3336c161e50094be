/** One of the operator's replicas, and its own way to the API server, which can break. */

import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import {
  NAMESPACE,
  type Operator,
  type OperatorOptions,
  type OperatorPorts,
  operatorPorts,
  startOperator,
} from "../../test/controlplane/operator.ts";
import type { Processes } from "../../test/controlplane/processes.ts";
import { type Proxy, startProxy } from "../../test/controlplane/proxy.ts";

/** As in the shipped Deployment, but for a shorter delay: what is in front of the replicas here hears of it sooner. */
const FLAGS = { "leader-elect": "true", namespace: NAMESPACE, "shutdown-delay-duration": "3s" };

export interface ReplicaOptions extends Pick<OperatorOptions, "flags" | "nodeFlags"> {
  /** Nothing that can break is between it and the API server. */
  readonly direct?: boolean;
}

export interface Replica {
  readonly name: string;
  readonly ports: OperatorPorts;
  readonly proxy: Proxy;
  /** Of the last start. */
  readonly operator: Operator;
  /** Again on the same ports, with a log of its own. */
  readonly start: (options: { readonly waitReady: boolean }) => Promise<void>;
}

export async function createReplica(
  cp: ControlPlane,
  name: string,
  { direct = false, ...options }: ReplicaOptions & { readonly processes: Processes },
): Promise<Replica> {
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", direct ? {} : { server: proxy.url });
  const flags = { ...FLAGS, ...options.flags };
  const ports = await operatorPorts();
  let operator: Operator | undefined;
  let starts = 0;
  return {
    name,
    ports,
    proxy,
    get operator() {
      if (operator === undefined) throw new Error(`${name} was not started`);
      return operator;
    },
    start: async ({ waitReady }) => {
      const own = { ...options, flags, kubeconfig, ports, name: `${name}-${++starts}`, waitReady };
      operator = await startOperator(cp, own);
    },
  };
}
