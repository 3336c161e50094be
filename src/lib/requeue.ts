/** What a reconciler asks of its work queue. */
export interface Requeue {
  /** Absent: nothing to do until the key is added again. */
  readonly requeueAfterMs?: number;
}

/** When to try again while another replica leads, or memory is behind, because no event may follow. */
export const FOLLOW_MS = 2000;
/** How far a watch may be behind, as far as anything waits for it. */
export const WATCH_LAG_MS = 5000;
