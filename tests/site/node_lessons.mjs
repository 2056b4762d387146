// Puts requests to tito.inpage.door in Pyodide, as a page's worker does, without a browser:
//   node node_lessons.mjs PYODIDE COURSE < requests.json > answers.json
// PYODIDE is the folder that site/vendor.py fills, COURSE the checkout; requests and answers are lists.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, course] = process.argv.slice(2).map((path) => resolve(path));
const requests = JSON.parse(readFileSync(0, "utf8"));
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${pyodide}/`, packages: ["numpy"], stdout: console.error });
const printed = [];
python.mountNodeFS("/checkout", course);
python.globals.set("tell", (kind, text) => printed.push([kind, text]));
python.runPython(`
import shutil, sys
for name in ("tito", "modules", "course.toml"):
    copy = shutil.copytree if "." not in name else shutil.copyfile
    more = {"ignore": shutil.ignore_patterns("__pycache__", "figures")} if "." not in name else {}
    copy(f"/checkout/{name}", f"/course/{name}", **more)
sys.path.insert(0, "/course")
`);
const door = python.runPython(`from tito.inpage.door import Door; Door("/home/pyodide/page", tell)`);
const answers = requests.map((request) => {
  printed.length = 0;
  return { ...JSON.parse(door.ask(JSON.stringify(request))), printed: [...printed] };
});
process.stdout.write(JSON.stringify(answers));
