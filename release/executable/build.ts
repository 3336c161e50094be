/**
 * `node release/executable/build.ts FILE [NODE]`: dist/main.js and Node.js in one executable file. NODE is the official
 * Node.js of another platform, of the same version as the one that runs this; default: the one of node_modules.
 */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "../..");
const POSTJECT = join(ROOT, "node_modules/postject/dist/cli.js");
/** Node.js looks for it to learn whether it is an executable of its own; see its documentation. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** release/executable/start.ts in one file. */
async function start(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "start.ts")],
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    minifyWhitespace: true,
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

/** Without the name of a folder in it: the same bytes wherever it is made. */
async function blob(folder: string): Promise<string> {
  writeFileSync(join(folder, "start.cjs"), await start());
  copyFileSync(join(ROOT, "dist/main.js"), join(folder, "main.js"));
  const config = {
    main: "start.cjs",
    output: "program.blob",
    assets: { "main.js": "main.js" },
    disableExperimentalSEAWarning: true,
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  run(folder, "--experimental-sea-config", "config.json");
  return join(folder, config.output);
}

function run(cwd: string, ...args: readonly string[]): void {
  try {
    execFileSync(process.execPath, args, { cwd, stdio: "pipe", encoding: "utf8" });
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
    throw new Error(`node ${args.join(" ")}: ${said}`, { cause: error });
  }
}

const [out, node = process.execPath] = process.argv.slice(2);
if (out === undefined) throw new Error("usage: node release/executable/build.ts FILE [NODE]");
const target = resolve(out);
mkdirSync(dirname(target), { recursive: true });
const folder = mkdtempSync(join(dirname(target), ".executable-"));
try {
  const program = join(folder, basename(target));
  copyFileSync(realpathSync(node), program);
  chmodSync(program, 0o755);
  const macho = target.includes("darwin") ? ["--macho-segment-name", "NODE_SEA"] : [];
  run(folder, POSTJECT, program, "NODE_SEA_BLOB", await blob(folder), "--sentinel-fuse", FUSE, ...macho);
  renameSync(program, target);
} finally {
  rmSync(folder, { recursive: true });
}
