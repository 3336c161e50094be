/** A list of any length, of which only the rows in view are in the document. Arrow keys move through it. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { scrollTo, visibleRange } from "./visible-range.ts";

interface Props<T> {
  readonly items: readonly T[];
  readonly label: string;
  /** In pixels, on a wide page and on one as narrow as a phone. */
  readonly rowHeights: { readonly wide: number; readonly narrow: number };
  readonly keyOf: (item: T) => string;
  readonly row: (item: T) => ComponentChildren;
  readonly onKey: (item: T, key: string) => void;
}

const STEPS: Readonly<Record<string, (index: number, page: number, last: number) => number>> = {
  ArrowDown: (index) => index + 1,
  ArrowUp: (index) => index - 1,
  PageDown: (index, page) => index + page,
  PageUp: (index, page) => index - page,
  Home: () => 0,
  End: (_, _page, last) => last,
};

export function LongList<T>({ items, label, rowHeights, keyOf, row, onKey }: Props<T>): VNode | null {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const rowHeight = useNarrow() ? rowHeights.narrow : rowHeights.wide;
  const height = useHeight(box);
  const [active, setActive] = useState(0);
  const wantsFocus = useRef(false);
  const current = Math.min(active, items.length - 1);
  const { from, to } = visibleRange(items.length, { top, height, rowHeight });
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    box.current?.querySelector<HTMLElement>(`[data-index="${current}"]`)?.focus({ preventScroll: true });
  }, [current]);
  const pressed = (event: KeyboardEvent): void => {
    const item = items[current];
    if (item === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    if (step === undefined) {
      const isOwn = event.target instanceof HTMLElement && event.target.matches("[data-index]");
      if (isOwn) onKey(item, event.key);
      return;
    }
    event.preventDefault();
    const last = items.length - 1;
    const next = Math.max(0, Math.min(last, step(current, Math.floor(height / rowHeight), last)));
    if (box.current !== null)
      box.current.scrollTop = scrollTo(next, { top: box.current.scrollTop, height, rowHeight });
    wantsFocus.current = true;
    setActive(next);
  };
  // The active row stays in the document, so that the focus is not lost.
  const indexes = Array.from({ length: to - from }, (_, index) => from + index);
  if (current >= 0 && (current < from || current >= to)) indexes.push(current);
  return (
    <div
      class="list"
      ref={box}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={pressed}
    >
      <div class="rows" role="list" aria-label={label} style={{ height: `${items.length * rowHeight}px` }}>
        {indexes.map((index) => {
          const item = items[index];
          if (item === undefined) return null;
          const place = { index, count: items.length, rowHeight, isActive: index === current };
          return (
            <Row key={keyOf(item)} {...place} onFocus={() => setActive(index)}>
              {row(item)}
            </Row>
          );
        })}
      </div>
    </div>
  );
}

interface RowProps {
  readonly index: number;
  readonly count: number;
  readonly rowHeight: number;
  readonly isActive: boolean;
  readonly onFocus: () => void;
  readonly children: ComponentChildren;
}

function Row({ index, count, rowHeight, isActive, onFocus, children }: RowProps) {
  return (
    <div
      class="row"
      role="listitem"
      aria-posinset={index + 1}
      aria-setsize={count}
      data-index={index}
      tabIndex={isActive ? 0 : -1}
      onFocus={onFocus}
      style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
    >
      {children}
    </div>
  );
}

function useHeight(box: { readonly current: HTMLElement | null }): number {
  const [height, setHeight] = useState(600);
  useEffect(() => {
    if (box.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setHeight(entry?.contentRect.height ?? 600));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return height;
}

function useNarrow(): boolean {
  const query = matchMedia("(max-width: 760px)");
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = (event: MediaQueryListEvent): void => setNarrow(event.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}
