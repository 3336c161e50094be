/** Whether a patch or a replacement of a kustomization is for an object. */

import { RE2JS } from "@bufbuild/re2";
import { type Fields, fieldsOf } from "../../lib/fields.ts";

/** A strategic merge patch names one object; where it names no namespace, that of the object is unknown. */
export function isTarget(object: Fields, part: Fields): boolean {
  const [is, wants] = [nameOf(object), nameOf(part)];
  return (
    is.group === wants.group &&
    is.kind === wants.kind &&
    is.name === wants.name &&
    (wants.namespace === undefined || wants.namespace === (is.namespace ?? "default"))
  );
}

/** `marks`: labels and annotations may be others than those of the file. A target that cannot be evaluated is met. */
export function isSelected(object: Fields, target: unknown, marks: boolean): boolean {
  const is = nameOf(object);
  const { labelSelector, annotationSelector, ...wants } = fieldsOf(target);
  const { labels, annotations } = fieldsOf(object["metadata"]);
  return (
    isLike(is.group, wants["group"]) &&
    isLike(is.version, wants["version"]) &&
    isLike(is.kind, wants["kind"]) &&
    isLike(is.name, wants["name"]) &&
    isLike(is.namespace ?? "default", wants["namespace"]) &&
    (marks || (isMarked(labels, labelSelector) && isMarked(annotations, annotationSelector)))
  );
}

interface ObjectName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
}

function nameOf({ apiVersion, kind, metadata }: Fields): ObjectName {
  const [version = "", group = ""] = String(apiVersion).split("/").toReversed();
  const { name, namespace } = fieldsOf(metadata);
  return {
    group,
    version,
    kind: String(kind),
    name: String(name),
    namespace: typeof namespace === "string" ? namespace : undefined,
  };
}

/** Each field of a target is a pattern for the whole text. */
function isLike(text: string, pattern: unknown): boolean {
  if (typeof pattern !== "string" || pattern === "") return true;
  try {
    return RE2JS.compile(pattern).matches(text);
  } catch {
    return true;
  }
}

/** The selector of `kubectl get --selector`; sets (`in`, `notin`) count as met. */
function isMarked(marks: unknown, selector: unknown): boolean {
  if (typeof selector !== "string" || /[()]/.test(selector)) return true;
  const there = fieldsOf(marks);
  return selector
    .split(",")
    .map((each) => each.trim())
    .every((each) => {
      const [, not, key = "", operator, value = ""] =
        /^(!?)\s*([^\s=!]+)\s*(==?|!=)?\s*(.*)$/.exec(each) ?? [];
      if (operator === undefined) return key in there !== (not === "!");
      return (there[key] === value) === (operator !== "!=");
    });
}
