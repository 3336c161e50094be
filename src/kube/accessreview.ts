/** The answer of a SubjectAccessReview or a SelfSubjectAccessReview. */

/** Only an explicit `allowed: true` counts. */
export function isAllowed(status: unknown): boolean {
  return typeof status === "object" && status !== null && "allowed" in status && status.allowed === true;
}
