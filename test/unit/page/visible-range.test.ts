import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import { scrollTo, visibleRange } from "../../../src/page/visible-range.ts";
import { runs } from "../../generated.ts";

const viewport = fc.record({
  top: fc.integer({ min: -50, max: 500_000 }),
  height: fc.integer({ min: 1, max: 3_000 }),
  rowHeight: fc.integer({ min: 20, max: 200 }),
});

test("every row that is in view is drawn, and few others, however many there are", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), viewport, (count, view) => {
      const { from, to } = visibleRange(count, view);
      const { top, height, rowHeight } = view;
      const first = Math.max(0, Math.floor(top / rowHeight));
      const last = Math.min(count - 1, Math.floor((top + height - 1) / rowHeight));
      if (first <= last) assert.ok(from <= first && last < to, `${from} to ${to}`);
      assert.ok(from >= 0 && to <= count);
      assert.ok(to - from <= height / rowHeight + 20);
    }),
    runs(500),
  );
});

test("a row that is scrolled to is in view, and one that is in view does not move the list", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), viewport, (index, view) => {
      fc.pre(view.height >= view.rowHeight && view.top >= 0);
      const top = scrollTo(index, view);
      const [start, end] = [index * view.rowHeight, (index + 1) * view.rowHeight];
      assert.ok(top <= start && end <= top + view.height);
      assert.equal(scrollTo(index, { ...view, top }), top);
    }),
    runs(500),
  );
});
