import assert from "node:assert/strict";
import { test } from "node:test";

import { FLAGS, parseOptions, type Flag, type FlagValues } from "../../../src/operator/options.ts";
import { UsageError } from "../../../src/lib/thrown.ts";

test("without flags: Cluster API's defaults, all interfaces, all hooks", () => {
  assert.deepEqual(parseOptions({}), {
    webhookPort: 9443,
    admissionPort: 9444,
    webhookCertDir: "/tmp/k8s-webhook-server/serving-certs",
    webhookCertName: "tls.crt",
    webhookKeyName: "tls.key",
    webhookConfiguration: "hookpolicy",
    certManagement: "Files",
    webhookServiceName: "hookpolicy-webhook-service",
    webhookSecretName: "hookpolicy-webhook-service-cert",
    healthAddress: { port: 9440 },
    diagnosticsAddress: { port: 8443 },
    metricsSecure: true,
    metricsClusterNames: false,
    leaderElect: false,
    shutdownDelayMs: 0,
    logFormat: "text",
    logLevel: "info",
    capiVersion: { minor: 14, text: "1.14" },
    maxOverrideMs: 7 * 86_400_000,
  });
});

test("every flag is taken", () => {
  const options = parseOptions({
    kubeconfig: "k",
    "webhook-host": "::1",
    "webhook-port": "1",
    "webhook-cert-dir": "d",
    "webhook-cert-name": "c",
    "webhook-key-name": "e",
    "webhook-configuration": "w",
    "cert-management": "Self",
    "webhook-service-name": "s",
    "webhook-secret-name": "t",
    "client-ca-file": "f",
    "client-cn": "a, b",
    "admission-port": "2",
    "admission-client-ca-file": "g",
    "admission-client-cn": "api",
    "health-addr": "[::1]:1",
    "diagnostics-address": "127.0.0.1:2",
    "metrics-secure": "false",
    "metrics-cluster-names": "true",
    "leader-elect": "true",
    namespace: "n",
    "shutdown-delay-duration": "10s",
    "log-format": "json",
    "log-level": "debug",
    "capi-version": "1.12",
    "max-override-duration": "1h30m",
  });
  assert.deepEqual(options, {
    kubeconfig: "k",
    webhookHost: "::1",
    webhookPort: 1,
    webhookCertDir: "d",
    webhookCertName: "c",
    webhookKeyName: "e",
    webhookConfiguration: "w",
    certManagement: "Self",
    webhookServiceName: "s",
    webhookSecretName: "t",
    clients: { caFile: "f", names: ["a", "b"] },
    admissionPort: 2,
    admissionClients: { caFile: "g", names: ["api"] },
    healthAddress: { host: "::1", port: 1 },
    diagnosticsAddress: { host: "127.0.0.1", port: 2 },
    metricsSecure: false,
    metricsClusterNames: true,
    leaderElect: true,
    namespace: "n",
    shutdownDelayMs: 10_000,
    logFormat: "json",
    logLevel: "debug",
    capiVersion: { minor: 12, text: "1.12" },
    maxOverrideMs: 5_400_000,
  });
});

test("address 0 means not served", () => {
  const options = parseOptions({ "health-addr": "0", "diagnostics-address": "0" });
  assert.ok(!("healthAddress" in options) && !("diagnosticsAddress" in options));
});

test("options cannot be changed afterwards, in depth", () => {
  const options = parseOptions({});
  for (const each of [options, options.capiVersion, options.healthAddress, options.diagnosticsAddress]) {
    assert.ok(Object.isFrozen(each));
  }
});

const VERSIONS = { "1.10": 10, "1.14": 14, "v1.12": 12, "1.12.3": 12, "v1.15.0-rc.1": 15, "1.99": 99 };
for (const [text, minor] of Object.entries(VERSIONS)) {
  test(`Cluster API ${text} has minor ${minor}`, () => {
    assert.deepEqual(parseOptions({ "capi-version": text }).capiVersion, { minor, text: `1.${minor}` });
  });
}

const REFUSED: readonly (readonly [flag: keyof FlagValues, given: string, message: string])[] = [
  ...["0", "65536", "-1", "9443x", "", "1e3"].map(
    (given) => ["webhook-port", given, `--webhook-port is "${given}"; allowed: 1 to 65535`] as const,
  ),
  ["webhook-host", "a b", '--webhook-host is "a b"; allowed: a host name or an IP address'],
  ["webhook-host", "", '--webhook-host is ""; allowed: a host name or an IP address'],
  [
    "max-override-duration",
    "7d",
    '--max-override-duration is "7d"; allowed: a duration of hours, minutes and seconds, such as 168h or 1h30m',
  ],
  ["kubeconfig", "", '--kubeconfig is ""; allowed: a path'],
  ["webhook-cert-dir", "", '--webhook-cert-dir is ""; allowed: a path'],
  ["cert-management", "self", '--cert-management is "self"; allowed: Self, Files'],
  ["client-ca-file", "", '--client-ca-file is ""; allowed: a path'],
  ["client-cn", "", '--client-cn is ""; allowed: common names, separated by commas'],
  ["client-cn", "capi,", '--client-cn is "capi,"; allowed: common names, separated by commas'],
  ["client-cn", "capi", "--client-cn has no effect without --client-ca-file"],
  ["webhook-cert-name", "", '--webhook-cert-name is ""; allowed: a path'],
  ["webhook-key-name", "a\0", '--webhook-key-name is "a\\u0000"; allowed: a path'],
  ["webhook-configuration", "", '--webhook-configuration is ""; allowed: the name of an object'],
  ["webhook-configuration", "a/b", '--webhook-configuration is "a/b"; allowed: the name of an object'],
  ["health-addr", "9440", '--health-addr is "9440"; allowed: host:port, :port, or 0 for none'],
  ["diagnostics-address", "", '--diagnostics-address is ""; allowed: host:port, :port, or 0 for none'],
  ["metrics-secure", "0", '--metrics-secure is "0"; allowed: true, false'],
  ["leader-elect", "yes", '--leader-elect is "yes"; allowed: true, false'],
  ["namespace", "A", '--namespace is "A"; allowed: the name of an object'],
  ["log-format", "xml", '--log-format is "xml"; allowed: text, json'],
  ["log-level", "INFO", '--log-level is "INFO"; allowed: debug, info, warn, error'],
  ...["1.1", "1.9", "2.0", "0.4", "1", "1.x", "latest", "v1beta1", "1.014", "1.2.", ""].map(
    (given) =>
      [
        "capi-version",
        given,
        `--capi-version is "${given}"; allowed: 1.10 or newer, such as 1.12, v1.12 or 1.12.3`,
      ] as const,
  ),
];
for (const [flag, given, message] of REFUSED) {
  test(`--${flag}=${JSON.stringify(given)} is refused in one line`, () => {
    assert.throws(
      () => parseOptions({ [flag]: given }),
      (error) => {
        assert.ok(error instanceof UsageError);
        assert.equal(error.message, message);
        return true;
      },
    );
  });
}

test("the default of every flag is a value that the flag takes", () => {
  const flags: Readonly<Record<string, Flag>> = FLAGS;
  for (const [name, flag] of Object.entries(flags)) {
    if (flag.default !== undefined) assert.doesNotThrow(() => parseOptions({ [name]: flag.default }));
  }
});
