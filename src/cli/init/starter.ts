/** The files that `hookpolicy init` writes. */

import { VERSION } from "../../version.ts";

/** Contents by path, without the schema. */
export function starterFiles(): Readonly<Record<string, string>> {
  return {
    "policies/protect-production.yaml": POLICY,
    "tests/protect-production.yaml": SUITE,
    ".github/workflows/hookpolicy.yaml": GITHUB,
    ".gitlab-ci.yml": GITLAB,
    ".pre-commit-config.yaml": PRE_COMMIT,
  };
}

/** In a folder that no command reads as policies. */
export const SCHEMA_FILE = ".hookpolicy/schema.json";

/** Of a file one folder below. */
const SCHEMA_LINE = `# yaml-language-server: $schema=../${SCHEMA_FILE}`;

const POLICY = `${SCHEMA_LINE}
apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata:
  name: protect-production
  namespace: team-a
spec:
  # Audit instead of Enforce: nothing is held, the status says what would be.
  mode: Enforce
  clusterSelector:
    matchLabels:
      tier: production
  rules:
    - name: confirmed-delete
      hooks: [BeforeClusterDelete]
      until:
        - name: approved
          annotation:
            key: hooks.example.com/delete-approved
            valueFrom: ClusterUID
      message: ask the platform team for approval
    # Cluster API asks once for each upgrade. To approve versions, also hold BeforeControlPlaneUpgrade, as in the recipe
    # approve-each-version: a version can change while an upgrade runs.
    - name: upgrade-on-weekends
      hooks: [BeforeClusterUpgrade]
      until:
        - name: weekend
          window:
            timeZone: Europe/Berlin
            allow:
              - schedule: "0 22 * * FRI"
                duration: 56h
`;

const SUITE = `${SCHEMA_LINE}
apiVersion: cli.hookpolicy.dev/v1alpha1
kind: HookPolicyTest
metadata:
  name: protect-production
spec:
  at: "2026-11-25T12:00:00Z" # a Wednesday
  policies: [../policies/protect-production.yaml]
  clusters:
    - apiVersion: cluster.x-k8s.io/v1beta2
      kind: Cluster
      metadata:
        name: prod-1
        namespace: team-a
        uid: 11111111-1111-1111-1111-111111111111
        labels:
          tier: production
      spec:
        topology:
          classRef:
            name: standard
          version: v1.35.0
  steps:
    - name: a deletion waits for its approval
      call:
        hook: BeforeClusterDelete
        cluster: team-a/prod-1
      expect:
        verdict: Blocked
        rule: confirmed-delete
        gate: approved
    - name: the approval of another Cluster does not count
      patch:
        - kind: Cluster
          metadata:
            name: prod-1
            namespace: team-a
            annotations:
              hooks.example.com/delete-approved: 22222222-2222-2222-2222-222222222222
      call:
        hook: BeforeClusterDelete
        cluster: team-a/prod-1
      expect:
        verdict: Blocked
    - name: approved, it proceeds
      patch:
        - kind: Cluster
          metadata:
            name: prod-1
            namespace: team-a
            annotations:
              hooks.example.com/delete-approved: 11111111-1111-1111-1111-111111111111
      call:
        hook: BeforeClusterDelete
        cluster: team-a/prod-1
      expect:
        verdict: Allowed
    - name: upgrades wait for the weekend
      timeline:
        hook: BeforeClusterUpgrade
        cluster: team-a/prod-1
        fromKubernetesVersion: v1.34.0
        to: "2026-11-30T12:00:00Z"
        expect:
          - verdict: Allowed
            from: "2026-11-27T21:00:00Z"
            to: "2026-11-30T05:00:00Z"
`;

export const NPM_PACKAGE = `hookpolicy-npm-${VERSION}.tgz`;

/**
 * No public registry has HookPolicy: another program of that name would run in every pipeline. Variables of the project do
 * not reach the pipelines of forks.
 */
const PACKAGE = [
  `# ${NPM_PACKAGE} of a release, as a URL or a file of this repository, and its checksum in SHA256SUMS.`,
  'HOOKPOLICY_PACKAGE: ""',
  'HOOKPOLICY_SHA256: ""',
];

/** As in action.yml and templates/check.yml: in a folder of the job, because a runner may keep what another one has installed. */
const INSTALL = [
  'if [ -z "$HOOKPOLICY_PACKAGE" ]; then echo "set HOOKPOLICY_PACKAGE and HOOKPOLICY_SHA256 in this pipeline"; exit 1; fi',
  "folder=$(mktemp -d)",
  'npm pack --silent --pack-destination "$folder" "$HOOKPOLICY_PACKAGE"',
  'echo "$HOOKPOLICY_SHA256  $(ls "$folder"/*.tgz)" | sha256sum -c -',
  'npm install --global --prefix "$folder/npm" "$folder"/*.tgz',
];

const GITHUB = `name: hookpolicy
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    env:
      ${PACKAGE.join("\n      ")}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: 22
      - run: |
          ${[...INSTALL, 'echo "$folder/npm/bin" >> "$GITHUB_PATH"'].join("\n          ")}
      # Also rollouts and overrides, wherever they are. --strict: most warnings mean that something protects nothing.
      # With Cluster API before 1.14, add --capi-version 1.12, say, and capiVersion to the spec of each suite.
      - run: hookpolicy validate . --strict -o github
      - run: hookpolicy test tests/ --require-tests -o markdown >> "$GITHUB_STEP_SUMMARY"
`;

const GITLAB = `hookpolicy:
  image: node:22-alpine
  variables:
    ${PACKAGE.join("\n    ")}
  rules:
    - changes: ["**/*.{yaml,yml,json}"]
  script:
    - ${[...INSTALL, 'export PATH="$folder/npm/bin:$PATH"'].join("\n    - ")}
    # Also rollouts and overrides, wherever they are. --strict: most warnings mean that something protects nothing.
    # With Cluster API before 1.14, add --capi-version 1.12, say, and capiVersion to the spec of each suite.
    - hookpolicy validate . --strict
    - hookpolicy test tests/ --require-tests -o junit > hookpolicy.xml
  artifacts:
    when: always
    reports:
      junit: hookpolicy.xml
`;

const PRE_COMMIT = `repos:
  - repo: local
    hooks:
      - id: hookpolicy-validate
        name: hookpolicy validate
        language: system
        entry: hookpolicy validate . --strict
        pass_filenames: false
        always_run: true
      - id: hookpolicy-test
        name: hookpolicy test
        language: system
        entry: hookpolicy test tests/
        pass_filenames: false
        always_run: true
`;
