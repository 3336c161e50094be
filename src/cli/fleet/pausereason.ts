/** The annotation of a HookRollout that says why a user has paused it; the operator does not read it. */
export const PAUSE_REASON = "hookpolicy.dev/pause-reason";
