/** HTTP that is not quite HTTP: smuggling, floods of headers, pipelines, and TLS that nobody speaks any more. */

import { once } from "node:events";
import type { ConnectionOptions } from "node:tls";
import { type Attack, repeated } from "./attack.ts";
import type { Tally } from "./tally.ts";
import { judgeAll } from "./flood.ts";
import { type Seed, seedOf, type Target } from "./target.ts";
import { judge } from "./verdict.ts";
import { dialTcp, dialTls, ended, exchange, hearOut, parseAnswers } from "./wire.ts";

/** Headers and body of a request that hides another one. `head` is the request line with the host, `hidden` a whole request. */
type Shape = (head: string, hidden: string) => string;

const chunked = "transfer-encoding: chunked";
const chunk = (text: string, extension = ""): string =>
  `${Buffer.byteLength(text).toString(16)}${extension}\r\n${text}\r\n`;

const SMUGGLING: Readonly<Record<string, Shape>> = {
  "CL.TE": (head, hidden) => `${head}content-length: 6\r\n${chunked}\r\n\r\n0\r\n\r\n${hidden}`,
  "TE.CL": (head, hidden) => `${head}${chunked}\r\ncontent-length: 4\r\n\r\n${chunk(hidden)}0\r\n\r\n`,
  "two lengths": (head, hidden) =>
    `${head}content-length: 0\r\ncontent-length: ${hidden.length}\r\n\r\n${hidden}`,
  "the same length twice": (head, hidden) =>
    `${head}${`content-length: ${hidden.length}\r\n`.repeat(2)}\r\n${hidden}`,
  "a list of lengths": (head, hidden) => `${head}content-length: 0, ${hidden.length}\r\n\r\n${hidden}`,
  "a length with a sign": (head, hidden) => `${head}content-length: +0\r\n\r\n${hidden}`,
  "a hexadecimal length": (head, hidden) => `${head}content-length: 0x0\r\n\r\n${hidden}`,
  "a length of 2^64": (head, hidden) => `${head}content-length: 18446744073709551616\r\n\r\n${hidden}`,
  "obs-fold": (head, hidden) => `${head}x: a\r\n content-length: 0\r\n${chunked}\r\n\r\n${hidden}`,
  "obs-fold of the length": (head, hidden) => `${head}content-length:\r\n 0\r\n\r\n${hidden}`,
  "a space before the colon": (head, hidden) => `${head}transfer-encoding : chunked\r\n\r\n${chunk(hidden)}`,
  "a tab before chunked": (head, hidden) => `${head}transfer-encoding:\tchunked\r\n\r\nzz\r\n${hidden}`,
  "an unknown coding": (head, hidden) => `${head}transfer-encoding: xchunked\r\n\r\n${hidden}`,
  "chunked twice": (head, hidden) => `${head}${chunked}\r\n${chunked}\r\n\r\nzz\r\n${hidden}`,
  "chunked, then identity": (head, hidden) =>
    `${head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
  "bare LF in the head": (head, hidden) => `${head}content-length: 0\n\n${hidden}`,
  "bare LF between headers": (head, hidden) =>
    `${head}x: a\n${chunked}\r\ncontent-length: 0\r\n\r\n${hidden}`,
  "bare CR in a value": (head, hidden) => `${head}x: a\rcontent-length: 0\r\n\r\n${hidden}`,
  "NUL in a name": (head, hidden) => `${head}content-length\0: 0\r\n\r\n${hidden}`,
  "bare LF between chunks": (head, hidden) => `${head}${chunked}\r\n\r\n1\nx\n0\n\n${hidden}`,
  "a chunk extension": (head, hidden) =>
    `${head}${chunked}\r\n\r\n${chunk("{}", `;a="${"x".repeat(20_000)}"`)}zz\r\n${hidden}`,
  "LF in a chunk extension": (head, hidden) => `${head}${chunked}\r\n\r\n2;\nxx\r\n0\r\n\r\n${hidden}`,
  "a chunk of 2^64 bytes": (head, hidden) => `${head}${chunked}\r\n\r\n10000000000000000\r\n${hidden}`,
  "a chunk of -1 bytes": (head, hidden) => `${head}${chunked}\r\n\r\n-1\r\n${hidden}`,
  "a chunk longer than it says": (head, hidden) => `${head}${chunked}\r\n\r\n1\r\nxx\r\n0\r\n\r\n${hidden}`,
  "HTTP/1.0 with chunks": (head, hidden) =>
    `${head.replace("HTTP/1.1", "HTTP/1.0")}${chunked}\r\n\r\nzz\r\n${hidden}`,
  "HTTP/0.9": (head, hidden) => `${head.replace(" HTTP/1.1", "")}\r\n${hidden}`,
  "HTTP/9.9": (head, hidden) => `${head.replace("1.1", "9.9")}content-length: 0\r\n\r\nzz${hidden}`,
  "two hosts": (head, hidden) => `${head}host: a\r\nhost: b\r\ncontent-length: -0\r\n\r\n${hidden}`,
};

/** What is hidden behind a request that is malformed, or in its body, must not be answered: it would end the connection. */
export const smuggling: Attack = {
  id: "smuggling",
  title:
    "requests hidden in others (Content-Length and Transfer-Encoding against each other, folds, bare line ends)",
  run: async (target, scale, tally) => {
    const { route, body } = seedOf(target, "BeforeClusterDelete");
    const head = `POST ${route.path} HTTP/1.1\r\nhost: localhost\r\n`;
    const hidden = `${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body.toString("latin1")}`;
    const send = async ([name, shape]: readonly [string, Shape]): Promise<void> => {
      const said = await exchange(target, Buffer.from(shape(head, hidden), "latin1"));
      const answers = parseAnswers(said);
      if (answers.length > 1) tally.wrong("invalid", `${name}: ${answers.length} answers`);
      else judgeAll(tally, answers, name);
    };
    await repeated(scale, async () => {
      await Promise.all(Object.entries(SMUGGLING).map(send));
    });
  },
};

const HEADER_FLOODS: Readonly<Record<string, string>> = {
  "16 KiB in one header": `x: ${"x".repeat(16_384)}\r\n`,
  "17 KiB in many headers": "x-1: 1\r\n".repeat(2200),
  "2,000 headers": "x:\r\n".repeat(2000),
  "a MiB of headers": `x: ${"x".repeat(1000)}\r\n`.repeat(1048),
  "names that every object has": "__proto__: 1\r\nconstructor: 1\r\ntostring: 1\r\n".repeat(300),
  "a cookie of 15 KiB": `cookie: ${"a=b; ".repeat(3000)}\r\n`,
};

export const headers: Attack = {
  id: "headers",
  title: "header floods",
  run: async (target, scale, tally) => {
    const { route, body } = seedOf(target, "BeforeClusterDelete");
    const flood = async ([name, lines]: readonly [string, string]): Promise<void> => {
      const head = `POST ${route.path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\nconnection: close\r\n${lines}\r\n`;
      const said = await exchange(target, Buffer.concat([Buffer.from(head), body]));
      judgeAll(tally, parseAnswers(said), name);
    };
    await repeated(scale, async () => {
      await Promise.all(
        Object.entries(HEADER_FLOODS).flatMap((each) => Array.from({ length: 4 }, () => flood(each))),
      );
    });
  },
};

const PIPELINED = 500;

/** The operator gives the answer that is under way, and ends the connection. */
export const pipelining: Attack = {
  id: "pipelining",
  title: `pipelines of ${PIPELINED} requests, and clients that read no answer`,
  run: async (target, scale, tally) => {
    const seeds = target.seeds.filter(({ route }) => route.kind !== "admission");
    const pipeline = Array.from({ length: PIPELINED }, (_, index) => seeds[index % seeds.length]);
    const bytes = Buffer.concat(
      pipeline.map((seed, index) => whole(seed, index === PIPELINED - 1 ? "connection: close\r\n" : "")),
    );
    await repeated(scale, async () => {
      const deaf = dialTls(target);
      deaf.pause();
      deaf.write(bytes);
      const answers = parseAnswers(await exchange(target, bytes));
      for (const [index, answer] of answers.entries()) {
        judge(tally, pipeline[index]?.route, answer, `request ${index} of a pipeline`);
      }
      if (answers.length > 1) tally.wrong("invalid", `${answers.length} answers to a pipeline`);
      if (answers.length < PIPELINED) tally.refusal();
      deaf.destroy();
      await ended(deaf);
    });
  },
};

function whole(seed: Seed | undefined, more = ""): Buffer {
  if (seed === undefined) return Buffer.alloc(0);
  const head = `POST ${seed.route.path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${seed.body.length}\r\n${more}\r\n`;
  return Buffer.concat([Buffer.from(head), seed.body]);
}

const REFUSED_TLS: Readonly<Record<string, ConnectionOptions>> = {
  "TLS 1.0": { minVersion: "TLSv1", maxVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" },
  "TLS 1.1": { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" },
  "no authentication": { maxVersion: "TLSv1.2", ciphers: "aNULL@SECLEVEL=0" },
  "no encryption": { maxVersion: "TLSv1.2", ciphers: "eNULL@SECLEVEL=0" },
  "HTTP/2": { ALPNProtocols: ["h2"] },
};
const NO_TLS: Readonly<Record<string, Buffer>> = {
  "plain HTTP": Buffer.from("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"),
  "SSL 2.0": Buffer.from("802e0100020015000000100100800200800600400700c0", "hex"),
  "a record that is too long": Buffer.concat([Buffer.from("160301ffff", "hex"), Buffer.alloc(65_535, 1)]),
  "half a hello": Buffer.from("16030100c8010000c40303", "hex"),
  "an alert": Buffer.from("15030300020128", "hex"),
  noise: Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 167) % 256)),
};

export const tls: Attack = {
  id: "tls",
  title: "TLS 1.0 and 1.1, ciphers that protect nothing, HTTP/2, and what is no TLS",
  run: async (target, scale, tally) => {
    await repeated(scale, async () => {
      for (const [name, options] of Object.entries(REFUSED_TLS))
        await refusedHandshake(target, [name, options], tally);
      for (const [name, bytes] of Object.entries(NO_TLS)) {
        const socket = dialTcp(target);
        socket.end(bytes);
        const said = await hearOut(socket);
        if (/HTTP/.test(said.toString("latin1"))) tally.wrong("invalid", `${name} was answered`);
        else tally.refusal();
      }
      await renegotiation(target, tally);
    });
  },
};

async function refusedHandshake(
  target: Target,
  [name, options]: readonly [string, ConnectionOptions],
  tally: Tally,
): Promise<void> {
  const socket = dialTls(target, options);
  let shaken = false;
  socket.once("secureConnect", () => (shaken = true));
  socket.end();
  await hearOut(socket);
  if (shaken) tally.wrong("invalid", `${name} was accepted`);
  else tally.refusal();
}

/** Of TLS 1.2: each costs the server a handshake, so that it allows only a few. */
async function renegotiation(target: Target, tally: Tally): Promise<void> {
  const socket = dialTls(target, { maxVersion: "TLSv1.2" });
  await once(socket, "secureConnect");
  const { promise, resolve } = Promise.withResolvers<number>();
  let count = 0;
  const again = (error: Error | null): void => {
    if (error !== null || socket.destroyed || count > 10) return resolve(count);
    count += 1;
    socket.renegotiate({}, again);
  };
  const over = ended(socket);
  again(null);
  const allowed = await Promise.race([promise, over.then(() => count)]);
  socket.destroy();
  await over;
  if (allowed > 10) tally.wrong("invalid", "renegotiation without end");
  else tally.refusal();
}
