import assert from "node:assert/strict";
import test from "node:test";
import { LiveFeed } from "../../../../src/cli/ui/live-feed.ts";
import { servePage } from "../../../../src/cli/ui/page-server.ts";
import type { LiveState } from "../../../../src/page/wire.ts";

const STATE: LiveState = { rows: [], notes: ["a"], unread: [], rollouts: [] };

test("a page's stream has a comment for a state that has not changed, so that nothing on the way takes it for dead", async (t) => {
  const feed = new LiveFeed();
  const { url, close } = await servePage({
    port: 0,
    token: "token",
    files: { script: "", style: "" },
    feed,
    answers: {},
    simulate: async () => await Promise.resolve({}),
  });
  t.after(close);
  const { body } = await fetch(`${url}events`, { signal: AbortSignal.timeout(5000) });
  assert.ok(body !== null);
  feed.tell(STATE);
  feed.tell(STATE);
  const expected = `retry: 1000\n\ndata: ${JSON.stringify(STATE)}\n\n:\n\n`;
  let read = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    read += text;
    if (read.length >= expected.length) break;
  }
  assert.equal(read, expected);
});
