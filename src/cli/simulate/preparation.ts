/** Prepares what `simulate` compares, and the notes about it. */

import { GROUP } from "../../api/hook-policy.ts";
import { servedHooks } from "../../api/hook-catalog.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { Options } from "../../operator/options.ts";
import type { ObjectReader } from "../../policy/watched-objects.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { changeErrors, type FieldError } from "../../policy/validation/schema.ts";
import { type FileProblem, itemKind, type SourceObject } from "../files/parsed.ts";
import { groupOf, holderRef, identityOf, ownKind, type RawObject, titleOf } from "../fleet/kinds.ts";
import { readFleet } from "../fleet/live-fleet.ts";
import { readAsOperator } from "../fleet/live-objects.ts";
import { MINOR_STEPS } from "../fleet/caveats.ts";
import { namespaceWarning } from "../fleet/selections.ts";
import { Fleet, type FleetOptions } from "../fleet/fleet.ts";
import { type FleetPair, fleetPair } from "./changed-fleet.ts";
import type { Simulation } from "./simulation.ts";

export interface PresentState {
  readonly objects: readonly RawObject[];
  readonly reader?: ObjectReader;
  /** Those of the operator that is there. */
  readonly options?: Options;
}

/** Reads the policies, then the objects that gates of old and new policies look at, as far as the operator may. */
export async function readPresentFleet(
  client: KubeClient,
  applied: readonly RawObject[],
): Promise<Required<Omit<PresentState, "options">>> {
  const objects = await readFleet(client);
  const every = { served: servedHooks(Infinity), maxOverrideMs: 0, now: new Date() };
  const demands = [objects, applied].flatMap((each) => new Fleet(each, every).demands());
  return { objects, reader: await readAsOperator(client, demands, objects) };
}

type Wish = Pick<FleetOptions, "now"> & { readonly prune: boolean };

/** `problems`: why the API server would refuse what is applied. If there are any, nothing can be simulated. */
export function prepare(
  sources: readonly SourceObject[],
  { objects, reader }: PresentState,
  { options, ...wish }: { readonly options: Options } & Wish,
): { readonly pair: FleetPair; readonly problems: readonly FileProblem[] } {
  const pair = fleetPair(
    objects,
    sources.map(({ object }) => object),
    {
      served: servedHooks(options.capiVersion.minor),
      maxOverrideMs: options.maxOverrideMs,
      created: new Date(),
      ...wish,
      ...(reader !== undefined && { objects: reader, allNamespaces: true }),
    },
  );
  return { pair, problems: [...invalidIn(pair, sources), ...refusedIn(objects, sources)] };
}

function invalidIn({ after }: FleetPair, sources: readonly SourceObject[]): FileProblem[] {
  const policies = after.policies.map(({ compiled: { ref, errors } }) => [policyName(ref), errors] as const);
  const rollouts = after.rollouts.map(({ compiled: { name, problem } }) => {
    const errors = problem === undefined ? [] : [{ path: "", message: problem }];
    return [`HookRollout ${name}`, errors] as const;
  });
  const errors = new Map([...policies, ...rollouts]);
  return sources.flatMap((source) => {
    const holder = holderRef(source.object);
    const name = holder === undefined ? "" : policyName(holder);
    return (errors.get(name) ?? []).map((error) => problemIn(source, name, error));
  });
}

/** The changes that the API server refuses, such as a later end of an override. */
function refusedIn(present: readonly RawObject[], sources: readonly SourceObject[]): FileProblem[] {
  const known = new Map(present.map((object) => [identityOf(object), object]));
  return sources.flatMap((source) => {
    const { object } = source;
    const [kind, before] = [ownKind(object), known.get(identityOf(object))];
    if (kind === undefined || before === undefined) return [];
    return changeErrors(kind, before, object).map((error) => problemIn(source, titleOf(object), error));
  });
}

function problemIn(source: SourceObject, name: string, { path, message }: FieldError): FileProblem {
  const text = [name, path, message].filter((part) => part !== "").join(": ");
  return { file: source.file, ...source.position(path), message: text };
}

/**
 * Whether nothing tells what held before the change: the objects are those of files, and neither a policy or rollout nor an
 * empty list of their kind is among them.
 */
export function lacksPolicies(
  { before: { policies, rollouts } }: FleetPair,
  { objects }: PresentState,
): boolean {
  const isTold = policies.length > 0 || rollouts.length > 0;
  return !isTold && !objects.some((object) => groupOf(object) === GROUP && LISTED.has(itemKind(object)));
}

const LISTED: ReadonlySet<string | undefined> = new Set(["HookPolicy", "ClusterHookPolicy", "HookRollout"]);

export function warningsOf(
  { after, before }: FleetPair,
  { totals, notEvaluable, skippingMinor, selectsNothing }: Simulation,
): string[] {
  const missing = namespaceWarning([after, before]);
  const unevaluable = notEvaluable.map(({ policy, rule, message, operations }) => {
    const name = rule === "" ? policy : `${policy} rule ${rule}`;
    return `${name} is not evaluable (operations: ${operations}): ${message}`;
  });
  return [
    ...selectsNothing,
    ...after.overrides.map(
      ({ name, problem }) => problem !== undefined && `HookOverride ${name}: ${problem.message}`,
    ),
    missing !== undefined && missing,
    ...unevaluable,
    skippingMinor > 0 && MINOR_STEPS,
    totals.clusters === 0 &&
      "Cluster API calls no hook for any of the Clusters: they have no topology, or are paused",
  ].filter((warning) => warning !== false);
}
