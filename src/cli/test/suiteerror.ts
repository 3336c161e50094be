import { TooManyChanges } from "../../operations/timeline.ts";

/** Why a suite cannot be run: neither passed nor failed. */
export class SuiteError extends Error {
  override readonly name = "SuiteError";
  /** The field of the step that is to blame, such as "expect.rule". */
  readonly field: string;

  constructor(message: string, field = "") {
    super(message);
    this.field = field;
  }
}

/** What goes wrong in there is about a field below this one. */
export function within<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TooManyChanges) throw new SuiteError(error.message, field);
    if (!(error instanceof SuiteError)) throw error;
    throw new SuiteError(error.message, error.field === "" ? field : `${field}.${error.field}`);
  }
}
