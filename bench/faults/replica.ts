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

export class Replica {
  readonly name: string;
  readonly ports: OperatorPorts;
  readonly proxy: Proxy;
  readonly #cp: ControlPlane;
  readonly #options: OperatorOptions;
  #operator: Operator | undefined;
  #starts = 0;

  constructor(
    cp: ControlPlane,
    name: string,
    proxy: Proxy,
    options: OperatorOptions & { ports: OperatorPorts },
  ) {
    this.name = name;
    this.ports = options.ports;
    this.proxy = proxy;
    this.#cp = cp;
    this.#options = options;
  }

  get operator(): Operator {
    if (this.#operator === undefined) throw new Error(`${this.name} was not started`);
    return this.#operator;
  }

  /** Again on the same ports, with a log of its own. */
  async start(options: { readonly waitReady: boolean }): Promise<void> {
    this.#starts += 1;
    const name = `${this.name}-${this.#starts}`;
    this.#operator = await startOperator(this.#cp, { ...this.#options, name, ...options });
  }
}

export async function createReplica(
  cp: ControlPlane,
  name: string,
  { direct = false, ...options }: ReplicaOptions & { readonly processes: Processes },
): Promise<Replica> {
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, "hookpolicy", direct ? {} : { server: proxy.url });
  const flags = { ...FLAGS, ...options.flags };
  return new Replica(cp, name, proxy, { ...options, flags, kubeconfig, ports: await operatorPorts() });
}
