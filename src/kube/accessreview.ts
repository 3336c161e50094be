/** The answer of a SubjectAccessReview or a SelfSubjectAccessReview. */

/** Anything but a plain yes is a no. */
export function isAllowed(status: unknown): boolean {
  return typeof status === "object" && status !== null && "allowed" in status && status.allowed === true;
}
