/** Formats a metav1.MicroTime, whose seconds have exactly six decimal places. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
