// Writes the bundle into a folder: `node build.mjs [FOLDER]`, by default `dist`.
import { build } from "esbuild";
import { appendFile, copyFile, mkdir, readdir, readFile } from "node:fs/promises";

const folder = process.argv[2] ?? "dist";
await mkdir(folder, { recursive: true });
const { metafile } = await build({
  bundle: true,
  charset: "utf8",
  entryPoints: { page: "src/main.ts" },
  format: "esm",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  minify: true,
  outdir: folder,
  target: "es2022",
});
await build({ entryPoints: ["src/page.css"], logLevel: "warning", minify: true, outdir: folder });
for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${folder}/${name}`);

// The licenses of the packages in the bundle, which demand to be in every copy.
const inputs = Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
const packages = [...new Set(inputs)].filter((name) => name !== undefined).sort();
const notices = [];
for (const name of packages) {
  const home = `node_modules/${name}`;
  const { version, license } = JSON.parse(await readFile(`${home}/package.json`, "utf8"));
  if (license !== "MIT") throw new Error(`${name} has the license ${license}`);
  const file = (await readdir(home)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "License: MIT" : (await readFile(`${home}/${file}`, "utf8")).trim();
  notices.push(`${name} ${version}\n\n${text.replaceAll("*/", "* /")}`);
}
await appendFile(`${folder}/page.js`, `/*\nThis file contains:\n\n${notices.join("\n\n---\n\n")}\n*/\n`);
