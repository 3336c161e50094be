/** Every duration of an informer; the defaults suit production, tests shorten them. */
export interface InformerTuning {
  /** Without an event or a bookmark for so long, a watch is stalled: kube-apiserver sends a bookmark every minute. */
  readonly idleTimeoutMs: number;
  /** Between these, per watch and at random: informers must not reconnect together. */
  readonly watchTimeoutSeconds: readonly [min: number, max: number];
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A watch that lived so long was a working one. */
  readonly healthyWatchMs: number;
  /** refresh() lists at most this often; more than healthyWatchMs, or its lists look like a storm. */
  readonly refreshIntervalMs: number;
  /** For finding the served version, before a list. */
  readonly resolveTimeoutMs: number;
}

export const DEFAULT_TUNING: InformerTuning = {
  idleTimeoutMs: 90_000,
  watchTimeoutSeconds: [300, 580],
  backoffMinMs: 500,
  backoffMaxMs: 15_000,
  healthyWatchMs: 2_000,
  refreshIntervalMs: 5_000,
  resolveTimeoutMs: 30_000,
};
