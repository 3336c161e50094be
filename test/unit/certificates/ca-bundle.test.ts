import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mock, type TestContext, test } from "node:test";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { CaBundleKeeper } from "../../../src/certificates/ca-bundle.ts";
import type { CertificateSettings } from "../../../src/certificates/settings.ts";
import { authoritiesIn } from "../../../src/certificates/serving-files.ts";
import type { KubeClient } from "../../../src/kube/kube-client.ts";
import { createCertificateAuthority } from "../../controlplane/certificates.ts";
import { MemoryLogger, scratch, until } from "../kube/fixtures.ts";
import { worldOf } from "./own-certificates-lab.ts";

interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly caBundle?: string; readonly service?: object };
}

interface Lab {
  readonly keeper: CaBundleKeeper;
  readonly log: MemoryLogger;
  readonly patches: (readonly Webhook[])[];
  reads: number;
  /** Absent: there is no such object. */
  webhooks: readonly Webhook[] | undefined;
  annotations: Readonly<Record<string, string>>;
  leading: boolean;
  /** What reads fail with. */
  failure: KubeError | undefined;
  /** What patches fail with. */
  refusal: KubeError | undefined;
  readonly file: string;
  readonly look: () => Promise<void>;
  readonly bundles: () => (string | undefined)[];
}

const NOW = new Date("2026-11-21T12:00:00Z");
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const bundleOf = (pem: string): string => Buffer.from(pem).toString("base64");

/** PEM of an authority that is valid for a day from an hour before then. */
async function authorityOf(at: Date): Promise<string> {
  mock.timers.enable({ apis: ["Date"], now: at });
  try {
    return (await createCertificateAuthority()).certificate;
  } finally {
    mock.timers.reset();
  }
}

const after = (ms: number): Date => new Date(NOW.getTime() + ms);

function clientOf(lab: Lab): Pick<KubeClient, "get" | "mergePatch"> {
  return {
    get: async ({ plural }, { name }) => {
      lab.reads += 1;
      assert.deepEqual([plural, name], ["validatingwebhookconfigurations", "hookpolicy"]);
      if (lab.failure !== undefined) throw lab.failure;
      if (lab.webhooks === undefined) throw new KubeError("gone", { code: 404, reason: "NotFound" });
      const metadata = { name, uid: "u", resourceVersion: "7", annotations: lab.annotations };
      const object: KubeObject & { readonly webhooks: unknown } = { metadata, webhooks: lab.webhooks };
      return object;
    },
    mergePatch: async (_, { name }, patch) => {
      if (lab.refusal !== undefined) throw lab.refusal;
      const { metadata, webhooks } = patch as { readonly metadata: unknown; readonly webhooks: Webhook[] };
      assert.deepEqual(metadata, { uid: "u", resourceVersion: "7" });
      lab.patches.push(webhooks);
      lab.webhooks = webhooks;
      return { metadata: { name, uid: "u", resourceVersion: "8" } };
    },
  };
}

function labOf(t: TestContext, certManagement: CertificateSettings["certManagement"] = "Files"): Lab {
  const dir = scratch(t);
  const log = new MemoryLogger();
  const world = worldOf({
    settings: { certManagement },
    leading: () => lab.leading,
    log,
    now: () => NOW,
    client: {
      get: async (...args) => await clientOf(lab).get(...args),
      mergePatch: async (...args) => await clientOf(lab).mergePatch(...args),
    },
  });
  const lab: Lab = {
    log,
    patches: [],
    reads: 0,
    webhooks: [{ name: "policies", clientConfig: {} }],
    annotations: {},
    leading: true,
    failure: undefined,
    refusal: undefined,
    file: join(dir, "ca.crt"),
    look: async () => await lab.keeper.look(new AbortController().signal),
    bundles: () => (lab.webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle),
    keeper: new CaBundleKeeper({ ...world, webhooks: ["hookpolicy"] }, async () => await authoritiesIn(dir)),
  };
  return lab;
}

/** The file has an authority that was issued now. */
async function withAuthority(t: TestContext): Promise<{ readonly lab: Lab; readonly pem: string }> {
  const lab = labOf(t);
  const pem = await authorityOf(NOW);
  await writeFile(lab.file, pem);
  return { lab, pem };
}

test("writes the authority where it is missing, once, and nothing at rest", async (t) => {
  const { lab, pem } = await withAuthority(t);
  for (let look = 0; look < 20; look++) await lab.look();
  assert.deepEqual(lab.bundles(), [bundleOf(pem)]);
  assert.equal(lab.patches.length, 1);
  assert.deepEqual(lab.log.messages("info"), ["Wrote the certificate authority of the serving certificate"]);
});

test("an object that comes later, and an authority that is renewed, are written at the next look", async (t) => {
  const { lab, pem } = await withAuthority(t);
  const { webhooks } = lab;
  lab.webhooks = undefined;
  await lab.look();
  lab.webhooks = webhooks;
  await lab.look();
  assert.deepEqual(lab.bundles(), [bundleOf(pem)]);
  const renewed = await authorityOf(after(HOUR_MS));
  await writeFile(lab.file, renewed);
  await lab.look();
  assert.deepEqual(lab.bundles(), [bundleOf(renewed)]);
});

test("a caBundle that another client has overwritten is restored", async (t) => {
  const { lab, pem } = await withAuthority(t);
  for (const other of ["", bundleOf("nonsense"), bundleOf(await authorityOf(after(-HOUR_MS)))]) {
    lab.webhooks = [{ name: "policies", clientConfig: { caBundle: other } }];
    await lab.look();
    assert.deepEqual(lab.bundles(), [bundleOf(pem)]);
  }
  assert.equal(lab.patches.length, 3);
});

test("the same certificates in other bytes are the same", async (t) => {
  const { lab, pem } = await withAuthority(t);
  lab.webhooks = [{ name: "policies", clientConfig: { caBundle: bundleOf(`# CA\n${pem}\n\n`) } }];
  await lab.look();
  assert.deepEqual(lab.patches, []);
});

test("only the webhooks that have another one are touched", async (t) => {
  const { lab, pem } = await withAuthority(t);
  const current = { name: "a", clientConfig: { caBundle: bundleOf(`# CA\n${pem}`) } };
  const service = { namespace: "hookpolicy-system", name: "hookpolicy" };
  const missing = { name: "b", clientConfig: { service }, failurePolicy: "Fail" };
  lab.webhooks = [current, missing];
  await lab.look();
  const clientConfig = { service, caBundle: bundleOf(pem) };
  assert.deepEqual(lab.patches[0], [current, { ...missing, clientConfig }]);
});

test("a replica whose file lags behind does not put back the old authority, unless the new one has ended", async (t) => {
  const lab = labOf(t);
  const [older, newer] = [await authorityOf(after(-HOUR_MS)), await authorityOf(NOW)];
  await writeFile(lab.file, older);
  lab.webhooks = [{ name: "policies", clientConfig: { caBundle: bundleOf(newer) } }];
  await lab.look();
  assert.deepEqual(lab.patches, []);
  const ended = await authorityOf(after(-DAY_MS));
  await writeFile(lab.file, await authorityOf(after(-3 * DAY_MS)));
  lab.webhooks = [{ name: "policies", clientConfig: { caBundle: bundleOf(ended) } }];
  await lab.look();
  assert.equal(lab.patches.length, 1);
});

test("an authority that a clock which was ahead has issued is not the newest", async (t) => {
  const lab = labOf(t);
  const [own, ahead] = [await authorityOf(NOW), await authorityOf(after(DAY_MS))];
  await writeFile(lab.file, own);
  lab.webhooks = [{ name: "policies", clientConfig: { caBundle: bundleOf(ahead + own) } }];
  await lab.look();
  assert.deepEqual(lab.bundles(), [bundleOf(own)]);
});

test("authorities that do not lag behind are written where one is missing, as after a restored backup", async (t) => {
  const lab = labOf(t, "Self");
  const [older, newer] = [await authorityOf(after(-HOUR_MS)), await authorityOf(NOW)];
  await writeFile(lab.file, older);
  lab.webhooks = [
    { name: "policies", clientConfig: { caBundle: bundleOf(newer) } },
    { name: "overrides", clientConfig: { caBundle: bundleOf(newer + older) } },
  ];
  await lab.look();
  assert.deepEqual(lab.bundles(), [bundleOf(older), bundleOf(newer + older)]);
});

test("what cert-manager injects is left to it", async (t) => {
  const lab = labOf(t);
  await writeFile(lab.file, await authorityOf(NOW));
  lab.annotations = { "cert-manager.io/inject-ca-from": "hookpolicy-system/hookpolicy-webhook-service-cert" };
  await lab.look();
  assert.deepEqual([lab.reads, lab.patches], [1, []]);
});

test("without a file or without the object there is nothing to do, and nothing to say", async (t) => {
  const lab = labOf(t);
  await lab.look();
  assert.equal(lab.reads, 0);
  await writeFile(lab.file, await authorityOf(NOW));
  const { webhooks } = lab;
  lab.webhooks = undefined;
  await lab.look();
  assert.deepEqual(lab.log.lines, []);
  lab.webhooks = webhooks;
  for (let look = 0; look < 3; look++) await lab.look();
  assert.equal(lab.patches.length, 1, "it is seen when it comes");
  await rm(lab.file);
  await lab.look();
});

test("a file that holds no certificate is never written, and said once", async (t) => {
  const lab = labOf(t);
  for (const content of ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]) {
    await writeFile(lab.file, content);
    await lab.look();
  }
  assert.deepEqual([lab.reads, lab.patches], [0, []]);
  assert.equal(lab.log.messages("warn").length, 1);
  await rm(lab.file);
  await mkdir(lab.file);
  await lab.look();
  assert.equal(lab.log.messages("warn").length, 2, "a file that cannot be read is another matter");
});

test("a failure is tried again at the next look; the same one is one warning", async (t) => {
  const { lab, pem } = await withAuthority(t);
  lab.refusal = new KubeError("forbidden", { code: 403, reason: "Forbidden" });
  for (let look = 0; look < 5; look++) await lab.look();
  assert.equal(lab.reads, 5);
  assert.deepEqual(lab.log.messages("warn"), ["Cannot keep the caBundle of webhooks current"]);
  lab.refusal = new KubeError("conflict", { code: 409, reason: "Conflict" });
  await lab.look();
  assert.equal(lab.log.messages("warn").length, 1, "another replica was quicker");
  lab.refusal = undefined;
  await lab.look();
  assert.deepEqual(lab.bundles(), [bundleOf(pem)]);
});

test("only the leader writes, and who becomes it looks again", async (t) => {
  const { lab, pem } = await withAuthority(t);
  lab.leading = false;
  await lab.look();
  assert.deepEqual([lab.reads, lab.patches], [0, []]);
  lab.leading = true;
  await lab.look();
  assert.equal(lab.patches.length, 1);
  lab.leading = false;
  await lab.look();
  lab.webhooks = [{ name: "policies", clientConfig: {} }];
  lab.leading = true;
  await lab.look();
  assert.deepEqual(lab.bundles(), [bundleOf(pem)]);
});

test("runs until it is stopped", async (t) => {
  const lab = labOf(t);
  await writeFile(lab.file, await authorityOf(NOW));
  const stop = new AbortController();
  const done = lab.keeper.run(stop.signal);
  await until("the authority is written", () => lab.patches.length === 1);
  stop.abort();
  await done;
});
