/** An operator that is killed in the middle of something. */

import type { ControlPlane } from "./control-plane.ts";
import type { Operator } from "./operator.ts";
import type { Proxy, SeenRequest } from "./proxy.ts";

/** `asked`: what the operator has asked for since this was prepared. */
export type Moment = (request: SeenRequest, asked: readonly SeenRequest[]) => boolean;

interface ProxiedOperator {
  readonly cp: ControlPlane;
  /** Between the operator and the API server. */
  readonly proxy: Proxy;
  readonly operator: () => Operator;
}

/** The operator dies with the first request for which this is the moment, and which never arrives; resolves then. */
export async function dies(
  { cp, proxy, operator }: ProxiedOperator,
  name: string,
  isNow: Moment,
): Promise<void> {
  let isReached = false;
  const never = Promise.withResolvers<void>();
  never.promise.catch(() => {});
  proxy.forget();
  proxy.wait(never.promise, (request) => {
    const isSo = isNow(request, proxy.requests);
    isReached ||= isSo;
    return isSo;
  });
  await cp.waitFor(`the operator to come to where ${name}`, () => isReached);
  await operator().daemon.stop("SIGKILL");
  never.reject(new Error("the request has died with the operator"));
  proxy.resume();
}

export const isTaskStatus = ({ method, path }: SeenRequest): boolean =>
  method === "PUT" && /\/hooktasks\/[^/]+\/status$/.test(path);
