/** What a client feels of others that are at other addresses (fair-loop.ts), in a real server. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp, Socket } from "node:net";
import { before, test, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

import { fairLoop, type Kind, type Size, TURN_MS } from "../../../src/extension/fair-loop.ts";
import { createHookServer } from "../../../src/extension/hook-server.ts";
import { type Body, HookRequest } from "../../../src/extension/request-body.ts";
import type { KeyPair } from "../../../src/extension/tls.ts";
import { WholeBody } from "../../../src/extension/whole-body.ts";
import { issue } from "./certificates.ts";
import { createRecorder } from "./recorder.ts";

const OWN = "127.0.0.1";
const OTHER = "127.0.0.2";
/** Of one test: connections of the tests before it may still end. */
const THIRD = "127.0.0.3";
const LONG_MS = 1.5;
const TIMEOUT = { timeout: 30_000 };

let pair: KeyPair;
before(async () => {
  pair = await issue("fairness");
});

interface Lab {
  readonly tcp: (localAddress: string) => Socket;
  readonly tls: (localAddress: string) => Promise<Socket>;
  /** The bodies of the calls that were handled, in this order; each took LONG_MS. */
  readonly handled: string[];
}

async function start(t: TestContext): Promise<Lab> {
  const handled: string[] = [];
  const handle = (body: WholeBody): string => {
    handled.push(body.text() ?? "");
    const ends = performance.now() + LONG_MS;
    while (performance.now() < ends);
    return "{}";
  };
  const server = createHookServer({
    host: OWN,
    port: 0,
    tls: pair,
    routes: [{ path: "/call", handle }],
    undecodable: () => "{}",
    log: createRecorder(),
  });
  const { port } = await server.listen();
  t.after(() => server.close(0));
  const tcp = (localAddress: string): Socket => {
    const socket = connectTcp({ host: OWN, port, localAddress });
    socket.on("error", () => undefined);
    return socket;
  };
  const tls = async (localAddress: string): Promise<Socket> => {
    const socket = connectTls({ socket: tcp(localAddress), rejectUnauthorized: false });
    await once(socket, "secureConnect");
    return socket;
  };
  return { tcp, tls, handled };
}

function call(socket: Socket, body: string): void {
  socket.write(`POST /call HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
}

test("one call is not behind all those of another address that came before it", TIMEOUT, async (t) => {
  const { tls, handled } = await start(t);
  const others = await Promise.all(Array.from({ length: 20 }, async () => await tls(OTHER)));
  const own = await tls(OWN);
  for (const socket of others) call(socket, "other");
  call(own, "own");
  await Promise.all([...others, own].map(async (socket) => await once(socket, "data")));
  assert.equal(handled.length, 21);
  assert.ok(handled.indexOf("own") < 3, handled.join(" "));
});

interface Held {
  readonly address: string;
  readonly size: Size | undefined;
  /** The work costs that much more later: the address waits as if it had taken as long. */
  readonly laterMs: number;
  readonly work: () => void;
}

/** Holds what would take turns from now on. */
function hold(t: TestContext): Held[] {
  const held: Held[] = [];
  t.mock.method(fairLoop, "run", (address: string, work: () => void, kind?: Kind) =>
    held.push({ address, size: kind?.size, laterMs: kind?.laterMs ?? 0, work }),
  );
  return held;
}

async function next(held: Held[]): Promise<Held> {
  for (;;) {
    const first = held.shift();
    if (first !== undefined) return first;
    await nextTurn();
  }
}

test(
  "TLS begins with the turn, and the address is told when the connection has ended",
  TIMEOUT,
  async (t) => {
    const { tls } = await start(t);
    const held = hold(t);
    const closed = t.mock.method(fairLoop, "closed");
    let isSecure = false;
    const secure = tls(THIRD).then((socket) => ((isSecure = true), socket));
    const { address, size, laterMs, work } = await next(held);
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    assert.deepEqual([address, size, laterMs > 0, isSecure], [THIRD, "handshake", true, false]);
    work();
    (await secure).destroy();
    const told = (): unknown[] =>
      closed.mock.calls.map(({ arguments: [each] }) => each).filter((each) => each === THIRD);
    while (told().length === 0) await nextTurn();
    assert.deepEqual(told(), [THIRD]);
  },
);

test(
  "a call waits with those about bodies of its size, and is not handled when its client has gone",
  TIMEOUT,
  async (t) => {
    const { tls, handled } = await start(t);
    const sizes = { small: 1000, large: 200_000, huge: 3_000_000 };
    for (const [want, bytes] of Object.entries(sizes)) {
      const [staying, leaving] = [await tls(OTHER), await tls(OTHER)];
      const closed = t.mock.method(fairLoop, "closed");
      const held = hold(t);
      for (const socket of [staying, leaving]) call(socket, "x".repeat(bytes));
      const works: (() => void)[] = [];
      while (works.length < 2) {
        const { size, laterMs, work } = await next(held);
        const isPart = laterMs === TURN_MS;
        assert.equal(size, isPart ? "large" : want);
        if (isPart) work();
        else works.push(work);
      }
      leaving.destroy();
      while (closed.mock.callCount() === 0) await nextTurn();
      t.mock.restoreAll();
      for (const work of works) work();
      await once(staying, "data");
      assert.deepEqual(
        handled.splice(0).map(({ length }) => length),
        [bytes],
        want,
      );
    }
  },
);

test("connections that end before their turn hurt nobody", TIMEOUT, async (t) => {
  const { tcp, tls } = await start(t);
  const own = await tls(OWN);
  const others = Array.from({ length: 30 }, () => tcp(OTHER));
  for (const socket of others) socket.once("connect", () => socket.resetAndDestroy());
  call(own, "own");
  await Promise.all([once(own, "data"), ...others.map(async (socket) => await once(socket, "close"))]);
  call(await tls(OTHER), "other");
  call(own, "own");
  await once(own, "data");
});

test("a body whose client is gone before its turn is not handled, and gives its memory back", (t) => {
  const held = hold(t);
  const request = new HookRequest(new Socket());
  const body = new WholeBody([Buffer.from(new ArrayBuffer(100_000))]);
  const seen: Body[] = [];
  request.inTurn(body, (each) => seen.push(each));
  assert.equal(body.head(1), "\0");
  request.leave();
  assert.equal(body.head(1), "");
  for (const { work } of held) work();
  assert.deepEqual([held.length, seen], [1, []]);
});
