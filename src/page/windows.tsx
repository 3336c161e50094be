/** A calendar of four weeks: when windows are open, and when freezes close them. */

import type { VNode } from "preact";
import { useAnswer } from "./ask.ts";
import { Empty, Notes, Search, Select, setParams } from "./parts.tsx";
import type { Params } from "./route.ts";
import { dateText, percent, type Time } from "./times.ts";
import type { Calendar, CalendarWindow, Stretch } from "./wire.ts";

const ZONES = [
  Intl.DateTimeFormat().resolvedOptions().timeZone,
  "UTC",
  ...Intl.supportedValuesOf("timeZone"),
];
const WEEK = 7;

export function WindowsPage({ params }: { params: Params }): VNode | null {
  const { zone, weeks = "0", q = "" } = params;
  const { value: calendar, error, isLoading } = useAnswer<Calendar>("windows", { zone, weeks });
  const windows =
    calendar?.windows.filter((window) => nameOf(window).toLowerCase().includes(q.toLowerCase())) ?? [];
  const move = (by: number): void => setParams({ weeks: String(Number(weeks) + by).replace(/^0$/, "") });
  return (
    <section class="page">
      <div class="filters" role="search">
        <h1>Windows</h1>
        <Select
          label="Time zone"
          value={zone ?? calendar?.zone ?? ""}
          values={zonesFor(calendar)}
          onChange={(next) => setParams({ zone: next })}
        />
        <Search value={q} onChange={(next) => setParams({ q: next })} />
        <span class="buttons">
          <button type="button" onClick={() => move(-4)} aria-label="Four weeks earlier">
            ←
          </button>
          <button type="button" disabled={weeks === "0"} onClick={() => setParams({ weeks: "" })}>
            Today
          </button>
          <button type="button" onClick={() => move(4)} aria-label="Four weeks later">
            →
          </button>
        </span>
      </div>
      <Notes notes={[error, invalidText(calendar)]} />
      <p class="legend">
        <i class="bar open" /> open <i class="bar freeze" /> freeze <i class="clock" /> clocks change{" "}
        <i class="today" /> now
      </p>
      {windows.length === 0 ? (
        <Empty title={isLoading ? "Reading…" : "No policy has a window that matches."} />
      ) : (
        calendar?.days
          .filter((_, day) => day % WEEK === 0)
          .map(({ at }, week) => <Week key={at} calendar={calendar} first={week * WEEK} windows={windows} />)
      )}
    </section>
  );
}

/** Those of the policies, the reader's, and all others. */
function zonesFor(calendar: Calendar | undefined): readonly string[] {
  return [...new Set([...(calendar?.windows.map(({ zone }) => zone) ?? []), ...ZONES])];
}

function nameOf({ policy, rule, gate }: CalendarWindow): string {
  return `${policy} ${rule}/${gate}`;
}

function invalidText(calendar: Calendar | undefined): string | undefined {
  if (calendar === undefined || calendar.invalid.length === 0) return undefined;
  return `not valid, so that their windows are not known: ${calendar.invalid.join(", ")}`;
}

interface WeekProps {
  readonly calendar: Calendar;
  readonly windows: readonly CalendarWindow[];
  readonly first: number;
}

function Week({ calendar, windows, first }: WeekProps) {
  const days = calendar.days.slice(first, first + WEEK);
  const time: Time = {
    from: Date.parse(days[0]?.at ?? ""),
    to: Date.parse(calendar.days[first + WEEK]?.at ?? calendar.end),
  };
  return (
    <section class="week" aria-label={`Week of ${days[0]?.date}`}>
      <div class="weekrow head">
        <span />
        <div class="track">
          {days.map((day) => (
            <Day key={day.at} day={day} time={time} />
          ))}
        </div>
      </div>
      {windows.map((window) => (
        <div class="weekrow" key={nameOf(window)}>
          <span class="name" title={`${nameOf(window)} (${window.zone})`}>
            {window.policy.replace(/^\S+ /, "")}
            <small class="soft">
              {window.rule}/{window.gate}
            </small>
          </span>
          <div class="track">
            {days.map(({ at }) => (
              <i key={at} class="midnight" style={{ left: percent(Date.parse(at), time) }} />
            ))}
            <Bars kind="open" stretches={window.open} time={time} zone={calendar.zone} />
            <Bars kind="freeze" stretches={window.freezes} time={time} zone={calendar.zone} />
            <Now time={time} />
          </div>
        </div>
      ))}
    </section>
  );
}

interface DayProps {
  readonly day: Calendar["days"][number];
  readonly time: Time;
}

function Day({ day: { at, date, change }, time }: DayProps) {
  const day = new Date(`${date}T12:00:00Z`);
  return (
    <span
      class={`day ${change === undefined ? "" : "changed"}`}
      style={{ left: percent(Date.parse(at), time) }}
    >
      {day.toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" })}{" "}
      <b class="num">{day.getUTCDate()}</b>
      <span class="month"> {day.toLocaleDateString("en-GB", { month: "short", timeZone: "UTC" })}</span>
      {change !== undefined && <span class="clock" title={change} role="img" aria-label={change} />}
    </span>
  );
}

function Now({ time }: { time: Time }) {
  const now = Date.now();
  return now < time.from || now >= time.to ? null : <i class="today" style={{ left: percent(now, time) }} />;
}

interface BarsProps {
  readonly kind: "open" | "freeze";
  readonly stretches: readonly Stretch[];
  readonly time: Time;
  readonly zone: string;
}

function Bars({ kind, stretches, time, zone }: BarsProps) {
  const shown = stretches.filter(
    ({ from, to }) =>
      (from === undefined || Date.parse(from) < time.to) && (to === undefined || Date.parse(to) > time.from),
  );
  return (
    <>
      {shown.map(({ from, to, notes }) => {
        const start = Math.max(from === undefined ? time.from : Date.parse(from), time.from);
        const end = Math.min(to === undefined ? time.to : Date.parse(to), time.to);
        const [opens, closes] = [from, to].map((at) => (at === undefined ? "…" : dateText(at, zone)));
        const text = `${kind} ${opens} to ${closes}`;
        return (
          <i
            key={text}
            class={`bar ${kind} ${notes.length > 0 ? "noted" : ""}`}
            role="img"
            aria-label={[text, ...notes].join(", ")}
            title={[text, ...notes].join("\n")}
            style={{ left: percent(start, time), width: percent(time.from + end - start, time) }}
          />
        );
      })}
    </>
  );
}
