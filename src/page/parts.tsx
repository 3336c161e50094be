/** Small parts that several pages have in common. */

import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { type Params, withParams } from "./route.ts";

export function ClusterLabel({ cluster }: { cluster: string }): VNode | null {
  const [namespace, name] = cluster.split("/");
  return (
    <>
      <span class="soft">{namespace}/</span>
      {name}
    </>
  );
}

export function Command({ text }: { text: string }): VNode | null {
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton text={text} />
    </span>
  );
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): VNode | null {
  const [copied, setCopied] = useState(false);
  const copy = (): void => {
    void copyText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    });
  };
  return (
    <button type="button" class="copy" title={text} onClick={copy} aria-live="polite">
      {copied ? "Copied" : label}
    </button>
  );
}

export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
}

export function VerdictLabel({ verdict }: { verdict: string }): VNode | null {
  return <span class={`verdict ${toneOf(verdict)}`}>{verdict}</span>;
}

export function toneOf(verdict: string): string {
  if (verdict === "Blocked" || verdict === "NotEvaluable") return "held";
  if (verdict === "WouldBlock") return "audit";
  return verdict === "Skipped" ? "muted" : "free";
}

export function Notes({ notes }: { notes: readonly (string | undefined)[] }): VNode | null {
  const shown = notes.filter((note) => note !== undefined && note !== "");
  if (shown.length === 0) return null;
  return (
    <ul class="notes" role="status">
      {shown.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode | null {
  return (
    <div class="empty">
      <p>{title}</p>
      {children}
    </div>
  );
}

/**
 * Changes the address without a new history entry, and redraws the page at once: the browser's own event comes later,
 * and a redraw before it would put the old value back into the field in which the user types.
 */
export function setParams(changes: Params): void {
  location.replace(withParams(location.hash || "#/held", changes));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

interface Choice {
  readonly label: string;
  readonly value: string;
  readonly values: readonly string[];
  /** The text of the first choice, which is the empty value. */
  readonly none?: string;
  readonly onChange: (value: string) => void;
}

export function Select({ label, value, values, none, onChange }: Choice): VNode | null {
  const all = value === "" || values.includes(value) ? values : [value, ...values];
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {all.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Search({ value, onChange }: Pick<Choice, "value" | "onChange">): VNode | null {
  return (
    <label class="field search">
      <span>Search</span>
      <input
        type="search"
        data-search
        placeholder="press / to search"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
