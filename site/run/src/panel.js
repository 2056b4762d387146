// Above the lesson's cells: how far the reader is, whose answers of earlier lessons are used, and what is for all cells.
import { make } from "./dom.js";
import { download } from "./download.js";
import { progressOf } from "./progress.js";

export function makePanel(place, { page, settings, store, cells, session }) {
  const bar = make("progress", { max: 1, value: 0, "aria-label": "Checks that are ok" });
  const words = make("span", { role: "status" });
  const earlier = make("p", { class: "run-earlier", hidden: true });
  const status = make("span", { class: "run-status", role: "status" });
  const others = make("p", { class: "run-others", hidden: true });
  const button = (text, action) => make("button", { type: "button", onclick: action }, text);
  const buttons = make(
    "div",
    { class: "run-bar" },
    button("Check all", () => session.checkAll(status)),
    button("Download as notebook", () => download(settings.notebook(page.stem), page.stem, cells, status)),
    button("Start over", () => startOver(page, store, cells, status)),
    status,
  );
  const panel = make("section", { class: "run-panel", "aria-label": "Your progress" });
  panel.append(make("p", { class: "run-progress" }, bar, " ", words), earlier, others, buttons);
  place.after(panel);

  const refresh = () => {
    const { ok, stale, of } = progressOf(cells, store.passed());
    [bar.max, bar.value] = [Math.max(of, 1), ok];
    const text = `${ok} of ${of} checks ok${stale ? `, ${stale} to check again as you changed its exercise` : ""}.`;
    if (words.textContent !== text) words.textContent = text;
    if (ok || stale) store.count(ok, of);
    showOthers(others, store.counts().filter((row) => row.id !== page.lesson));
  };
  session.listen((news) => {
    if (news.opened) showEarlier(earlier, news.opened);
    else refresh();
  });
  refresh();
}

function showEarlier(place, { line, unwritten }) {
  place.textContent = line;
  place.hidden = !line;
  if (unwritten.length) place.append(" ", make("a", { href: `${unwritten[0]}.html` }, "Open it"));
}

function showOthers(place, rows) {
  place.textContent = `Other lessons: ${rows.map(({ id, ok, of }) => `${id} ${ok} of ${of}`).join(", ")}.`;
  place.hidden = rows.length === 0;
}

function startOver(page, store, cells, status) {
  const edited = cells.filter((cell) => cell.edited());
  if (!window.confirm(`Give ${edited.length} edited cells of lesson ${page.lesson} their first text back, and forget its progress?`)) return;
  store.forget();
  edited.forEach((cell) => cell.use(cell.original, false));
  store.forget();
  status.textContent = "Everything is as it was at first.";
}
