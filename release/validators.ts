/**
 * For esbuild: in the place of each module named …validators.ts, the code that ajv makes of its schemas. The program so
 * starts without ajv, and runs what the tests of the source run.
 */

import { join } from "node:path";
import type { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import type { Plugin } from "esbuild";

/** The code of the validators names it. */
const FORMATS = join(import.meta.dirname, "../src/policy/validation/formats.ts");

export const compiledValidators: Plugin = {
  name: "compiled-validators",
  setup: (bundler) => {
    bundler.onLoad({ filter: /\/src\/.*validators\.ts$/ }, async ({ path }) => ({
      contents: await codeOf(path),
      resolveDir: import.meta.dirname,
    }));
  },
};

async function codeOf(path: string): Promise<string> {
  const { ajv, ...validators }: { readonly ajv: Ajv } = await import(path);
  const names = Object.fromEntries(Object.keys(validators).map((name) => [name, name]));
  return `import { FORMATS } from ${JSON.stringify(FORMATS)};\n${standalone.default(ajv, names)}`;
}
