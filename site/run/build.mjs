// Bundles what the pages run: `node build.mjs FOLDER` writes main.js and worker.js there, as classic scripts, which
// also a page opened from a file may load.
import { build } from "esbuild";

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error("name the folder that the bundles go to: node build.mjs FOLDER");
  process.exit(2);
}
await build({
  entryPoints: ["src/main.js", "src/worker.js"],
  absWorkingDir: import.meta.dirname,
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2021",
  legalComments: "linked",
  logLevel: "warning",
});
