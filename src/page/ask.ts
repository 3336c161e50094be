/** Asks the server of the page. Addresses are relative, because the page's own address contains the token. */

import { useEffect, useState } from "preact/hooks";

export interface PageAnswer<T> {
  /** The last value, kept while the next one is loading. */
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly isLoading: boolean;
}

/** Time to wait for a further change before a request is sent. */
const DELAY_MS = 120;

type Query = Readonly<Record<string, string | undefined>>;

/** Absent parameters are left out. `again`: a change of it repeats the request. */
export function useAnswer<T>(path: string | undefined, query: Query, again: unknown = ""): PageAnswer<T> {
  const [answer, setAnswer] = useState<PageAnswer<T>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const url = path === undefined ? undefined : urlOf(path, query);
  useEffect(() => {
    if (url === undefined) return undefined;
    const stop = new AbortController();
    const ask = (): void => {
      fetchJson<T>(url, { signal: stop.signal })
        .then((value) => setAnswer({ value, error: undefined, isLoading: false }))
        .catch((error: unknown) => {
          if (!stop.signal.aborted)
            setAnswer(({ value }) => ({ value, error: failureText(error), isLoading: false }));
        });
    };
    setAnswer(({ value }) => ({ value, error: undefined, isLoading: true }));
    const timer = setTimeout(ask, answer.value === undefined ? 0 : DELAY_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [url, again]);
  return answer;
}

export async function fetchJson<T>(url: string, init: RequestInit): Promise<T> {
  const response = await fetch(url, init);
  const body: unknown = await response.json();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- by the types of wire.ts, which the server keeps to
  if (response.ok) return body as T;
  throw new Error(isError(body) ? body.error : `the server answered ${response.status}`);
}

function isError(body: unknown): body is { readonly error: string } {
  return typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
}

export function urlOf(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === "" ? [] : [[name, value]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

export function failureText(error: unknown): string {
  if (error instanceof TypeError) return "'hookpolicy ui' does not answer";
  return error instanceof Error ? error.message : String(error);
}
