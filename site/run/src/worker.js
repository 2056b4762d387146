// The worker that holds Python. It takes {kind: "start" | "ask" | "load", ...} and answers {kind: "done", answer} or
// {kind: "failed", text}; meanwhile {kind: "heard", ...} tells what is printed and how far it is.

const COURSE = "/course";
const FOLDER = "/home/pyodide/page";
const PREBUILT = "/tmp/needs.zip";

let python = null;
let door = null;

const say = (message) => self.postMessage({ kind: "heard", ...message });

const handlers = {
  async start({ pyodide, wheel, needs }) {
    say({ progress: "Loading Python" });
    const files = [fetched(wheel), needs ? fetched(needs).catch(() => null) : null]; // while Python comes
    try {
      importScripts(`${pyodide}pyodide.js`);
    } catch {
      throw new Error(`Running needs Python, and ${pyodide}pyodide.js cannot be loaded; check the connection and run again.`);
    }
    python = await self.loadPyodide({ indexURL: pyodide, packages: ["numpy"] });
    say({ progress: "Loading the course" });
    const [course, prebuilt] = await Promise.all(files);
    python.unpackArchive(course, "zip", { extractDir: COURSE });
    if (prebuilt) python.FS.writeFile(PREBUILT, new Uint8Array(prebuilt));
    say({ progress: "Starting the course" });
    python.globals.set("tell", (stream, text) => say({ stream, text }));
    python.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(COURSE)})`);
    door = python.runPython(`from tito.inpage.door import Door; Door(${JSON.stringify(FOLDER)}, tell)`);
    return { prebuilt: prebuilt ? PREBUILT : null, version: python.version };
  },
  ask({ request }) {
    return door.ask(request);
  },
  async load({ packages }) {
    say({ progress: `Loading ${packages.join(", ")}, this once` });
    await python.loadPackage(packages, { messageCallback: (text) => say({ progress: text }) });
  },
};

async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`Running needs ${address}, and the server answers ${answer.status}.`);
  return answer.arrayBuffer();
}

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ kind: "done", answer: await handlers[data.kind](data) });
  } catch (error) {
    self.postMessage({ kind: "failed", text: error.message });
  }
};
