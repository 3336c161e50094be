/** Mutated requests, as many at a time as a few connections take. */

import { Agent, request as post } from "node:https";
import { buffer } from "node:stream/consumers";
import type { Attack, Scale } from "./attack.ts";
import type { Tally } from "./tally.ts";
import { type Mutant, mutants, type Request } from "./mutants.ts";
import { portOf, type Target } from "./target.ts";
import { type HttpAnswer, judge } from "./verdict.ts";
import { exchange, parseAnswers } from "./wire.ts";

const AT_A_TIME = 16;
const TIMEOUT_MS = 40_000;

export const flood: Attack = {
  id: "mutated",
  title: "mutated requests, 16 at a time without a pause",
  run: async (target, { seed, mutants: count }: Scale, tally) => {
    const agent = new Agent({
      ca: target.ca,
      servername: "localhost",
      keepAlive: true,
      maxSockets: AT_A_TIME,
    });
    const source = mutants(target, seed, count);
    const worker = async (): Promise<void> => {
      for (const mutant of source) await send(mutant, { target, agent, tally, seed });
    };
    try {
      await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    } finally {
      agent.destroy();
    }
  },
};

interface Sending {
  readonly target: Target;
  readonly agent: Agent;
  readonly tally: Tally;
  readonly seed: number;
}

async function send(
  { index, route, request }: Mutant,
  { target, agent, tally, seed }: Sending,
): Promise<void> {
  const name = `mutant ${index} of seed ${seed} on ${route?.path ?? "another path"}`;
  try {
    if (request.form === "whole")
      judge(tally, route, await call(portOf(target, route), agent, request), name);
    else {
      const said = await exchange({ ...target, port: portOf(target, route) }, request.bytes, {
        last: true,
      });
      judgeAll(tally, parseAnswers(said, { bodies: !isHead(request.bytes) }), name);
    }
  } catch (error) {
    tally.wrong("invalid", `${name}: ${String(error)}`);
  }
}

/** Whatever the head has become, an answer is one; none is a refusal, too. */
export function judgeAll(tally: Tally, answers: readonly HttpAnswer[], name: string): void {
  if (answers.length === 0) tally.refusal();
  for (const answer of answers) judge(tally, undefined, answer, name);
}

async function call(
  port: number,
  agent: Agent,
  { method, path, headers, body }: Request & { readonly form: "whole" },
): Promise<HttpAnswer> {
  const length = "transfer-encoding" in headers ? {} : { "content-length": body.length };
  return await new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, method, path, agent, headers: { ...length, ...headers } };
    const outgoing = post({ ...options, timeout: TIMEOUT_MS }, (response) => {
      const status = response.statusCode ?? 0;
      buffer(response).then((bytes) => resolve({ status, text: bytes.toString() }), reject);
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer")));
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

function isHead(bytes: Buffer): boolean {
  return bytes.subarray(0, 5).toString("latin1") === "HEAD ";
}
