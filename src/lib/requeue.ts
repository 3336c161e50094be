/** What a reconciler asks of its work queue. */
export interface Requeue {
  /** Absent: nothing to do until the key is added again. */
  readonly requeueAfterMs?: number;
}
