/** Ports for child processes, which no other process that asks here gets at the same time. */

import { createServer, type Server } from "node:net";

/** The port a listening server was given. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server listens on no port");
  return address.port;
}

/**
 * Below what the kernel gives to connections that go out (Linux: from 32768): one of those would take a port again. Above
 * 10080, the highest of the ports to which fetch() refuses to connect (WHATWG Fetch, "bad port").
 */
const PORTS = { from: 10_240, to: 32_767 };
const BLOCK = 64;
const BLOCKS = Math.floor((PORTS.to + 1 - PORTS.from) / BLOCK);

/** Of this process, and not given away yet. */
const own: number[] = [];
/** They run one after the other: two at a time could be given the same port. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Ports that are free, all different, and never given twice: what a test has stopped, it may start again. Between this
 * and their use they cannot be taken by another test process, because each process has blocks of its own.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = last.then(async () => await take(count));
  last = ports.catch(() => undefined);
  return await ports;
}

async function take(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = own.shift();
    if (port === undefined) own.push(...(await claimBlock()));
    // What a killed test has left behind may still listen in a block that was its own.
    else if (await isFree(port)) ports.push(port);
  }
  return ports;
}

/**
 * Listens on the block's first port for as long as this process lives: no two processes can, and the kernel ends it
 * with the process, however that one ends.
 */
async function claimBlock(): Promise<readonly number[]> {
  for (let tried = 0; tried < BLOCKS; tried += 1) {
    const first = PORTS.from + ((process.pid + tried) % BLOCKS) * BLOCK;
    const server = createServer((socket) => socket.destroy());
    if (!(await listens(server, first))) continue;
    server.unref();
    return Array.from({ length: BLOCK - 1 }, (_, index) => first + 1 + index);
  }
  throw new Error(`other processes have all ports from ${PORTS.from} to ${PORTS.to}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  if (!(await listens(server, port))) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

async function listens(server: Server, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
  });
}
