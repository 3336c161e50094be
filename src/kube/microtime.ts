/** metav1.MicroTime: six digits, no fewer. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
