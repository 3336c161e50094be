/** Draws what `hookpolicy explain` prints: details, and trees of policies, rules, gates and tasks. */

import { Fragment, type VNode } from "preact";
import type { Branch, Detail } from "./branch.ts";
import { Command, toneOf } from "./parts.tsx";

export function Details({ details = [] }: Pick<Branch, "details">): VNode | null {
  const shown = details.filter((each) => each !== false);
  if (shown.length === 0) return null;
  return (
    <dl class="facts">
      {shown.map(({ label, text, whole }: Detail, index) => (
        <Fragment key={index}>
          <dt>{label}</dt>
          <dd>{whole === true ? <Command text={text} /> : text}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

export function Trees({ branches }: { branches: readonly Branch[] }): VNode | null {
  const others = branches.filter((each) => !isAbout(each));
  return (
    <div class="tree">
      {branches.filter(isAbout).map((each) => (
        <Tree key={each.text} branch={each} />
      ))}
      {others.length > 0 && (
        <details class="others">
          <summary>
            {others.length} {others.length === 1 ? "policy is" : "policies are"} not about this operation
          </summary>
          {others.map((each) => (
            <Tree key={each.text} branch={each} />
          ))}
        </details>
      )}
    </div>
  );
}

function isAbout({ verdict }: Branch): boolean {
  return verdict !== "Skipped";
}

function Tree({ branch: { text, verdict = "", details = [], branches = [] } }: { branch: Branch }) {
  return (
    <details class="policy" open={toneOf(verdict) !== "free"}>
      <summary>
        <Marked text={text} verdict={verdict} />
      </summary>
      <Details details={details} />
      <Twigs branches={branches} />
    </details>
  );
}

function Marked({ text, verdict }: Required<Pick<Branch, "text" | "verdict">>) {
  return (
    <>
      <span class={`mark ${toneOf(verdict)}`} aria-hidden="true" />
      {text}
    </>
  );
}

function Twigs({ branches = [] }: Pick<Branch, "branches">) {
  if (branches.length === 0) return null;
  return (
    <ul class="gates">
      {branches.map(({ text, verdict = "", details = [], branches: below = [] }) => (
        <li key={text}>
          <p>
            <Marked text={text} verdict={verdict} />
          </p>
          <Details details={details} />
          <Twigs branches={below} />
        </li>
      ))}
    </ul>
  );
}
