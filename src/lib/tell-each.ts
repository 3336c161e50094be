/** Tells each listener, whatever another one throws; throws the first error when all have heard. */
export function tellEach<T>(listeners: readonly T[], tell: (listener: T) => void): void {
  const errors: unknown[] = [];
  for (const listener of listeners) {
    try {
      tell(listener);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
