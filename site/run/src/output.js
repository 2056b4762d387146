// What a cell puts out: printed text as it comes, then its value, figures, and an error cut to the reader's cells.
import { make } from "./dom.js";

export function makeOutput(label) {
  return make("div", { class: "run-output", role: "log", "aria-label": `Output of ${label}`, hidden: true });
}

export function clearOutput(output) {
  output.replaceChildren();
  output.hidden = true;
}

export function add(output, ...elements) {
  output.append(...elements);
  output.hidden = output.childNodes.length === 0;
}

// Printed text; what follows of the same kind goes on in the same block.
export function print(output, kind, text) {
  const last = output.lastElementChild;
  const block = last?.dataset.kind === kind ? last : make("pre", { "data-kind": kind, class: kind === "err" ? "run-err" : "" });
  block.append(text);
  if (block !== last) add(output, block);
}

export function showRan(output, ran, actions) {
  if (ran.html) add(output, withHtml(ran.html));
  else if (ran.value) add(output, make("pre", {}, ran.value));
  ran.figures.forEach((figure) => add(output, picture(figure)));
  if (ran.status === "todo") add(output, todo(ran.todo, actions));
  if (ran.error) add(output, make("pre", { class: "run-error" }, ran.error));
  if (ran.not_run.length) add(output, make("p", {}, `${actions.name(ran.not_run[0])} defines ${ran.missing} and has not run. `, actions.runAbove()));
}

function withHtml(html) {
  const box = make("div", { class: "run-html" });
  box.innerHTML = html; // of the reader's own code, on the reader's own page
  return box;
}

function picture({ png, width, alt }) {
  return make("img", { src: `data:image/png;base64,${png}`, width, alt });
}

function todo(label, actions) {
  const link = actions.linkTo(label);
  return make("p", { class: "run-verdict" }, make("b", { class: "run-todo" }, "todo"), " ", link, " is still to be written.");
}
