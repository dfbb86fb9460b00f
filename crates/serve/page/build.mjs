// Writes the bundle into a folder: `node build.mjs [FOLDER]`, by default `dist`.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";

const folder = process.argv[2] ?? "dist";
await mkdir(folder, { recursive: true });
await build({
  bundle: true,
  charset: "utf8",
  entryPoints: { page: "src/main.ts" },
  format: "esm",
  legalComments: "none",
  logLevel: "warning",
  minify: true,
  outdir: folder,
  target: "es2022",
});
await build({ entryPoints: ["src/page.css"], logLevel: "warning", minify: true, outdir: folder });
for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${folder}/${name}`);
