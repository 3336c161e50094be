/** Every duration of an informer; the defaults suit production, tests shorten them. */
export interface InformerTuning {
  /** A watch without an event or a bookmark for this long is stalled: kube-apiserver sends a bookmark every minute. */
  readonly idleTimeoutMs: number;
  /** A random value in this range per watch, so that informers do not reconnect together. */
  readonly watchTimeoutSeconds: readonly [min: number, max: number];
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A watch that lived this long counts as working. */
  readonly healthyWatchMs: number;
  /** refresh() lists at most this often; longer than healthyWatchMs, or its lists look like a storm. */
  readonly refreshIntervalMs: number;
}

export const DEFAULT_TUNING: InformerTuning = {
  idleTimeoutMs: 90_000,
  watchTimeoutSeconds: [300, 580],
  backoffMinMs: 500,
  backoffMaxMs: 15_000,
  healthyWatchMs: 2_000,
  refreshIntervalMs: 5_000,
};
