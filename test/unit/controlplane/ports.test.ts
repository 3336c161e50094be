import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { freePorts } from "../../controlplane/ports.ts";

const run = promisify(execFile);
const MODULE = join(import.meta.dirname, "../../controlplane/ports.ts");

/** What another process gets that would begin its search where this one did. */
async function portsOfAnother(count: number): Promise<number[]> {
  const script = `
    Object.defineProperty(process, "pid", { value: ${process.pid} });
    const { freePorts } = await import(${JSON.stringify(MODULE)});
    console.log(JSON.stringify(await freePorts(${count})));
  `;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script]);
  return JSON.parse(stdout) as number[];
}

test("no other process is given the ports of this one, though nothing listens on them yet", async () => {
  const ours = await freePorts(8);
  const theirs = await portsOfAnother(100);
  assert.equal(new Set([...ours, ...theirs]).size, 108);
});

test("no port is given twice, however many are asked for at the same time", async () => {
  const ports = (await Promise.all([freePorts(70), freePorts(1), freePorts(70)])).flat();
  assert.equal(new Set(ports).size, 141);
});

test("a port that something listens on is left out", async () => {
  const [first = 0] = await freePorts(1);
  const server = createServer().listen(first + 1, "127.0.0.1");
  await once(server, "listening");
  assert.ok(!(await freePorts(100)).includes(first + 1));
  server.close();
});
