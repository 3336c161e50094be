import metadata from "../package.json" with { type: "json" };

/** The bundle carries the value of the package.json that it was built beside. */
export const VERSION: string = metadata.version;
