// In the self-study edition a folded solution follows an exercise: a button in it puts it into the exercise's editor.
import { make } from "./dom.js";

export function addSolutionButtons(cells) {
  const exercises = cells.filter((cell) => cell.role === "exercise");
  for (const details of document.querySelectorAll("details.solution")) {
    const cell = exercises.filter((one) => follows(details, one.element)).pop();
    const pre = details.querySelector("pre");
    if (cell && pre) details.append(makeButton(cell, pre.textContent.replace(/\n$/, "")));
  }
}

function follows(later, earlier) {
  return Boolean(earlier.compareDocumentPosition(later) & Node.DOCUMENT_POSITION_FOLLOWING);
}

function makeButton(cell, source) {
  const put = () => {
    cell.use(source);
    cell.status.textContent = "The solution stands here now; undo brings yours back.";
  };
  return make("div", { class: "run-bar" }, make("button", { type: "button", onclick: put }, "Use this solution"));
}
