// Which checks are ok, and which were before their exercise was changed.
import { digest } from "./digest.js";

export function keepVerdicts(store, checks) {
  for (const check of checks.filter((one) => one.id)) store.pass(check.check, check.status === "ok" ? check.digest : null);
}

// {ok, stale, of}: checks of the page's cells.
export function progressOf(cells, passed) {
  const checks = cells.filter((cell) => cell.role === "check");
  const states = checks.map((check) => stateOf(check, cells, passed));
  const count = (state) => states.filter((one) => one === state).length;
  return { ok: count("ok"), stale: count("stale"), of: checks.length };
}

function stateOf(check, cells, passed) {
  const then = passed[check.name];
  if (then === undefined) return "open";
  const exercise = check.name.split(" ")[0];
  const owner = cells.find((cell) => ["exercise", "twin"].includes(cell.role) && cell.name === exercise);
  return then === (owner ? digest(owner.source()) : "") ? "ok" : "stale";
}
