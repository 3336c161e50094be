/** What RBAC grants to the operator, verb by verb, and what the API server's audit log says was asked for. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import type { Operator } from "../controlplane/operator.ts";
import { LogReader } from "../controlplane/log-reader.ts";
import type { PolicyRule } from "../controlplane/rights.ts";

/** One verb of one resource, of one name where the rule has names. */
export interface Grant {
  readonly role: Ref;
  readonly group: string;
  /** Without its subresource. */
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly verb: string;
}

interface Binding {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** "patch hookpolicies.hookpolicy.dev", "get secrets named hookpolicy-ca" */
export function titleOf({ verb, group, resource, subresource, name }: Grant): string {
  const part = subresource === undefined ? "" : `/${subresource}`;
  const what = `${resource}${group === "" ? "" : `.${group}`}${part}`;
  return `${verb} ${what}${name === undefined ? "" : ` named ${name}`}`;
}

/** For a table: verbs, their resources, and what is the same for all of them. */
export function rowsOf(titles: readonly (readonly [title: string, text: string])[]): string[][] {
  const grants = titles.map(([title, said]) => {
    const [verb = "", resource = ""] = title.split(/ (.*)/);
    return { verb, resource, said };
  });
  const ofVerbs = [...Map.groupBy(grants, ({ verb, said }) => `${verb} ${said}`).values()].map((all) => ({
    verb: all[0]?.verb ?? "",
    resources: namedOnce(all.map(({ resource }) => resource)),
    said: all[0]?.said ?? "",
  }));
  const rows = Map.groupBy(ofVerbs, ({ resources, said }) => `${resources} ${said}`).values();
  return [...rows].map((all) => [
    all.map(({ verb }) => verb).join(", "),
    all[0]?.resources ?? "",
    all[0]?.said ?? "",
  ]);
}

const FOUR_KINDS =
  /hookpolicies\.hookpolicy\.dev(\/status)?, clusterhookpolicies\.hookpolicy\.dev\1, hookoverrides\.hookpolicy\.dev\1, hookrollouts\.hookpolicy\.dev\1/;

/** "secrets named a, b"; the kinds that people write by one name. */
function namedOnce(resources: readonly string[]): string {
  const names = Map.groupBy(resources, (resource) => resource.split(" named ")[0] ?? "");
  const parts = [...names].map(([resource, all]) =>
    all[0] === resource
      ? resource
      : `${resource} named ${all.map((each) => each.split(" named ")[1]).join(", ")}`,
  );
  return parts
    .join(", ")
    .replace(
      FOUR_KINDS,
      (_, status?: string) => `${status === undefined ? "" : "/status of "}the four kinds`,
    );
}

/** Of the roles that are bound to the ServiceAccount; what aggregation puts into one is not in the manifests. */
export function grantsTo(account: string, rendered: readonly KubeObject[]): Grant[] {
  return rendered.filter(isBinding).flatMap(({ kind, metadata: { namespace }, roleRef, subjects }) => {
    if (!subjects.some(({ name, kind: subject }) => subject === "ServiceAccount" && name === account))
      return [];
    const isRole = (object: KubeObject): boolean =>
      object.kind === roleRef.kind &&
      object.metadata.name === roleRef.name &&
      (roleRef.kind === "ClusterRole" || object.metadata.namespace === namespace);
    if (kind === "RoleBinding" && roleRef.kind === "ClusterRole")
      throw new Error(`${roleRef.name}: not read here`);
    return rendered.filter(isRole).flatMap(grantsOf);
  });
}

function isBinding(object: KubeObject): object is KubeObject & Binding {
  return object.kind === "ClusterRoleBinding" || object.kind === "RoleBinding";
}

function grantsOf({ apiVersion, kind, metadata: { name, namespace }, rules = [] }: KubeObject): Grant[] {
  const role = { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
  return rules.flatMap((rule: PolicyRule) =>
    combinations(rule).map(([group, full, verb, resourceName]) => {
      const [resource = "", subresource] = full.split("/");
      return {
        role,
        group,
        resource,
        verb,
        ...(subresource !== undefined && { subresource }),
        ...(resourceName !== undefined && { name: resourceName }),
      };
    }),
  );
}

function combinations(rule: PolicyRule): [string, string, string, string | undefined][] {
  const { apiGroups, resources, verbs, resourceNames = [undefined] } = rule;
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) =>
        resourceNames.map((name): [string, string, string, string | undefined] => [
          group,
          resource,
          verb,
          name,
        ]),
      ),
    ),
  );
}

function isSameRole(a: Ref, b: Ref): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace;
}

function ruleOf({ group, resource, subresource, name, verb }: Grant): PolicyRule {
  return {
    apiGroups: [group],
    resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
    verbs: [verb],
    ...(name !== undefined && { resourceNames: [name] }),
  };
}

/** Of a SubjectAccessReview. */
function attributesOf({ role, group, resource, subresource, name, verb }: Grant): object {
  const { namespace } = role;
  return { verb, group, resource, subresource, name, ...(namespace !== undefined && { namespace }) };
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: {
    readonly resource: string;
    readonly apiGroup?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The audit log of an API server that is started with `args`. */
export class AuditLog {
  readonly #folder: string;
  readonly #log: LogReader<Observation>;

  private constructor(folder: string, user: string) {
    this.#folder = folder;
    this.#log = new LogReader(join(folder, "log"), (line) => seenIn(line, user));
  }

  static async of(user: string): Promise<AuditLog> {
    const folder = await mkdtemp(join(tmpdir(), "hookpolicy-audit-"));
    const policy = {
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["RequestReceived"],
      rules: [{ level: "Metadata", users: [user] }, { level: "None" }],
    };
    await writeFile(join(folder, "policy.yaml"), JSON.stringify(policy)); // JSON is YAML
    await writeFile(join(folder, "log"), "");
    return new AuditLog(folder, user);
  }

  get args(): string[] {
    return [
      `--audit-policy-file=${join(this.#folder, "policy.yaml")}`,
      `--audit-log-path=${join(this.#folder, "log")}`,
      "--audit-log-mode=blocking-strict",
    ];
  }

  /** Pass it to seen() for what comes from now on. */
  position(): number {
    return this.#log.items().length;
  }

  seen(from = 0): readonly Observation[] {
    return this.#log.items().slice(from);
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function seenIn(line: string, user: string): Observation[] {
  const { verb, objectRef, annotations = {}, ...event } = JSON.parse(line) as AuditEvent;
  if (objectRef === undefined || event.user.username !== user) return [];
  const { apiGroup: group = "", resource, subresource, namespace, name } = objectRef;
  const impersonated = event.impersonatedUser?.username;
  return [
    { verb, group, resource, subresource, namespace, name, impersonated, decision: annotations[DECISION] },
  ];
}

const DECISION = "authorization.k8s.io/decision";

export interface Observation {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly impersonated: string | undefined;
  readonly decision: string | undefined;
}

/** A grant without a name is also for requests that have one. */
export function isAbout(seen: Observation, grant: Grant): boolean {
  return (
    seen.verb === grant.verb &&
    seen.group === grant.group &&
    seen.resource === grant.resource &&
    seen.subresource === grant.subresource &&
    (grant.name === undefined || seen.name === grant.name)
  );
}

/**
 * The roles that grant `titles` have all of their rules, or all but these, each of which two roles can grant; and the API
 * server has heard of it.
 */
export async function setGranted(
  cp: ControlPlane,
  {
    grants,
    titles,
    granted,
  }: { readonly grants: readonly Grant[]; readonly titles: readonly string[]; readonly granted: boolean },
  token: string,
): Promise<void> {
  const changed = grants.filter((grant) => titles.includes(titleOf(grant)));
  for (const role of rolesOf(changed)) {
    const mates = grants.filter((grant) => isSameRole(grant.role, role));
    const left = granted ? mates : mates.filter((grant) => !titles.includes(titleOf(grant)));
    await cp.patch(role, { rules: left.map(ruleOf) });
  }
  const account = cp.as(token);
  for (const title of titles) {
    const probe = changed.find((grant) => titleOf(grant) === title);
    if (probe === undefined) throw new Error(`${title} is not granted by any role`);
    const review = JSON.stringify({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: attributesOf(probe) },
    });
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    await cp.waitFor(`${title} to be ${granted ? "granted" : "refused"}`, async () => {
      const { status } = await account.request<{ status: { allowed: boolean } }>("POST", path, review);
      return status.allowed === granted;
    });
  }
  account.close();
}

/** Each once. */
function rolesOf(grants: readonly Grant[]): Ref[] {
  return grants
    .map(({ role }) => role)
    .filter((role, place, all) => all.findIndex((other) => isSameRole(role, other)) === place);
}

/** What a person sees who has forgotten the verb. */
export interface Case {
  /** "start": the operator is started without it. Otherwise it is taken away while the operator runs. */
  readonly when: "start" | "run";
  /** Those with the same word are taken away at once: each shows by itself what one start does without it. */
  readonly together?: string;
  readonly does?: () => Promise<unknown>;
  /** Of those that are started: when the operator is ready. */
  readonly afterwards?: () => Promise<unknown>;
  readonly flags?: () => Promise<Record<string, string>> | Record<string, string>;
  readonly sees: string;
  readonly shows: (operator: Operator) => Promise<boolean>;
}
