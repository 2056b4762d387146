// One code cell of the page: its text, its editor once it is near the screen, its buttons and what it put out.
import { make } from "./dom.js";
import { makeEditor, setText } from "./editor.js";
import { clearOutput, makeOutput } from "./output.js";

const HELP = "run-help";
const NEAR = "600px"; // an editor is made when its cell comes so near to the screen

export function makeCells(page, store) {
  addHelp(document.getElementById("in-page"));
  return page.cells
    .map((told) => makeCell(told, document.querySelector(`div.cell.tag_cell-${CSS.escape(told.id)}`), store))
    .filter(Boolean);
}

function addHelp(place) {
  const words = "Shift and Enter run the cell. Escape, then Tab, leaves the editor.";
  place.after(make("p", { id: HELP, class: "run-hidden" }, words));
}

// How messages name a cell; tito/inpage/page.py names it alike.
export function labelOf({ id, role, name }) {
  if (role !== "demo") return `${role} ${name}`.trim();
  return /^cell-\d+$/.test(id) ? id.replace("-", " ") : "this cell";
}

function makeCell(told, element, store) {
  const pre = element?.querySelector(".cell_input pre");
  if (!pre) return null;
  const original = pre.textContent.replace(/\n$/, "");
  const cell = { ...told, element, original, label: labelOf(told), view: null, busy: false };
  cell.source = () => (cell.view ? cell.view.state.doc.toString() : store.source(cell.id) ?? original);
  cell.edited = () => cell.source() !== original;
  cell.attach = (session) => attach(cell, session, store);
  cell.use = (text, focus = true) => use(cell, text, focus);
  return cell;
}

function attach(cell, session, store) {
  if (cell.local) {
    sayWhyLocal(cell);
    return;
  }
  cell.status = make("span", { class: "run-status", role: "status" });
  cell.run = make("button", { type: "button", class: "run-run", onclick: () => session.press(cell) });
  cell.above = make("button", { type: "button", onclick: () => session.runAbove(cell) }, "Run all above");
  cell.above.setAttribute("aria-label", `Run all above ${cell.label}`);
  cell.reset = make("button", { type: "button", onclick: () => cell.use(cell.original) }, "Reset");
  cell.reset.setAttribute("aria-label", `Reset ${cell.label}`);
  cell.bar = make("div", { class: "run-bar" }, cell.run, cell.role === "check" ? null : cell.above, cell.reset, cell.status);
  cell.output = makeOutput(cell.label);
  cell.element.querySelector(".cell_input").after(cell.bar, cell.output);
  cell.element.classList.add("run-cell");
  cell.changed = (text) => {
    store.keep(cell.id, text === cell.original ? null : text);
    showState(cell);
    session.edited(cell);
  };
  cell.mount = () => mount(cell, session);
  showState(cell);
  whenNear(cell.element, cell.mount);
  if (cell.edited()) cell.mount(); // what a reader wrote is shown, however far down it stands
}

function mount(cell, session) {
  if (cell.view) return;
  cell.view = makeEditor({
    source: cell.source(),
    about: `Code of ${cell.label}`,
    help: HELP,
    readOnly: cell.role === "check",
    run: () => cell.busy || session.press(cell), // a second Shift-Enter ends nothing
    changed: (text) => cell.changed(text),
  });
  const input = cell.element.querySelector(".cell_input");
  input.classList.add("run-editor");
  input.replaceChildren(cell.view.dom);
}

function whenNear(element, action) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    action();
  }, { rootMargin: NEAR });
  watch.observe(element);
}

// Another text for the cell; the editor's undo brings the old one back.
function use(cell, text, focus) {
  cell.mount();
  setText(cell.view, text);
  if (focus) cell.view.focus();
}

export function showState(cell) {
  const word = cell.busy ? "Stop" : "Run";
  cell.run.textContent = word;
  cell.run.setAttribute("aria-label", `${word} ${cell.label}`);
  cell.run.classList.toggle("run-stop", cell.busy);
  cell.reset.hidden = !cell.edited();
  cell.output.setAttribute("aria-busy", String(cell.busy));
}

export function setBusy(cell, busy) {
  cell.busy = busy;
  showState(cell);
}

// What the page showed of the cell when it was made goes when it runs anew.
export function clear(cell) {
  cell.element.querySelector(".cell_output:not(.run-output)")?.remove();
  clearOutput(cell.output);
}

function sayWhyLocal(cell) {
  if (document.querySelector(`.local-reason[data-cell="${CSS.escape(cell.id)}"]`)) return;
  const words = `This cell runs in a workspace only: ${cell.local}.`;
  cell.element.after(make("p", { class: "local-reason", "data-cell": cell.id }, words));
}
