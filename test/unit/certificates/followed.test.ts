import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { errorText } from "../../../src/lib/thrown.ts";
import type { KeyPair } from "../../../src/server/tls-server.ts";
import { Followed, type FollowedOptions } from "../../../src/certificates/followed.ts";
import type { CheckedPair } from "../../../src/certificates/pem.ts";
import { readServingPair } from "../../../src/certificates/serving-files.ts";
import { issue } from "../server/certificates.ts";
import { SIGNAL } from "./own-certificates-lab.ts";
import { createRecorder } from "../server/recorder.ts";

const [first, second, expired] = await Promise.all([
  issue("first"),
  issue("second"),
  issue("expired", { notBefore: new Date("2020-01-01"), notAfter: new Date("2020-02-01T00:00:00Z") }),
]);

async function folder(t: TestContext, pair: Partial<KeyPair>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "certwatcher-"));
  t.after(() => rm(dir, { recursive: true }));
  await write(dir, pair);
  return dir;
}

async function write(dir: string, { cert, key }: Partial<KeyPair>): Promise<void> {
  if (cert !== undefined) await replace(join(dir, "tls.crt"), cert);
  if (key !== undefined) await replace(join(dir, "tls.key"), key);
}

/** At once, so that no poll sees half of it. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

function watcherOf(dir: string, more: Partial<FollowedOptions<CheckedPair>> = {}) {
  const log = createRecorder();
  const changes: KeyPair[] = [];
  const files = { webhookCertDir: dir, webhookCertName: "tls.crt", webhookKeyName: "tls.key" };
  const watcher = new Followed<CheckedPair>({
    what: "serving certificate",
    read: async () => await readServingPair(files, new Date()),
    log,
    onChange: ({ cert, key }) => changes.push({ cert, key }),
    ...more,
  });
  return { watcher, log, changes };
}

test("load gives the pair and knows when it ends", async (t) => {
  const { watcher, log } = watcherOf(await folder(t, first));
  assert.equal(watcher.current, undefined);
  const { cert, key } = await watcher.load(SIGNAL);
  assert.deepEqual({ cert, key }, first);
  assert.ok(watcher.current!.notAfter > new Date());
  assert.deepEqual(
    log.entries.map(({ level }) => level),
    ["info"],
  );
});

const REFUSED: Record<string, { pair: Partial<KeyPair>; says: RegExp }> = {
  "no certificate file": {
    pair: { key: first.key },
    says: /^cannot read \S+tls\.crt \(--webhook-cert-name in --webhook-cert-dir\): ENOENT/,
  },
  "no key file": {
    pair: { cert: first.cert },
    says: /^cannot read \S+tls\.key \(--webhook-key-name in --webhook-cert-dir\): ENOENT/,
  },
  "an empty certificate": { pair: { ...first, cert: "" }, says: /: the certificate is not PEM$/ },
  "a cut certificate": {
    pair: { ...first, cert: first.cert.slice(0, 200) },
    says: /: the certificate is not valid PEM/,
  },
  "a key that is no PEM": { pair: { ...first, key: "secret" }, says: /: the private key is not PEM$/ },
  "a cut key": {
    pair: { ...first, key: first.key.slice(0, 90) },
    says: /: the private key is not valid PEM/,
  },
  "an encrypted key": {
    pair: { ...first, key: first.key.replace("PRIVATE", "ENCRYPTED PRIVATE") },
    says: /: the private key is not valid PEM/,
  },
  "another certificate's key": {
    pair: { ...first, key: second.key },
    says: /: the private key does not match the certificate$/,
  },
  "an expired certificate": {
    pair: expired,
    says: /: the certificate expired at 2020-02-01T00:00:00\.000Z$/,
  },
  "a broken chain": {
    pair: {
      ...first,
      cert: `${first.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    },
    says: /: TLS refuses the certificate/,
  },
};
for (const [name, { pair, says }] of Object.entries(REFUSED)) {
  test(`load refuses ${name} with one line that does not quote the files`, async (t) => {
    const { watcher } = watcherOf(await folder(t, pair));
    await assert.rejects(watcher.load(SIGNAL), (error) => {
      const text = errorText(error);
      assert.match(text, says);
      assert.doesNotMatch(text, /\n|secret|BEGIN/);
      return true;
    });
  });
}

test("load tells that a file cannot be read", async (t) => {
  const dir = await folder(t, { key: first.key });
  await mkdir(join(dir, "tls.crt"));
  await assert.rejects(watcherOf(dir).watcher.load(SIGNAL), { message: /^cannot read \S+tls\.crt \(/ });
});

test("a changed pair is handed over once, as a Secret mount swaps it", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "certwatcher-"));
  t.after(() => rm(dir, { recursive: true }));
  for (const [name, pair] of [["..1", first] as const, ["..2", second] as const]) {
    await mkdir(join(dir, name));
    await write(join(dir, name), pair);
  }
  await symlink("..1", join(dir, "..data"));
  await symlink("..data/tls.crt", join(dir, "tls.crt"));
  await symlink("..data/tls.key", join(dir, "tls.key"));
  const { watcher, log, changes } = watcherOf(dir);
  await watcher.load(SIGNAL);
  await symlink("..2", join(dir, "..data_tmp"));
  await rename(join(dir, "..data_tmp"), join(dir, "..data"));
  await watcher.look(SIGNAL);
  await watcher.look(SIGNAL);
  assert.deepEqual(changes, [second]);
  assert.match(log.entries.at(-1)!.message, /Changed/);
});

test("a bad pair keeps the old one, warns once, and heals when the other half arrives", async (t) => {
  const dir = await folder(t, first);
  const { watcher, log, changes } = watcherOf(dir);
  await watcher.load(SIGNAL);
  const kept = watcher.current;
  await write(dir, { cert: second.cert });
  await watcher.look(SIGNAL);
  assert.equal(watcher.current, kept);
  assert.deepEqual(changes, []);
  await write(dir, { key: second.key });
  await watcher.look(SIGNAL);
  assert.deepEqual(changes, [second]);
  const warnings = log.entries.filter(({ level }) => level === "warn");
  assert.equal(warnings.length, 1);
  assert.match(errorText(warnings[0]!.fields["error"]), /does not match the certificate/);
});

test("the same bad content is reported once, other bad content again", async (t) => {
  const dir = await folder(t, first);
  const { watcher, log } = watcherOf(dir);
  await watcher.load(SIGNAL);
  const warnings = () => log.entries.filter(({ level }) => level === "warn").length;
  await write(dir, { key: "one" });
  await watcher.look(SIGNAL);
  assert.equal(warnings(), 1);
  await watcher.look(SIGNAL);
  assert.equal(warnings(), 1);
  await rm(join(dir, "tls.key"));
  await watcher.look(SIGNAL);
  assert.equal(warnings(), 2);
});

test("a pair that the server refuses counts as bad", async (t) => {
  const dir = await folder(t, first);
  const { watcher, log } = watcherOf(dir, {
    onChange: () => {
      throw new Error("refused");
    },
  });
  await watcher.load(SIGNAL);
  const kept = watcher.current;
  await write(dir, second);
  await watcher.look(SIGNAL);
  assert.ok(log.entries.some(({ level }) => level === "warn"));
  assert.equal(watcher.current, kept);
});
