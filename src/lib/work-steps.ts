/** Work that can pause after each step. */
export type WorkSteps<T = void> = Generator<void, T, void>;

export function atOnce<T>(steps: WorkSteps<T>): T {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
