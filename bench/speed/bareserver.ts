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

function answer(response: ServerResponse): void {
  response.setHeader("content-type", "application/json");
  response.end(ANSWER);
}

function discard(request: IncomingMessage, response: ServerResponse): void {
  request.resume().once("end", () => answer(response));
}

function parse(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.once("end", () => {
    JSON.parse(Buffer.concat(chunks).toString());
    answer(response);
  });
}

function review(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.once("end", () => {
    const body: { apiVersion: string; kind: string; request: { uid: string } } = JSON.parse(
      Buffer.concat(chunks).toString(),
    );
    const { apiVersion, kind } = body;
    const status = { code: 403, message: "refused by the bare server" };
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ apiVersion, kind, response: { uid: body.request.uid, allowed: false, status } }),
    );
  });
}

const WORKS: Readonly<Record<string, typeof discard>> = { parse, review };

createServer(
  { cert: readFileSync(join(folder, "tls.crt")), key: readFileSync(join(folder, "tls.key")) },
  WORKS[work ?? ""] ?? discard,
).listen(Number(port), "127.0.0.1");
