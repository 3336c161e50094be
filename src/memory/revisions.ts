/** Tells whether anything has changed that a decision about a Cluster is made from, beside objects, tasks and the time. */

export class Revisions {
  #latest = 0;
  #ofAll = 0;
  readonly #ofNamespaces = new Map<string, number>();
  /** By clusterKey. */
  readonly #ofClusters = new Map<string, number>();

  /** Unchanged as long as nothing about the Cluster has changed. */
  of(namespace: string, clusterKey: string): number {
    const ofNamespace = this.#ofNamespaces.get(namespace) ?? 0;
    return Math.max(this.#ofAll, ofNamespace, this.#ofClusters.get(clusterKey) ?? 0);
  }

  /** `undefined`: in all namespaces. */
  namespaceChanged(namespace: string | undefined): void {
    if (namespace === undefined) this.#ofAll = this.#latest += 1;
    else this.#ofNamespaces.set(namespace, (this.#latest += 1));
  }

  clusterChanged(clusterKey: string): void {
    this.#ofClusters.set(clusterKey, (this.#latest += 1));
  }

  clusterGone(namespace: string, clusterKey: string): void {
    this.namespaceChanged(namespace);
    this.#ofClusters.delete(clusterKey);
  }

  namespaceGone(namespace: string): void {
    this.namespaceChanged(undefined);
    this.#ofNamespaces.delete(namespace);
  }
}
