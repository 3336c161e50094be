/** The keys of the page, as `?` shows them. */

import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { PAGES } from "./route.ts";

const KEYS = [
  [`1 to ${PAGES.length}`, "the pages"],
  ["/", "searches"],
  ["arrows, Page Up and Down, Home, End", "move in a list, and in time on the slider"],
  ["Enter", "opens the Cluster"],
  ["c", "copies the command of the row"],
  ["?", "shows this"],
] as const;

export function Keys({ onClose }: { onClose: () => void }): VNode | null {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
