/** What tasks create, apply and delete in a suite, with every right. The objects join those of the suite. */

import { isDeepStrictEqual } from "node:util";
import { FIELD_MANAGER_CONFLICT, KubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { namespacedName } from "../../lib/keys.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { timestamp } from "../../lib/instant.ts";
import type { ObjectRef, TaskObject, TaskObjects } from "../../tasks/task-objects.ts";
import { type RawObject } from "../fleet/kinds.ts";
import { merged } from "../fleet/merge-patch.ts";
import { type SuiteObjects } from "./suite-objects.ts";

type Objects = Pick<TaskObjects, "create" | "apply" | "find" | "select" | "delete">;

export function suiteTaskObjects(objects: SuiteObjects, now: () => Date): Objects {
  const managers = new Map<string, string>();
  let count = 0;
  const create: Objects["create"] = async (_, object) => {
    count += 1;
    const metadata = { uid: `task-object-${count}`, creationTimestamp: timestamp(now()), ...object.metadata };
    const made = { ...object, metadata };
    objects.put(undefined, made);
    return await Promise.resolve(asStored(made));
  };
  return {
    create,
    /** Another field manager conflicts where it wants other values. */
    apply: async (account, object, fieldManager) => {
      const ref = refOf(object);
      const key = JSON.stringify(ref);
      const before = objects.named(ref);
      const manager = managers.get(key) ?? fieldManager;
      managers.set(key, before === undefined ? fieldManager : manager);
      if (before === undefined) return await create(account, object);
      const after = merged(before, { ...object });
      if (manager !== fieldManager && !isDeepStrictEqual(before, after))
        throw new KubeError(`apply ${ref.kind} ${namespacedName(ref)}: another task has set its fields`, {
          code: 409,
          reason: FIELD_MANAGER_CONFLICT,
        });
      objects.put(before, after);
      return asStored(after);
    },
    find: async (_, ref) => {
      const found = objects.named(ref);
      return await Promise.resolve(found && asStored(found));
    },
    select: async (_, kind, labelSelector) => {
      const wanted = labelSelector.split(",").map((pair) => pair.split("="));
      const found = objects.ofKind(kind).filter(({ metadata }) => {
        const { labels = {}, namespace = kind.namespace } = viewMetadata(metadata);
        return namespace === kind.namespace && wanted.every(([key = "", value]) => labels[key] === value);
      });
      return await Promise.resolve(found.map(asStored));
    },
    /** As the API server does, keeps an object with finalizers until they are gone. */
    delete: async (_, ref) => {
      await Promise.resolve();
      const found = objects.named(ref);
      if (found === undefined) return;
      const isKept = (viewMetadata(found["metadata"]).finalizers ?? []).length > 0;
      const deletionTimestamp = timestamp(now());
      objects.put(found, isKept ? merged(found, { metadata: { deletionTimestamp } }) : undefined);
    },
  };
}

function refOf({ apiVersion, kind, metadata: { namespace, name } }: TaskObject): ObjectRef {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

/** Objects of the suite need not have a uid. */
function asStored(raw: RawObject): KubeObject {
  const metadata = viewMetadata(raw["metadata"]);
  const { namespace = "", name } = metadata;
  return { ...raw, metadata: { ...metadata, uid: metadata.uid || `uid-of-${namespace}/${name}` } };
}
