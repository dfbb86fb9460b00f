// Bundles the tests and runs those of a folder: `node test/run.mjs unit|browser`.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const [folder = "unit"] = process.argv.slice(2);
const files = readdirSync(`test/${folder}`).filter((name) => name.endsWith(".test.ts"));
// Beside the packages, so that these are found.
const outdir = `node_modules/.tests/${folder}`;
await build({
  bundle: true,
  entryPoints: files.map((name) => `test/${folder}/${name}`),
  format: "esm",
  logLevel: "warning",
  outdir,
  outExtension: { ".js": ".mjs" },
  packages: "external",
  platform: "node",
});
const built = files.map((name) => `${outdir}/${name.replace(/\.ts$/, ".mjs")}`);
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=1", ...built], { stdio: "inherit" });
process.exit(status ?? 1);
