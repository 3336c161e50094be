import metadata from "../package.json" with { type: "json" };

/** The bundle carries the version of the package.json at build time. */
export const VERSION: string = metadata.version;
