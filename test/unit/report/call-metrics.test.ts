import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";

import { CallMetrics } from "../../../src/report/call-metrics.ts";
import { makers } from "../../../src/report/metric-makers.ts";

const BOUNDS = [0.001, 0.01, 0.1];

/** The lines of the histogram without its comments. */
function durations(calls: CallMetrics): readonly string[] {
  return calls
    .text()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

test("calls are counted by hook and verdict, and a count can start before the first call", async () => {
  const registry = new Registry();
  const calls = new CallMetrics(makers(registry), BOUNDS);
  calls.startAtZero("BeforeClusterDelete", "NotLoaded");
  calls.answered("BeforeClusterDelete", "Blocked", 0.001);
  calls.answered("BeforeClusterDelete", "Blocked", 0.001);
  calls.answered("BeforeClusterUpgrade", "Allowed", 0.001);
  const lines = [
    "# HELP hookpolicy_hook_calls_total Hook calls answered, by verdict.",
    "# TYPE hookpolicy_hook_calls_total counter",
    'hookpolicy_hook_calls_total{hook="BeforeClusterDelete",verdict="NotLoaded"} 0',
    'hookpolicy_hook_calls_total{hook="BeforeClusterDelete",verdict="Blocked"} 2',
    'hookpolicy_hook_calls_total{hook="BeforeClusterUpgrade",verdict="Allowed"} 1',
    "",
  ];
  const text = lines.join("\n");
  assert.equal(await registry.metrics(), text);
  assert.equal(await registry.metrics(), text, "a scrape changes nothing");
});

test("each bucket counts the calls that took at most as long as its bound", () => {
  const calls = new CallMetrics(makers(new Registry()), BOUNDS);
  for (const seconds of [0.0005, 0.001, 0.0625, 4]) calls.answered("BeforeClusterDelete", "Blocked", seconds);
  const name = "hookpolicy_hook_call_duration_seconds";
  assert.deepEqual(durations(calls), [
    `${name}_bucket{le="0.001",hook="BeforeClusterDelete"} 2`,
    `${name}_bucket{le="0.01",hook="BeforeClusterDelete"} 2`,
    `${name}_bucket{le="0.1",hook="BeforeClusterDelete"} 3`,
    `${name}_bucket{le="+Inf",hook="BeforeClusterDelete"} 4`,
    `${name}_sum{hook="BeforeClusterDelete"} 4.064`,
    `${name}_count{hook="BeforeClusterDelete"} 4`,
  ]);
});

test("a hook that was not called has no durations, but the histogram is described", () => {
  const calls = new CallMetrics(makers(new Registry()), BOUNDS);
  calls.startAtZero("BeforeClusterDelete", "NotLoaded");
  assert.deepEqual(durations(calls), []);
  assert.match(calls.text(), /^# HELP hookpolicy_hook_call_duration_seconds .+\n# TYPE \S+ histogram\n$/);
});
