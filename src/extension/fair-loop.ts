/**
 * Shares the event loop between the addresses of clients; in a cluster each pod has its own. In a turn of the loop work
 * begins for a millisecond. The rest waits, and next comes the address that has had the least time (start-time fair
 * queueing: Goyal, Vin, Cheng, SIGCOMM 1996). While all connections are of one address, only large bodies wait, and
 * what comes while they do.
 */

/** A new connection needs several turns until it has its answer. Work that costs so much later has a turn for itself. */
export const TURN_MS = 1;

/** What work is about: a new connection, or a body of that size. */
export type Size = "handshake" | "small" | "large" | "huge";

interface Rest {
  readonly afterMs: number;
  /** Of the length of the work. */
  readonly times: number;
  readonly maxMs: number;
}

/** After a large body that took long, the large ones of all addresses rest. */
const COMMON_REST: Rest = { afterMs: 8, times: 6, maxMs: 200 };
/**
 * If others have had work in the last second, those of that size of its address rest longer. No real fleet has huge ones. A
 * small one takes long only by accident.
 */
const OWN_RESTS: Partial<Record<Size, Rest>> = {
  large: { afterMs: 2, times: 3, maxMs: 200 },
  huge: { afterMs: 2, times: 100, maxMs: 1000 },
};
const RECENT_MS = 1000;
/**
 * An address without connections is known for so much longer, or new connections would end its rests. Not below the longest of
 * them.
 */
const KNOWN_MS = 1000;
/**
 * libuv accepts one connection in a turn (src/unix/stream.c, uv__server_io). While they arrive in one turn after the
 * other, the handshakes of an address that has sent more than a few wait, for so long at most: otherwise the last to come is
 * behind the handshakes of all others.
 */
const BURST = { few: 4, maxMs: 100 };

interface Work {
  readonly run: () => void;
  readonly laterMs: number;
}

/** All work of one size that is for one address. */
interface Share {
  readonly client: Client;
  readonly size: Size;
  ranAt: number;
  restsUntil: number;
  readonly waiting: Work[];
}

/** All clients of one address. */
class Client {
  connections = 0;
  /** The last burst in which connections arrived, and how many. */
  burst = 0;
  arrived = 0;
  /** In virtual time, which is the begin of the work that ran last. */
  begins: number;
  workedAt = -Infinity;
  readonly #shares = new Map<Size, Share>();

  constructor(begins: number) {
    this.begins = begins;
  }

  of(size: Size): Share {
    const share = this.#shares.get(size) ?? { client: this, size, ranAt: 0, restsUntil: 0, waiting: [] };
    this.#shares.set(size, share);
    return share;
  }
}

export interface Kind {
  /** What else the work costs, after it has returned. */
  readonly laterMs?: number;
  /** What is large or huge waits for a turn in any case. */
  readonly size?: Size;
}

export class FairLoop {
  /** By address: those that have connections, or had some a moment ago. */
  readonly #clients = new Map<string, Client>();
  readonly #waiting = new Set<Share>();
  #virtualMs = 0;
  /** Of all that is large. */
  #restsUntil = 0;
  /** In this turn. */
  #spentMs = 0;
  #isScheduled = false;
  #alarm: NodeJS.Timeout | undefined;
  /** Counts bursts of connections. */
  #burst = 1;
  #burstSince: number | undefined;
  #hasAccepted = false;

  /** Each must be followed by `closed` in the end. */
  accepted(address: string): void {
    const client = this.#clients.get(address) ?? new Client(this.#virtualMs);
    this.#clients.set(address, client);
    client.connections += 1;
    client.arrived = client.burst === this.#burst ? client.arrived + 1 : 1;
    client.burst = this.#burst;
    this.#hasAccepted = true;
    this.#schedule();
  }

  closed(address: string): void {
    const client = this.#clients.get(address);
    if (client === undefined) return;
    client.connections -= 1;
    if (client.connections > 0) return;
    const forget = (): void => {
      if (client.connections === 0 && this.#clients.get(address) === client) this.#clients.delete(address);
    };
    setTimeout(forget, KNOWN_MS).unref();
  }

  /** Runs the work, which must not throw, now or in a later turn. */
  run(address: string, run: () => void, { laterMs = 0, size = "small" }: Kind = {}): void {
    const mayRun = !isLarge(size) && this.#waiting.size === 0;
    if (mayRun && this.#clients.size <= 1) return run();
    const client = this.#clients.get(address) ?? new Client(this.#virtualMs); // its connections may have ended
    const share = client.of(size);
    this.#schedule();
    if (mayRun && this.#spentMs < TURN_MS && !this.#isArriving(share))
      return this.#perform(share, { run, laterMs });
    share.waiting.push({ run, laterMs });
    this.#waiting.add(share);
  }

  #isArriving({ client: { burst, arrived }, size }: Share): boolean {
    if (size !== "handshake" || burst !== this.#burst || arrived <= BURST.few) return false;
    return performance.now() - (this.#burstSince ?? -Infinity) <= BURST.maxMs;
  }

  readonly #schedule = (): void => {
    if (!this.#isScheduled) setImmediate(this.#turn);
    this.#isScheduled = true;
  };

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#spentMs = 0;
    this.#follow();
    let next = this.#first();
    while (next !== undefined && this.#spentMs < TURN_MS) {
      const work = next.waiting.shift();
      if (next.waiting.length === 0) this.#waiting.delete(next);
      if (work !== undefined) this.#perform(next, work);
      next = this.#first();
    }
    if (this.#waiting.size > 0) this.#scheduleNext();
  };

  /** A burst lasts as long as each turn accepts a connection. */
  #follow(): void {
    if (this.#hasAccepted) {
      this.#burstSince ??= performance.now();
      this.#hasAccepted = false;
      this.#schedule(); // to see whether it lasts
    } else {
      this.#burstSince = undefined;
      this.#burst += 1;
    }
  }

  #scheduleNext(): void {
    const rests = [...this.#waiting].map((share) => this.#restOf(share));
    const restMs = Math.min(...rests) - performance.now();
    clearTimeout(this.#alarm);
    if (restMs > 0) this.#alarm = setTimeout(this.#schedule, restMs);
    else this.#schedule();
  }

  #restOf({ size, restsUntil }: Share): number {
    return isLarge(size) ? Math.max(restsUntil, this.#restsUntil) : restsUntil;
  }

  #first(): Share | undefined {
    const now = performance.now();
    let first: Share | undefined;
    for (const share of this.#waiting) {
      if (this.#restOf(share) > now || this.#isArriving(share)) continue;
      if (first === undefined || isBefore(share, first)) first = share;
    }
    return first;
  }

  #perform(share: Share, { run, laterMs }: Work): void {
    const { client, size } = share;
    const begun = performance.now();
    client.begins = this.#virtualMs = Math.max(client.begins, this.#virtualMs);
    run();
    const ended = performance.now();
    const tookMs = ended - begun;
    this.#spentMs += tookMs + laterMs;
    client.begins += tookMs + laterMs;
    client.workedAt = share.ranAt = ended;
    if (isLarge(size)) this.#restsUntil = ended + restAfter(tookMs, COMMON_REST); // it was over before
    const own = OWN_RESTS[size];
    if (own !== undefined && this.#haveOthersWorked(client, ended - RECENT_MS))
      share.restsUntil = ended + restAfter(tookMs, own);
  }

  #haveOthersWorked(own: Client, since: number): boolean {
    return this.#clients.values().some((client) => client !== own && client.workedAt > since);
  }
}

/** Of one address, the sizes take turns. */
function isBefore(one: Share, other: Share): boolean {
  const ahead = other.client.begins - one.client.begins;
  return ahead === 0 ? one.ranAt < other.ranAt : ahead > 0;
}

function restAfter(tookMs: number, { afterMs, times, maxMs }: Rest): number {
  return tookMs > afterMs ? Math.min(times * tookMs, maxMs) : 0;
}

function isLarge(size: Size): boolean {
  return size === "large" || size === "huge";
}

/** For all servers of the process: they share its event loop. */
export const fairLoop = new FairLoop();
