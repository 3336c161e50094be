/** `hookpolicy ui` as a user starts it, and its page in a real browser. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { createInterface } from "node:readline";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findBrowser } from "../controlplane/browser.ts";
import { MAIN } from "../unit/cli/program.ts";

export interface Ui {
  readonly url: string;
  readonly stop: () => Promise<number | null>;
}

export async function startUi(kubeconfig: string, ...args: readonly string[]): Promise<Ui> {
  // Without flags, the commands of the page are as users see them.
  const child = spawn(process.execPath, [MAIN, "ui", "--no-open", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, KUBECONFIG: kubeconfig },
  });
  return { url: await firstLine(child), stop: async () => await stop(child) };
}

async function firstLine({ stdout, stderr }: ChildProcess): Promise<string> {
  if (stdout === null || stderr === null) throw new Error("no output");
  let errors = "";
  stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  for await (const line of createInterface(stdout)) return line;
  throw new Error(`hookpolicy ui has ended: ${errors}`);
}

async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
  return child.exitCode;
}

interface Answer {
  readonly code: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** fetch() does not let a caller choose the Host. */
export async function send(
  url: string,
  { method = "GET", headers = {}, body }: RequestOptions = {},
): Promise<Answer> {
  return await new Promise((done, fail) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("close", () => done({ code: response.statusCode, headers: response.headers, body: text }));
    });
    sent.on("error", fail);
    // Who announces a body and is refused does not send it.
    if (headers["content-length"] === undefined) sent.end(body ?? "");
    else sent.flushHeaders();
  });
}

/** Where there is none, it says why: tests of the page are skipped. */
export async function startBrowser(): Promise<{ readonly browser?: Browser; readonly missing?: string }> {
  const found = await findBrowser();
  if ("missing" in found) return found;
  // Chromium's own sandbox does not start as root.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return { browser: await chromium.launch({ executablePath: found.path, args }) };
}

export interface OpenPage {
  readonly page: Page;
  /** What the page has complained about, such as a violation of its policy. */
  readonly complaints: string[];
  /** Every address that it has asked. */
  readonly requests: string[];
}

export async function open(
  browser: Browser | undefined,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  if (browser === undefined) throw new Error("a test of the page is not skipped");
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // of a busy machine
  const [complaints, requests]: [string[], string[]] = [[], []];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (sent) => requests.push(sent.url()));
  await page.goto(url);
  return { page, complaints, requests };
}
