/** The rows of a long list that are in view, and some more around them. */

const AROUND = 8;

export interface Viewport {
  readonly top: number;
  readonly height: number;
  readonly rowHeight: number;
}

/** The row at `to` is outside. */
export function visibleRange(
  count: number,
  { top, height, rowHeight }: Viewport,
): { readonly from: number; readonly to: number } {
  const first = Math.floor(Math.max(0, top) / rowHeight);
  const shown = Math.ceil(height / rowHeight);
  const from = Math.min(Math.max(0, first - AROUND), Math.max(0, count - 1));
  return { from, to: Math.min(count, first + shown + AROUND + 1) };
}

/** Where to scroll so that the row is in view; the same place if it is. */
export function scrollTo(index: number, { top, height, rowHeight }: Viewport): number {
  const [start, end] = [index * rowHeight, (index + 1) * rowHeight];
  if (start < top) return start;
  return end > top + height ? end - height : top;
}
