import { TooManyChanges } from "../../operations/timeline.ts";

/** Why a suite cannot be run: it has neither passed nor failed. */
export class SuiteError extends Error {
  override readonly name = "SuiteError";
  /** The field of the step that caused it, such as "expect.rule". */
  readonly field: string;

  constructor(message: string, field = "") {
    super(message);
    this.field = field;
  }
}

/** Errors in `work` are about a field below this one. */
export function within<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TooManyChanges) throw new SuiteError(error.message, field);
    if (!(error instanceof SuiteError)) throw error;
    throw new SuiteError(error.message, error.field === "" ? field : `${field}.${error.field}`);
  }
}
