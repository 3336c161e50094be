/** `node release/build.ts FILE`: src/entry.ts and all that it imports in one file, which needs no node_modules. */

import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "..");

/** Runs before the program: an older Node.js says which one is needed instead of what it does not know. */
function versionCheck(minimum: string): string {
  const [major, minor] = minimum.split(".").map(Number);
  const message = `error: hookpolicy needs Node.js ${minimum} or newer; this is `;
  return `{
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < ${major} || (major === ${major} && minor < ${minor})) {
    process.stderr.write(${JSON.stringify(message)} + process.version + " (" + process.execPath + ")\\n");
    process.exit(1);
  }
}`;
}

const { engines }: { engines: { node: string } } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
);
const minimum = /^>=(\d+\.\d+)$/.exec(engines.node)?.[1];
if (minimum === undefined) throw new Error(`package.json: engines.node is ${engines.node}, expected >=22.19`);

const [outfile = "dist/main.js"] = process.argv.slice(2);
await build({
  entryPoints: [join(ROOT, "src/entry.ts")],
  outfile,
  bundle: true,
  platform: "node",
  target: "node22",
  format: "esm",
  sourcemap: "linked",
  legalComments: "none",
  logLevel: "warning",
  banner: {
    js: `${versionCheck(minimum)}
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);`,
  },
});
chmodSync(outfile, 0o755);
