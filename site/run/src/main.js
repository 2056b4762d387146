// Makes the cells of a page run. How to read it: this file finds the cells and starts everything; cell.js is one cell
// with its editor and buttons, session.js decides what runs when, python.js talks with the worker that holds Python,
// verdict.js and output.js show what came, progress.js and store.js keep it, download.js makes a notebook of it.
import { makeCells } from "./cell.js";
import { makePanel } from "./panel.js";
import { makePython } from "./python.js";
import { readSettings } from "./settings.js";
import { makeSession } from "./session.js";
import { makeStore } from "./store.js";
import { addSolutionButtons } from "./solutions.js";

const settings = readSettings(document.currentScript.src, window.TINYTORCH_RUN);

function start() {
  const told = document.getElementById("in-page");
  if (!told) return;
  const page = JSON.parse(told.textContent);
  const store = makeStore(page.lesson);
  const python = makePython(settings);
  const cells = makeCells(page, store);
  const session = makeSession({ page, settings, store, python, cells });
  cells.forEach((cell) => cell.attach(session));
  if (page.lesson) makePanel(told, { page, settings, store, cells, session });
  addSolutionButtons(cells);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
