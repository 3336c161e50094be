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

/** Adds the field to the errors of `work`, which are about a field below it. */
export function within<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw inField(field, error);
  }
}

/** The same for asynchronous work. */
export async function withinAsync<T>(field: string, work: () => Promise<T>): Promise<T> {
  return await work().catch((error: unknown) => {
    throw inField(field, error);
  });
}

function inField(field: string, error: unknown): Error {
  if (error instanceof TooManyChanges) return new SuiteError(error.message, field);
  if (!(error instanceof SuiteError)) return error instanceof Error ? error : new Error(String(error));
  return new SuiteError(error.message, error.field === "" ? field : `${field}.${error.field}`);
}
