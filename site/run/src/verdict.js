// The outcome of a check as `tito test` says it: ok, FAIL with want and got, todo, or what it waits for.
import { make } from "./dom.js";

// `linkTo(exercise)` gives a link to an exercise's cell, `place(check)` one to the reader's line.
export function verdict(check, actions) {
  const head = make("p", { class: "run-verdict" }, word(check.status), " ", check.check, ...about(check, actions));
  return make("div", { class: `run-check run-check-${check.status.toLowerCase()}` }, head, ...details(check), ...meaning(check));
}

function word(status) {
  return make("b", { class: `run-${status.toLowerCase().replace(" ", "-")}` }, status);
}

function about(check, { linkTo, place }) {
  if (check.status === "waits") return [" for ", linkTo(check.waits_for)];
  if (check.status === "todo") return [": ", linkTo(check.exercise), " is still to be written"];
  return check.status === "FAIL" && check.line ? [": ", place(check)] : [];
}

function details(check) {
  if (check.status !== "FAIL") return [];
  const got = check.got ?? (check.error ? check.error.filter(Boolean).join(": ") : null);
  const rows = [
    ["want", check.want],
    ["got", got && check.inside ? `${got}\nin ${check.inside}` : got],
    ["yours", check.yours],
    ["printed", check.output],
  ].filter(([, text]) => text);
  const list = make("dl", {}, ...rows.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  return [check.expression ? make("pre", {}, check.expression) : null, rows.length ? list : null].filter(Boolean);
}

function meaning(check) {
  if (check.status !== "FAIL") return [];
  const words = [check.says, check.looks_like ? `looks like: ${check.looks_like}` : null].filter(Boolean);
  const paragraphs = words.map((text) => make("p", {}, text));
  if (!check.link) return paragraphs;
  const link = make("a", { href: check.link }, check.looks_like ? "About this mistake" : "About this failure");
  return [...paragraphs, make("p", {}, link)];
}
