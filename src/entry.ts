#!/usr/bin/env node
/** What the shipped file begins with, in the process and in its thread for reviews, which needs little of the program. */

import { isMainThread } from "node:worker_threads";

if (isMainThread) await import("./main.ts");
else await import("./admission/reviewworker.ts");
