/** The view that the address names: #/held?policy=… */

export const PAGES = [
  { page: "held", title: "Held" },
  { page: "clusters", title: "Clusters" },
  { page: "windows", title: "Windows" },
  { page: "rollouts", title: "Rollouts" },
  { page: "whatif", title: "What if" },
] as const;

export type Params = Readonly<Record<string, string>>;

export interface Route {
  readonly page: (typeof PAGES)[number]["page"] | "cluster";
  /** NAMESPACE/NAME of the Cluster. */
  readonly name: string;
  readonly params: Params;
}

/** An unknown address leads to the first page. */
export function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first = "", ...rest] = path.split("/").map(decoded);
  const params = Object.fromEntries(new URLSearchParams(query));
  if (first === "cluster" && rest.length === 2) return { page: "cluster", name: rest.join("/"), params };
  return { page: PAGES.find(({ page }) => page === first)?.page ?? "held", name: "", params };
}

export function clusterHref(cluster: string): string {
  return `#/cluster/${cluster.split("/").map(encodeURIComponent).join("/")}`;
}

/** The address with some parameters changed; an empty text removes one. */
export function withParams(hash: string, changes: Params): string {
  const [path = "", query = ""] = hash.split("?", 2);
  const params = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") params.delete(name);
    else params.set(name, value);
  }
  const text = params.toString();
  return text === "" ? path : `${path}?${text}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
