/** Who gets the metrics of the real operator: tokens, certificates, and plain HTTP. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, test } from "node:test";
import { connect } from "node:tls";
import {
  issueServingCertificate,
  scrapeSecurely,
  writeServingCertificate,
} from "../../controlplane/operator.ts";
import { READER, SECURE, startMonitored, STRANGER, tokenOf } from "./accounts.ts";

const lab = await startMonitored();
after(async () => await lab.stop());
const { cp } = lab;
await lab.start({ flags: SECURE });

describe("a scrape", () => {
  const scrape = async (token?: string): ReturnType<typeof scrapeSecurely> =>
    await scrapeSecurely(lab.operator.ports, cp.authority.certificate, token);

  test("a token is needed, of a ServiceAccount with the role, and is never in the log", async () => {
    const none = await scrape();
    assert.equal(none.response.statusCode, 401);
    assert.equal(none.response.headers["www-authenticate"], 'Bearer realm="hookpolicy"');
    const reader = await tokenOf(cp, READER);
    const forged = `${reader.slice(0, -8)}AAAAAAAA`;
    const wrong = await scrape(forged);
    assert.deepEqual(
      [wrong.response.statusCode, wrong.body],
      [401, "unauthorized: the API server does not accept the token\n"],
    );
    const stranger = await tokenOf(cp, STRANGER);
    const denied = await scrape(stranger);
    assert.deepEqual(
      [denied.response.statusCode, denied.body],
      [403, 'forbidden: user "system:serviceaccount:monitoring:stranger" cannot get path "/metrics"\n'],
    );
    const allowed = await scrape(reader);
    assert.equal(allowed.response.statusCode, 200);
    assert.match(allowed.body, /^hookpolicy_build_info/m);
    const log = lab.operator.daemon.log();
    assert.match(log, /Refused to serve \/metrics/);
    for (const token of [reader, forged, stranger]) assert.ok(!log.includes(token));
  });

  test("a token for another audience, and one of a ServiceAccount that is gone, are unauthorized", async () => {
    const path = `/api/v1/namespaces/monitoring/serviceaccounts/${READER}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" };
    const spec = { audiences: ["vault"], expirationSeconds: 600 };
    const { status } = await cp.request<{ status: { token: string } }>(
      "POST",
      path,
      JSON.stringify({ ...request, spec }),
    );
    assert.equal((await scrape(status.token)).response.statusCode, 401);
    const metadata = { namespace: "monitoring", name: "gone" };
    const account = { apiVersion: "v1", kind: "ServiceAccount" };
    await cp.apply({ ...account, metadata });
    const token = await tokenOf(cp, "gone");
    await cp.delete({ ...account, ...metadata });
    // Unseen so far: what was accepted is good for a minute.
    await cp.waitFor(
      "the token to be refused",
      async () => (await scrape(token)).response.statusCode === 401,
    );
  });

  test("while the API server fails, a token that is not remembered gets nothing", async () => {
    const remembered = await tokenOf(cp, READER);
    assert.equal((await scrape(remembered)).response.statusCode, 200);
    const fresh = await cp.tokenFor("monitoring", READER, 600);
    lab.proxy.failAll(500, /^POST .*\/(tokenreviews|subjectaccessreviews)/);
    try {
      const { response, body } = await scrape(fresh);
      assert.deepEqual([response.statusCode, body], [500, "internal error\n"]);
      assert.equal((await scrape(remembered)).response.statusCode, 200);
    } finally {
      lab.proxy.resume();
    }
    assert.equal((await scrape(fresh)).response.statusCode, 200);
    assert.ok(lab.operator.lines().some(({ msg }) => msg === "Failed to check who reads /metrics"));
  });

  test("a new certificate is taken up, as for hooks", async () => {
    const fingerprint = async (): Promise<string> => {
      const { metrics: port } = lab.operator.ports;
      const socket = connect({ host: "127.0.0.1", port, ca: cp.authority.certificate });
      await once(socket, "secureConnect");
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      return certificate?.fingerprint256 ?? "";
    };
    const old = await fingerprint();
    await writeServingCertificate(lab.operator.certDir, await issueServingCertificate(cp));
    await cp.waitFor("the new certificate", async () => (await fingerprint()) !== old);
  });

  test("plain HTTP gets no answer, but for probes; with --metrics-secure=false everybody gets one", async () => {
    const { metrics, health } = lab.operator.ports;
    await assert.rejects(fetch(`http://127.0.0.1:${metrics}/metrics`));
    assert.equal((await fetch(`http://127.0.0.1:${health}/readyz`)).status, 200);
    await lab.start({ flags: { "metrics-secure": "false" } });
    lab.proxy.forget();
    const response = await fetch(`http://127.0.0.1:${lab.operator.ports.metrics}/metrics`);
    assert.equal(response.status, 200);
    assert.match(await response.text(), /^hookpolicy_build_info/m);
    assert.equal(lab.proxy.count(/tokenreviews|subjectaccessreviews/), 0);
  });
});
