// Where things lie: addresses in _static/run/config.js are relative to the folder of this script.

export function readSettings(script, given = {}) {
  const address = (path) => new URL(path, script).href;
  return {
    worker: address("worker.js"),
    pyodide: address(given.pyodide ?? "../pyodide/"),
    wheel: given.wheel ? address(given.wheel) : null,
    needs: given.needs ? (lesson) => address(`needs/${lesson ?? "all"}.zip`) : () => null,
    notebook: (stem) => address(`../notebooks/${stem}.ipynb`),
  };
}

// Why nothing can run here, in one sentence; "" where it can.
export function obstacle() {
  if (location.protocol === "file:") {
    return "Running needs the page from a server: type python3 -m http.server in the site's folder, then open http://localhost:8000.";
  }
  if (typeof Worker === "undefined" || typeof WebAssembly === "undefined") {
    return "Running needs a browser with workers and WebAssembly: Firefox, Chrome, Edge or Safari of the last years.";
  }
  return "";
}
