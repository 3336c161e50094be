#!/usr/bin/env node
/**
 * The start of the shipped file, in the process and in its review thread, which needs only a small part of the program.
 */

import { isMainThread } from "node:worker_threads";

if (isMainThread) await import("./main.ts");
else await import("./admission/reviewworker.ts");
