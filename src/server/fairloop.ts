/**
 * Shares the event loop between the addresses of clients; in a cluster each pod has its own. In a turn of the loop work
 * begins for a millisecond. The rest waits, and next comes the address that has had the least time (start-time fair
 * queueing: Goyal, Vin, Cheng, SIGCOMM 1996). While all connections are of one address, nothing waits.
 */

/** A new connection needs several turns until it has its answer. */
const TURN_MS = 1;
/** After work that took longer, an address rests, if others have had work in the last second. */
const LONG_MS = 2;
/** Of the length of the work. */
const RESTS = 3;
const MAX_REST_MS = 200;
const RECENT_MS = 1000;
/**
 * libuv accepts one connection in a turn (src/unix/stream.c, uv__server_io). While some arrive, no work begins, for so
 * long at most: then all who wait are known, and the last of them is not behind the handshakes of the others.
 */
const ACCEPTING_MS = 5;

interface Work {
  readonly run: () => void;
  readonly laterMs: number;
}

interface Share {
  connections: number;
  /** In virtual time, which is the begin of the work that ran last. */
  begins: number;
  restsUntil: number;
  workedAt: number;
  readonly waiting: Work[];
}

export class FairLoop {
  /** Of the addresses that have connections. */
  readonly #shares = new Map<string, Share>();
  readonly #waiting = new Set<Share>();
  #virtualMs = 0;
  /** In this turn. */
  #spentMs = 0;
  #isScheduled = false;
  #alarm: NodeJS.Timeout | undefined;
  #hasAccepted = false;
  #acceptsSince: number | undefined;

  /** Each must be followed by `closed` in the end. */
  accepted(address: string): void {
    const share = this.#shares.get(address) ?? newShare();
    this.#shares.set(address, share);
    share.connections += 1;
    this.#hasAccepted = true;
  }

  closed(address: string): void {
    const share = this.#shares.get(address);
    if (share === undefined) return;
    share.connections -= 1;
    if (share.connections === 0) this.#shares.delete(address);
  }

  /**
   * Runs the work, which must not throw, and returns true, or runs it in a later turn. `laterMs`: what else it costs, after
   * it has returned.
   */
  run(address: string, run: () => void, laterMs = 0): boolean {
    if (this.#shares.size <= 1 && this.#waiting.size === 0) return (run(), true);
    const share = this.#shares.get(address) ?? newShare(); // its connections may have ended
    this.#schedule();
    const mayRun = this.#spentMs < TURN_MS && !this.#hasAccepted && share.restsUntil <= performance.now();
    if (mayRun && this.#waiting.size === 0) return (this.#perform(share, { run, laterMs }), true);
    share.waiting.push({ run, laterMs });
    this.#waiting.add(share);
    return false;
  }

  readonly #schedule = (): void => {
    if (!this.#isScheduled) setImmediate(this.#turn);
    this.#isScheduled = true;
  };

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#spentMs = 0;
    let next = this.#isAccepting() ? undefined : this.#first();
    while (next !== undefined && this.#spentMs < TURN_MS) {
      const work = next.waiting.shift();
      if (next.waiting.length === 0) this.#waiting.delete(next);
      if (work !== undefined) this.#perform(next, work);
      next = this.#first();
    }
    if (this.#waiting.size > 0) this.#goOn();
  };

  /** Whether to let more connections arrive first. */
  #isAccepting(): boolean {
    const now = performance.now();
    if (!this.#hasAccepted) this.#acceptsSince = undefined;
    else this.#acceptsSince ??= now;
    this.#hasAccepted = false;
    return this.#acceptsSince !== undefined && now - this.#acceptsSince < ACCEPTING_MS;
  }

  #goOn(): void {
    const rests = [...this.#waiting].map(({ restsUntil }) => restsUntil);
    const restMs = Math.min(...rests) - performance.now();
    clearTimeout(this.#alarm);
    if (restMs > 0) this.#alarm = setTimeout(this.#schedule, restMs);
    else this.#schedule();
  }

  /** Of those that wait and do not rest. */
  #first(): Share | undefined {
    const now = performance.now();
    let first: Share | undefined;
    for (const share of this.#waiting) {
      if (share.restsUntil <= now && (first === undefined || share.begins < first.begins)) first = share;
    }
    return first;
  }

  #perform(share: Share, { run, laterMs }: Work): void {
    const begun = performance.now();
    share.begins = this.#virtualMs = Math.max(share.begins, this.#virtualMs);
    run();
    const ended = performance.now();
    const tookMs = ended - begun;
    this.#spentMs += tookMs + laterMs;
    share.begins += tookMs + laterMs;
    share.workedAt = ended;
    if (tookMs > LONG_MS && this.#othersWorked(share, ended - RECENT_MS)) {
      share.restsUntil = ended + Math.min(RESTS * tookMs, MAX_REST_MS);
    }
  }

  #othersWorked(own: Share, since: number): boolean {
    return this.#shares.values().some((share) => share !== own && share.workedAt > since);
  }
}

function newShare(): Share {
  return { connections: 0, begins: 0, restsUntil: 0, workedAt: -Infinity, waiting: [] };
}

/** For all servers of the process: they share its event loop. */
export const fairLoop = new FairLoop();
