/**
 * The most that Node.js itself can do: an HTTPS server that only reads the body, or reads and parses it. As `review` it
 * refuses every AdmissionReview.
 * node bare-server.ts <port> <folder of tls.crt and tls.key> discard|parse|review
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";

const [port, folder = ".", work = ""] = process.argv.slice(2);

const ANSWER = JSON.stringify({
  apiVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1",
  kind: "BeforeClusterDeleteResponse",
  status: "Success",
  message: 'deletion is blocked until annotation hooks.example.com/ok is "true"',
  retryAfterSeconds: 5,
});

function refusalOf(body: string): string {
  const review: { apiVersion: string; kind: string; request: { uid: string } } = JSON.parse(body);
  const { apiVersion, kind, request } = review;
  const status = { code: 403, message: "refused by the bare server" };
  return JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: false, status } });
}

/** The answer to a body; without one of these the server throws the body away. */
const WORKS: Readonly<Record<string, (body: string) => string>> = {
  parse: (body) => (JSON.parse(body), ANSWER),
  review: refusalOf,
};
const answerTo = WORKS[work];
const cert = readFileSync(join(folder, "tls.crt"));
const key = readFileSync(join(folder, "tls.key"));

createServer({ cert, key }, (request, response) => {
  const chunks: Buffer[] = [];
  if (answerTo === undefined) request.resume();
  else request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.once("end", () => {
    response.setHeader("content-type", "application/json");
    response.end(answerTo?.(Buffer.concat(chunks).toString()) ?? ANSWER);
  });
}).listen(Number(port), "127.0.0.1");
