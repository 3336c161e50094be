/** Chooses the instant that is explained, above a strip that shows what the policies say over the time. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { DAY_MS, MINUTE_MS } from "../lib/duration.ts";
import { toneOf } from "./parts.tsx";
import { dateText, localInput, percent, type Time } from "./times.ts";
import type { DrawnSpan } from "./wire.ts";

interface Props {
  readonly from: Date;
  readonly to: Date;
  /** Absent: now. */
  readonly at: Date | undefined;
  readonly spans: readonly DrawnSpan[];
  readonly onChange: (at: Date | undefined) => void;
}

const STEP_MS = 15 * MINUTE_MS;

export function TimeSlider({ from, to, at, spans, onChange }: Props): VNode | null {
  const time = { from: from.getTime(), to: to.getTime() };
  const start = Math.floor(from.getTime() / STEP_MS) * STEP_MS;
  const steps = Math.ceil((to.getTime() - start) / STEP_MS);
  const chosen = at === undefined ? 0 : Math.round((at.getTime() - start) / STEP_MS);
  const [step, setStep] = useState(chosen);
  useEffect(() => setStep(chosen), [chosen]);
  const move = (next: number): void => {
    setStep(next);
    onChange(next === 0 ? undefined : new Date(start + next * STEP_MS));
  };
  const shown = step === 0 ? "now" : dateText(new Date(start + step * STEP_MS));
  const jump = spans.find((span) => new Date(span.from) > (at ?? from));
  return (
    <div class="slider">
      <div class="sliderhead">
        <label for="at">
          What would it be <b class="num">{shown}</b>?
        </label>
        <input
          type="datetime-local"
          aria-label="Exact time"
          value={localInput(at ?? from)}
          onChange={(event) => {
            const typed = new Date(event.currentTarget.value);
            if (!Number.isNaN(typed.getTime())) onChange(typed);
          }}
        />
        <button type="button" disabled={at === undefined} onClick={() => onChange(undefined)}>
          Now
        </button>
        <button
          type="button"
          disabled={jump === undefined}
          onClick={() => jump !== undefined && onChange(new Date(jump.from))}
        >
          Next change
        </button>
      </div>
      <Strip time={time} spans={spans} />
      <input
        id="at"
        type="range"
        min={0}
        max={steps}
        value={Math.max(0, Math.min(steps, step))}
        aria-valuetext={shown}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <Days time={time} />
    </div>
  );
}

function Strip({ time, spans }: { time: Time; spans: readonly DrawnSpan[] }) {
  return (
    <div class="strip" aria-hidden="true">
      {spans.map((span) => (
        <i
          key={span.from}
          class={toneOf(span.verdict)}
          title={`${span.verdict} from ${dateText(span.from)} to ${dateText(span.to)}`}
          style={{
            left: percent(Date.parse(span.from), time),
            width: percent(time.from + Date.parse(span.to) - Date.parse(span.from), time),
          }}
        />
      ))}
    </div>
  );
}

function Days({ time }: { time: Time }) {
  const from = new Date(time.from);
  const count = Math.ceil((time.to - time.from) / DAY_MS);
  const days = Array.from(
    { length: count },
    (_, index) => new Date(from.getFullYear(), from.getMonth(), from.getDate() + 1 + index),
  );
  return (
    <div class="ticks num" aria-hidden="true">
      {days.map((day, index) => (
        <span
          key={day.getTime()}
          class={tickClass(index, (time.to - day.getTime()) / DAY_MS)}
          style={{ left: percent(day.getTime(), time) }}
        >
          {day.toLocaleDateString("en-GB", { weekday: "short", day: "numeric" })}
        </span>
      ))}
    </div>
  );
}

/** The last label has no room; a narrow screen hides every other label and those of the last two days. */
function tickClass(index: number, daysLeft: number): string {
  return [index % 2 === 1 ? "odd" : "", daysLeft < 1 ? "end" : "", daysLeft < 2 ? "nearend" : ""].join(" ");
}
