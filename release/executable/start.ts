/**
 * The start of the single executable. Node.js runs one CommonJS file of it, but the program is a module that names itself
 * by import.meta.url: it stands among the assets, and is loaded as if it were a file.
 */

import { createRequire, registerHooks } from "node:module";
import { getAsset } from "node:sea";

const FOLDER = "file:///hookpolicy/";

type Format = "module" | "commonjs";

/** By URL; a CommonJS file may import a module that awaits, and the main file of an executable may not. */
const FILES: Readonly<Record<string, { readonly format: Format; readonly source: () => string }>> = {
  [`${FOLDER}main.mjs`]: { format: "module", source: () => getAsset("main.js", "utf8") },
  [`${FOLDER}start.cjs`]: { format: "commonjs", source: () => `import("${FOLDER}main.mjs");` },
};

registerHooks({
  resolve: (specifier, context, next) => {
    const url = specifier.startsWith("/") ? `file://${specifier}` : specifier;
    const file = FILES[url];
    return file === undefined ? next(specifier, context) : { url, format: file.format, shortCircuit: true };
  },
  load: (url, context, next) => {
    const file = FILES[url];
    return file === undefined
      ? next(url, context)
      : { format: file.format, source: file.source(), shortCircuit: true };
  },
});

createRequire(FOLDER)("/hookpolicy/start.cjs");
