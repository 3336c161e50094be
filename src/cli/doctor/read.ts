import { messageOf } from "../../lib/thrown.ts";
import { isForbidden, isNotFound, isUnreachable } from "../../kube/kube-error.ts";
import type { ReadResult } from "./doctor.ts";

/** An unreachable API server ends the check. */
export async function read<T>(work: Promise<T>): Promise<ReadResult<T>> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    if (isUnreachable(error)) throw error;
    const why = isNotFound(error) ? "NotFound" : isForbidden(error) ? "Forbidden" : "Failed";
    return { ok: false, why, message: messageOf(error) };
  }
}
