import assert from "node:assert/strict";
import { test } from "node:test";

import { formatAddress, isHost, parseAddress } from "../../../src/server/address.ts";

const ACCEPTED = {
  ":9440": { port: 9440 },
  ":0": { port: 0 },
  "127.0.0.1:9440": { host: "127.0.0.1", port: 9440 },
  "[::1]:9440": { host: "::1", port: 9440 },
  "localhost:80": { host: "localhost", port: 80 },
} as const;
for (const [text, address] of Object.entries(ACCEPTED)) {
  test(`${text} is an address and is written the same way`, () => {
    assert.deepEqual(parseAddress(text), address);
    assert.equal(formatAddress(address), text);
  });
}

for (const text of [
  "",
  "9440",
  ":",
  ":65536",
  ":-1",
  ":x",
  "::1:9440",
  "[::1]",
  "[x]:1",
  "a b:1",
  "1.2.3:80",
  ":1:2",
]) {
  test(`${JSON.stringify(text)} is no address`, () => {
    assert.equal(parseAddress(text), undefined);
  });
}

test("hosts are names and IP addresses", () => {
  for (const good of ["::", "10.0.0.1", "webhook.svc", "a-b"]) assert.ok(isHost(good), good);
  for (const bad of ["", "1.2.3", "-a", "a_b", "a b", "[::1]", "a:1"]) assert.ok(!isHost(bad), bad);
});
