/** Times on the reader's clock. */

import { useEffect, useState } from "preact/hooks";

const DATE: Intl.DateTimeFormatOptions = {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
};

/** "Fri, 27 Nov, 23:00", in the reader's zone or another one. */
export function dateText(at: Date | string, timeZone?: string): string {
  return new Intl.DateTimeFormat("en-GB", { ...DATE, ...(timeZone !== undefined && { timeZone }) }).format(
    typeof at === "string" ? new Date(at) : at,
  );
}

/** A span of time, in milliseconds since 1970. */
export interface Time {
  readonly from: number;
  readonly to: number;
}

export function percent(at: number, { from, to }: Time): string {
  return `${((at - from) / (to - from)) * 100}%`;
}

export function localInput(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

/** The present time, renewed every few seconds for the ages on the page. */
export function useNow(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 5_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
