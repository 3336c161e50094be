/**
 * What Node.js itself can do: an HTTPS server that does nothing but read the body, or read and parse it. As `review` it
 * refuses every AdmissionReview.
 * node bareserver.ts <port> <folder of tls.crt and tls.key> discard|parse|review
 */

import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";

const [port, folder = ".", work] = process.argv.slice(2);

const ANSWER = JSON.stringify({
  apiVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1",
  kind: "BeforeClusterDeleteResponse",
  status: "Success",
  message: 'deletion is blocked until annotation hooks.example.com/ok is "true"',
  retryAfterSeconds: 5,
});

/** What it answers to a body, which it then reads; absent: it throws the body away. */
const WORKS: Readonly<Record<string, (body: string) => string>> = {
  parse: (body) => {
    JSON.parse(body);
    return ANSWER;
  },
  review: (body) => {
    const review: { apiVersion: string; kind: string; request: { uid: string } } = JSON.parse(body);
    const { apiVersion, kind, request } = review;
    const status = { code: 403, message: "refused by the bare server" };
    return JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: false, status } });
  },
};

const answerOf = WORKS[work ?? ""];

function serve(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  if (answerOf === undefined) request.resume();
  else request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.once("end", () => {
    response.setHeader("content-type", "application/json");
    response.end(answerOf?.(Buffer.concat(chunks).toString()) ?? ANSWER);
  });
}

createServer(
  { cert: readFileSync(join(folder, "tls.crt")), key: readFileSync(join(folder, "tls.key")) },
  serve,
).listen(Number(port), "127.0.0.1");
