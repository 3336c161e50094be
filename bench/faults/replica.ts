/** A replica of the operator, with its own way to the API server, which can break. */

import type { ControlPlane } from "../../test/controlplane/controlplane.ts";
import {
  NAMESPACE,
  type Operator,
  type OperatorOptions,
  operatorPorts,
  startOperator,
} from "../../test/controlplane/operator.ts";
import { type Proxy, startProxy } from "../../test/controlplane/proxy.ts";

/** The flags of the shipped Deployment, with a shorter delay: the balancer hears of the shutdown sooner than a Service. */
const FLAGS = { "leader-elect": "true", namespace: NAMESPACE, "shutdown-delay-duration": "3s" };

export interface ReplicaOptions extends Pick<OperatorOptions, "flags" | "nodeFlags"> {
  /** The replica reaches the API server without the proxy. */
  readonly direct?: boolean;
}

export interface Replica {
  readonly name: string;
  readonly proxy: Proxy;
  /** The operator of the last start. */
  operator: Operator;
  /** Starts it again on the same ports, with a log of its own. */
  readonly restart: (options?: { readonly waitReady: boolean }) => Promise<void>;
}

export async function startReplica(
  cp: ControlPlane,
  name: string,
  { direct = false, ...options }: ReplicaOptions & Pick<OperatorOptions, "processes">,
): Promise<Replica> {
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", direct ? {} : { server: proxy.url });
  const flags = { ...FLAGS, ...options.flags };
  const ports = await operatorPorts();
  let starts = 0;
  const start = async (waitReady = true): Promise<Operator> =>
    await startOperator(cp, { ...options, flags, kubeconfig, ports, name: `${name}-${++starts}`, waitReady });
  const replica: Replica = {
    name,
    proxy,
    operator: await start(),
    restart: async ({ waitReady } = { waitReady: true }) => {
      replica.operator = await start(waitReady);
    },
  };
  return replica;
}
