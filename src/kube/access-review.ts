import { fieldsOf } from "../lib/fields.ts";

/** Whether the status of a (Self)SubjectAccessReview allows the access; only an explicit `allowed: true` counts. */
export function isAllowed(status: unknown): boolean {
  return fieldsOf(status)["allowed"] === true;
}
