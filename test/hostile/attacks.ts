/** All of them, in the order in which they are made. */

import type { Attack } from "./attack.ts";
import { dense, json, oversized } from "./bodies.ts";
import { idlers } from "./connections.ts";
import { flood } from "./flood.ts";
import { policies } from "./policies.ts";
import { headers, pipelining, smuggling, tls } from "./shapes.ts";
import { strangers } from "./strangers.ts";

export const ATTACKS: readonly Attack[] = [
  flood,
  json,
  oversized,
  dense,
  idlers,
  headers,
  smuggling,
  pipelining,
  tls,
  strangers,
  policies,
];
