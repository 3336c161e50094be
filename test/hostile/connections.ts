/** Connections that are opened and not used, or used so slowly that they never end. */

import type { Socket } from "node:net";
import { type Attack, repeated } from "./attack.ts";
import type { Tally } from "./tally.ts";
import { judgeAll } from "./flood.ts";
import { type Seed, seedOf, type Target } from "./target.ts";
import { dialTcp, dialTls, hearOut, parseAnswers } from "./wire.ts";

const DRIBBLE_MS = 500;

type Idler = (target: Target, seed: Seed) => Socket;

/** Each begins something that it does not end. */
const IDLERS: Readonly<Record<string, Idler>> = {
  "no TLS handshake": (target) => dialTcp(target),
  "half a TLS handshake": (target) => {
    const socket = dialTcp(target);
    socket.write(Buffer.from("16030100c8010000c40303", "hex"));
    return socket;
  },
  "no request": (target) => dialTls(target),
  "half a head": (target, { route }) =>
    dribble(dialTls(target), `POST ${route.path} HTTP/1.1\r\nhost: x\r\nx: `),
  "half a body": (target, { route, body }) => {
    const head = `POST ${route.path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length + 1000}\r\n\r\n`;
    return dribble(dialTls(target), `${head}${body.toString("latin1")}`);
  },
};

/** A letter now and then, so that the connection is never idle. */
function dribble<T extends Socket>(socket: T, begin: string): T {
  socket.write(begin);
  const timer = setInterval(() => socket.writable && socket.write("x"), DRIBBLE_MS);
  socket.once("close", () => clearInterval(timer));
  return socket;
}

/** All at once; the server has to end each of them by itself. */
export const idlers: Attack = {
  id: "idlers",
  title: "connections without a handshake, without a request, with slow heads and with slow bodies",
  run: async (target, scale, tally) => {
    const seed = seedOf(target, "BeforeClusterDelete", "large");
    const kinds = Object.entries(IDLERS);
    await repeated(scale, async () => {
      const open = Array.from({ length: scale.connections }, async (_, index) => {
        const [name, dial] = kinds[index % kinds.length] ?? [];
        if (name !== undefined && dial !== undefined) await outlast(dial(target, seed), name, tally);
      });
      await Promise.all(open);
    });
  },
};

async function outlast(socket: Socket, name: string, tally: Tally): Promise<void> {
  try {
    judgeAll(tally, parseAnswers(await hearOut(socket)), name);
  } catch (error) {
    tally.wrong("invalid", `${name}: ${String(error)}`);
  }
}
