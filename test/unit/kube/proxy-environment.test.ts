/** As golang.org/x/net/http/httpproxy, whose table (proxy_test.go, UseProxyTests) these are like. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { proxyOf } from "../../../src/kube/proxy-environment.ts";

const PROXY = "http://proxy:3128";

const cases: readonly [server: string, env: Record<string, string>, expected: string | undefined][] = [
  ["https://host:6443", {}, undefined],
  ["https://host:6443", { HTTPS_PROXY: PROXY }, PROXY],
  ["https://host:6443", { https_proxy: PROXY }, PROXY],
  ["https://host:6443", { HTTPS_PROXY: PROXY, https_proxy: "http://other" }, PROXY],
  ["https://host:6443", { HTTP_PROXY: PROXY }, undefined],
  ["http://host:8080", { HTTP_PROXY: PROXY }, PROXY],
  ["https://host:6443", { HTTPS_PROXY: "proxy:3128" }, PROXY],
  ["https://host:6443", { HTTPS_PROXY: "socks5://proxy:1080" }, "socks5://proxy:1080"],
  ["https://127.0.0.1:6443", { HTTPS_PROXY: PROXY }, undefined],
  ["https://[::1]:6443", { HTTPS_PROXY: PROXY }, undefined],
  ["https://localhost:6443", { HTTPS_PROXY: PROXY }, undefined],
];

const exceptions: readonly [noProxy: string, server: string, isUsed: boolean][] = [
  ["*", "https://host", false],
  ["example.com", "https://example.com:6443", false],
  ["example.com", "https://api.example.com", false],
  ["example.com", "https://notexample.com", true],
  [".example.com", "https://example.com", true],
  [".example.com", "https://API.Example.com", false],
  ["*.example.com", "https://api.example.com", false],
  ["*.example.com", "https://example.com", true],
  ["example.com:6443", "https://example.com:6443", false],
  ["example.com:6443", "https://example.com", true],
  ["example.com:443", "https://example.com", false],
  ["other, 10.0.0.0/8", "https://10.1.2.3:6443", false],
  ["10.0.0.0/8", "https://11.0.0.1", true],
  ["10.0.0.0/8", "https://ten.example.com", true],
  ["10.0.0.1", "https://10.0.0.1:6443", false],
  ["10.0.0.1:80", "https://10.0.0.1:6443", true],
  ["fd00::/8", "https://[fd00::1]:6443", false],
  ["fd00::1", "https://[fd00::1]:6443", false],
  ["[fd00::1]:6443", "https://[fd00::1]:6443", false],
  ["10.0.0.0/99,/8,:,[", "https://10.0.0.1", true],
  ["", "https://host", true],
];

describe("the proxy of the environment", () => {
  for (const [server, env, expected] of cases)
    test(`for ${server} with ${JSON.stringify(env)} is ${expected ?? "none"}`, () => {
      assert.equal(proxyOf(new URL(server), env), expected);
    });
  for (const [noProxy, server, isUsed] of exceptions)
    test(`is ${isUsed ? "used" : "not used"} for ${server} with NO_PROXY=${noProxy}`, () => {
      const env = { HTTPS_PROXY: PROXY, no_proxy: noProxy };
      assert.equal(proxyOf(new URL(server), env), isUsed ? PROXY : undefined);
    });
});
