/** Keys of objects. Each format is written in one place, because the same object must have the same key everywhere. */

/** "team-a/prod-1", and "/freeze" for an object without a namespace. */
export function namespacedName({ namespace = "", name }: NamedObject): string {
  return `${namespace}/${name}`;
}

export interface NamedObject {
  readonly namespace?: string | undefined;
  readonly name: string;
}
