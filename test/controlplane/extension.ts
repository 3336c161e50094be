import type { KubeObject, Ref } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";

export interface ExtensionService {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string;
  /** Cluster API's default is 443. */
  readonly port?: number;
}

export interface Extension {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Base64 of the PEM of who signed the extension's certificate; default: the control plane's authority. */
  readonly caBundle?: string;
  /** Absent: all namespaces. */
  readonly namespaceSelector?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, string>>;
}

/** A Service needs a CONNECT proxy in the manager's environment, see connect-proxy.ts. */
export type ExtensionAddress = { readonly url: string } | { readonly service: ExtensionService };

export interface ExtensionHandler {
  /** `<handler>.<extension>` */
  readonly name: string;
  readonly requestHook: { readonly apiVersion: string; readonly hook: string };
  readonly timeoutSeconds?: number;
  readonly failurePolicy?: string;
}

export function extensionRef(name: string): Ref {
  return { apiVersion: "runtime.cluster.x-k8s.io/v1beta2", kind: "ExtensionConfig", name };
}

/** Returns the handlers that Cluster API has discovered; at least one, or it is an error after the time. */
export async function registerExtension(
  cp: ControlPlane,
  extension: Extension & ExtensionAddress,
): Promise<readonly ExtensionHandler[]> {
  const { name, annotations, namespaceSelector = {}, settings } = extension;
  const { caBundle = cp.authority.caBundle } = extension;
  const address = "url" in extension ? { url: extension.url } : { service: extension.service };
  const ref = extensionRef(name);
  await cp.apply({
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    metadata: { name, ...(annotations && { annotations }) },
    spec: { clientConfig: { ...address, caBundle }, namespaceSelector, ...(settings && { settings }) },
  });
  let last: KubeObject | undefined;
  const discovered = async (): Promise<readonly ExtensionHandler[] | undefined> => {
    last = await cp.get(ref);
    return discoveredHandlers(last);
  };
  try {
    return await cp.waitFor(`ExtensionConfig ${name} to be discovered`, discovered);
  } catch (error) {
    const status = JSON.stringify(last?.["status"], undefined, 2);
    throw new Error(`${String(error)}\nIts status: ${status}`, { cause: error });
  }
}

function discoveredHandlers({ metadata, status }: KubeObject): readonly ExtensionHandler[] | undefined {
  const conditions: { type: string; status: string; observedGeneration?: number }[] =
    status?.conditions ?? [];
  const discovered = conditions.some(
    (c) =>
      c.type === "Discovered" &&
      c.status === "True" &&
      (c.observedGeneration ?? 0) >= (metadata.generation ?? 0),
  );
  const handlers: readonly ExtensionHandler[] = status?.handlers ?? [];
  return discovered && handlers.length > 0 ? handlers : undefined;
}
