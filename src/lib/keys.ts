/** The key of an object in stores, queues and indexes, which messages show, too. */

export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** "namespace/name", or "name" of a cluster-scoped object. */
export function namespacedName({ namespace = "", name }: ObjectName): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}
