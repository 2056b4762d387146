// The lesson's notebook with the reader's cells in it, to go on with in a workspace: tito open --from FILE.
import { make } from "./dom.js";
import { obstacle } from "./settings.js";

export async function download(address, stem, cells, status) {
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    save(filled(await answer.json(), cells), `${stem}.ipynb`);
    status.textContent = `Saved ${stem}.ipynb; go on with it in a workspace: tito open --from ${stem}.ipynb`;
  } catch (error) {
    status.textContent = obstacle().replace("Running", "A download") || `The notebook cannot be loaded: ${error.message}.`;
  }
}

export function filled(notebook, cells) {
  const sources = new Map(cells.filter((cell) => cell.edited()).map((cell) => [cell.id, cell.source()]));
  const fill = (cell) => (sources.has(cell.id) ? { ...cell, source: sources.get(cell.id).split(/(?<=\n)/) } : cell);
  return { ...notebook, cells: notebook.cells.map(fill) };
}

function save(notebook, name) {
  const file = new Blob([`${JSON.stringify(notebook, null, 1)}\n`], { type: "application/x-ipynb+json" });
  const link = make("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
