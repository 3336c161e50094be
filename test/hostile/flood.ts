/** Mutated requests, as many at a time as a few connections take. */

import type { Agent } from "node:https";
import { post } from "../controlplane/post.ts";
import { type Attack, repeated } from "./attack.ts";
import type { Tally } from "./tally.ts";
import { type Mutant, mutants } from "./mutants.ts";
import { portOf, type Target } from "./target.ts";
import { type HttpAnswer, judge } from "./verdict.ts";
import { AT_A_TIME, attackingAgent, exchange, parseAnswers } from "./wire.ts";

const TIMEOUT_MS = 40_000;

export const flood: Attack = {
  id: "mutated",
  title: "mutated requests, 16 at a time without a pause",
  run: async (target, scale, tally) => {
    const { seed, mutants: count } = scale;
    const agent = attackingAgent(target);
    try {
      await repeated(scale, async () => {
        const source = mutants(target, seed, count);
        const worker = async (): Promise<void> => {
          for (const mutant of source) await send(mutant, { target, agent, tally, seed });
        };
        await Promise.all(Array.from({ length: AT_A_TIME }, worker));
      });
    } finally {
      agent.destroy();
    }
  },
};

interface SendOptions {
  readonly target: Target;
  readonly agent: Agent;
  readonly tally: Tally;
  readonly seed: number;
}

async function send(
  { index, route, request }: Mutant,
  { target, agent, tally, seed }: SendOptions,
): Promise<void> {
  const name = `mutant ${index} of seed ${seed} on ${route?.path ?? "another path"}`;
  try {
    const port = portOf(target, route);
    if (request.form === "whole") {
      const { form: _, headers, ...rest } = request;
      const length = "transfer-encoding" in headers ? {} : { "content-length": rest.body.length };
      const answer = await post({
        port,
        agent,
        ...rest,
        headers: { ...length, ...headers },
        timeoutMs: TIMEOUT_MS,
      });
      judge(tally, route, answer, name);
    } else {
      const said = await exchange({ ...target, port }, request.bytes, {
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

function isHead(bytes: Buffer): boolean {
  return bytes.subarray(0, 5).toString("latin1") === "HEAD ";
}
