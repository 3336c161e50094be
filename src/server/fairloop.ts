/**
 * Shares the event loop between the addresses of clients; in a cluster each pod has its own. In a turn of the loop work
 * begins for a millisecond. The rest waits, and next comes the address that has had the least time (start-time fair
 * queueing: Goyal, Vin, Cheng, SIGCOMM 1996). While all connections are of one address, only large bodies wait, and they
 * never hold up what is small.
 */

/** A new connection needs several turns until it has its answer. */
const TURN_MS = 1;
/** Of the body that work is about. */
export type Size = "small" | "large" | "huge";

interface Rest {
  readonly afterMs: number;
  /** Of the length of the work. */
  readonly times: number;
  readonly maxMs: number;
}

/**
 * After work that takes long, what an address has of that size rests. `shared`: others have had work in the last
 * second. A call that is small takes long only by accident; and no real fleet has huge ones.
 */
const RESTS: Record<Exclude<Size, "small">, Record<"shared" | "alone", Rest>> = {
  large: {
    shared: { afterMs: 2, times: 3, maxMs: 200 },
    alone: { afterMs: 8, times: 6, maxMs: 200 },
  },
  huge: {
    shared: { afterMs: 2, times: 100, maxMs: 1000 },
    alone: { afterMs: 8, times: 6, maxMs: 200 },
  },
};
const RECENT_MS = 1000;
/**
 * libuv accepts one connection in a turn (src/unix/stream.c, uv__server_io). While they arrive in one turn after the
 * other, an address that has sent more than a few waits, for so long at most: otherwise whoever comes last is behind
 * the handshakes of all others.
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
  /** In virtual time, which is the begin of the work that ran last. */
  begins: number;
  restsUntil: number;
  workedAt: number;
  readonly waiting: Work[];
}

/** All clients of one address. */
class Client {
  connections = 0;
  /** The last burst in which connections arrived, and how many. */
  burst = 0;
  arrived = 0;
  readonly #shares = { small: this.#share("small"), large: this.#share("large"), huge: this.#share("huge") };

  of(size: Size): Share {
    return this.#shares[size];
  }

  /** Of all its shares. */
  last(what: "restsUntil" | "workedAt"): number {
    const { small, large, huge } = this.#shares;
    return Math.max(small[what], large[what], huge[what]);
  }

  #share(size: Size): Share {
    return { client: this, size, begins: 0, restsUntil: 0, workedAt: -Infinity, waiting: [] };
  }
}

export interface Kind {
  /** What else the work costs, after it has returned. */
  readonly laterMs?: number;
  /** All but "small" waits for a turn in any case. */
  readonly size?: Size;
}

export class FairLoop {
  /** By address: those that have connections, or rest. */
  readonly #clients = new Map<string, Client>();
  readonly #waiting = new Set<Share>();
  #virtualMs = 0;
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
    const client = this.#clients.get(address) ?? new Client();
    this.#clients.set(address, client);
    client.connections += 1;
    client.arrived = client.burst === this.#burst ? client.arrived + 1 : 1;
    client.burst = this.#burst;
    this.#hasAccepted = true;
    if (this.#clients.size > 1) this.#schedule();
  }

  closed(address: string): void {
    const client = this.#clients.get(address);
    if (client === undefined) return;
    client.connections -= 1;
    this.#forget(address, client);
  }

  /** Runs the work, which must not throw, now or in a later turn. */
  run(address: string, run: () => void, { laterMs = 0, size = "small" }: Kind = {}): void {
    if (size === "small" && this.#clients.size <= 1 && this.#waiting.size === 0) return run();
    const client = this.#clients.get(address) ?? new Client(); // its connections may have ended
    const share = client.of(size);
    this.#schedule();
    if (size === "small" && this.#mayRun(client)) return this.#perform(share, { run, laterMs });
    share.waiting.push({ run, laterMs });
    this.#waiting.add(share);
  }

  #mayRun(client: Client): boolean {
    return this.#spentMs < TURN_MS && this.#waiting.size === 0 && !this.#isArriving(client);
  }

  #isArriving({ burst, arrived }: Client): boolean {
    if (burst !== this.#burst || arrived <= BURST.few) return false;
    return performance.now() - (this.#burstSince ?? -Infinity) <= BURST.maxMs;
  }

  /** Whoever rests is not forgotten: new connections would end the rest. */
  #forget(address: string, client: Client): void {
    if (client.connections > 0) return;
    const restMs = client.last("restsUntil") - performance.now();
    if (restMs > 0) setTimeout(() => this.#forget(address, client), restMs).unref();
    else if (this.#clients.get(address) === client) this.#clients.delete(address);
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
    if (this.#waiting.size > 0) this.#goOn();
  };

  /** A burst goes on as long as each turn accepts a connection. */
  #follow(): void {
    if (this.#hasAccepted) {
      this.#burstSince ??= performance.now();
      this.#hasAccepted = false;
      this.#schedule(); // to see whether it goes on
    } else {
      this.#burstSince = undefined;
      this.#burst += 1;
    }
  }

  #goOn(): void {
    const rests = [...this.#waiting].map(({ restsUntil }) => restsUntil);
    const restMs = Math.min(...rests) - performance.now();
    clearTimeout(this.#alarm);
    if (restMs > 0) this.#alarm = setTimeout(this.#schedule, restMs);
    else this.#schedule();
  }

  #first(): Share | undefined {
    const now = performance.now();
    let first: Share | undefined;
    for (const share of this.#waiting) {
      if (share.restsUntil > now || this.#isArriving(share.client)) continue;
      if (first === undefined || share.begins < first.begins) first = share;
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
    share.restsUntil = ended + this.#restAfter(share, tookMs);
  }

  #restAfter({ client, size }: Share, tookMs: number): number {
    if (size === "small") return 0;
    const { afterMs, times, maxMs } = RESTS[size][this.#haveOthersWorked(client) ? "shared" : "alone"];
    return tookMs > afterMs ? Math.min(times * tookMs, maxMs) : 0;
  }

  #haveOthersWorked(own: Client): boolean {
    const since = performance.now() - RECENT_MS;
    return this.#clients.values().some((client) => client !== own && client.last("workedAt") > since);
  }
}

/** For all servers of the process: they share its event loop. */
export const fairLoop = new FairLoop();
