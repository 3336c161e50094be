/**
 * `node release/build.ts FILE`: src/main.ts and all that it imports in one file, which needs no node_modules. In it, as
 * texts, are the page of `hookpolicy ui` and the schema that `hookpolicy init` writes.
 */

import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { editorSchema } from "../src/cli/init/editor-schema.ts";
import { compiledValidators } from "./validators.ts";

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

/** The page of `hookpolicy ui`, which is a part of the one file: minified, because a browser reads it. */
async function page(): Promise<{ readonly script: string; readonly style: string }> {
  const { outputFiles } = await build({
    entryPoints: { script: join(ROOT, "src/page/main.tsx"), style: join(ROOT, "src/page/page.css") },
    outdir: "page",
    write: false,
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2023", "chrome123", "firefox121", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
  });
  const textOf = (extension: string): string =>
    outputFiles.find(({ path }) => path.endsWith(extension))?.text ?? "";
  const files = { script: textOf(".js"), style: textOf(".css") };
  const bytes = gzipSync(files.script + files.style, { level: 9 }).length;
  if (bytes > MAX_PAGE_BYTES)
    throw new Error(`the page has ${bytes} bytes, compressed: at most ${MAX_PAGE_BYTES}`);
  return files;
}

const MAX_PAGE_BYTES = 150_000;

/**
 * What the program imports and never calls, by the path it is imported with, and what stands for it: a fifth of the file,
 * of the start, and of the memory of an idle process.
 */
const UNUSED: Readonly<Record<string, string>> = {
  // The client's 800 generated kinds and APIs, of which its KubeConfig needs two functions, for makeApiClient().
  "./gen/index.js": "export class ServerConfiguration {}\nexport function createConfiguration() {}",
  // For its own loader of kubeconfig files, in whose place is src/kube/kubeconfig.ts.
  "js-yaml": "export const load = undefined",
  // For the schemas of routes: no route has one.
  "@fastify/ajv-compiler": "module.exports = () => undefined",
  "@fastify/fast-json-stringify-compiler": "module.exports = () => undefined",
  // For inject() of fastify, and for the exemplars of prom-client: there are none.
  "light-my-request": "",
  "@opentelemetry/api": "",
  // Of undici: HTTP/2, and a parser that is an experiment.
  "./client-h2.js": "",
  "./parser-h1.js": "exports.getMiloEnabled = () => false",
  // All but the agents and their request(): its fetch, WebSocket, caches and mocks.
  undici: `
    exports.Agent = require("undici/lib/dispatcher/agent");
    exports.ProxyAgent = require("undici/lib/dispatcher/proxy-agent");
    exports.Socks5ProxyAgent = require("undici/lib/dispatcher/socks5-proxy-agent");
    Object.assign(require("undici/lib/dispatcher/dispatcher").prototype, require("undici/lib/api"));`,
};

const withoutUnused: Plugin = {
  name: "without-unused",
  setup: (bundler) => {
    bundler.onResolve({ filter: /./ }, ({ path }) =>
      Object.hasOwn(UNUSED, path) ? { path, namespace: "unused" } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: "unused" }, ({ path }) => ({
      contents: UNUSED[path] ?? "",
      resolveDir: ROOT,
    }));
  },
};

/**
 * Required and not imported: an import reads everything that node:http exports, and one of its getters loads all of Node.js's
 * own undici.
 */
const requiredHttp: Plugin = {
  name: "required-http",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^(?:node:)?http$/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "required" } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: "required" }, () => ({
      contents: 'module.exports = require("node:http")',
    }));
  },
};

/** Compressed, it is a tenth of its size. */
const schemaInside: Plugin = {
  name: "schema-inside",
  setup: (bundler) => {
    bundler.onLoad({ filter: /[/\\]editor-schema\.ts$/ }, () => ({
      contents: `
        import { gunzipSync } from "node:zlib";
        const TEXT = "${gzipSync(editorSchema(), { level: 9 }).toString("base64")}";
        export const editorSchema = () => gunzipSync(Buffer.from(TEXT, "base64")).toString();`,
    }));
  },
};

const [outfile = "dist/main.js"] = process.argv.slice(2);
await build({
  entryPoints: [join(ROOT, "src/main.ts")],
  outfile,
  bundle: true,
  platform: "node",
  target: "node22",
  format: "esm",
  sourcemap: "linked",
  legalComments: "none",
  logLevel: "warning",
  // The process keeps the text; without comments it is a third shorter, and ASCII, which V8 keeps in half the space.
  minifyWhitespace: true,
  lineLimit: 160,
  plugins: [requiredHttp, withoutUnused, compiledValidators, schemaInside],
  define: {
    HOOKPOLICY_PAGE: JSON.stringify(await page()),
  },
  banner: {
    js: `${versionCheck(minimum)}
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);`,
  },
});
const other = /[^\0-\x7f]/.exec(readFileSync(outfile, "utf8"));
if (other !== null)
  throw new Error(
    `${outfile} has ${JSON.stringify(other[0])}: write it as an escape where it stands in a regular expression`,
  );
chmodSync(outfile, 0o755);
