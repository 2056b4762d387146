// What runs when: one thing after another in one Python, which Stop ends and which then starts anew.
import { clear, labelOf, setBusy } from "./cell.js";
import { make } from "./dom.js";
import { add, print, showRan } from "./output.js";
import { Refused, Stopped } from "./python.js";
import { keepVerdicts } from "./progress.js";
import { verdict } from "./verdict.js";

const NAMED = 4; // cells that are named when Python starts anew
const SAID_EVERY = 5000; // milliseconds between two words on how long a cell runs

export function makeSession({ page, store, python, cells }) {
  const listeners = new Set();
  let line = Promise.resolve(); // what is under way, and what waits behind it
  let planned = 0; // what was planned before the last Stop does not run any more
  let current = null; // the cell that runs
  let starting = null;
  let ran = [];

  const session = {
    press: (cell) => (cell.busy ? halt(cell) : plan([cell])),
    runAbove: (cell) => runAbove(cell),
    checkAll: (status) => checkAll(status),
    edited: () => listeners.forEach((tell) => tell({ edited: true })),
    listen: (tell) => listeners.add(tell),
  };
  const tell = (news) => listeners.forEach((listener) => listener(news));

  // Python with the lesson open, started once.
  function ready(heard) {
    if (!python.running()) starting = null;
    starting ??= open(heard).catch((error) => {
      starting = null;
      throw error;
    });
    return starting;
  }

  async function open(heard) {
    ran = [];
    const { prebuilt } = await python.start(page.lesson, heard);
    const about = await python.ask({ ask: "open", lesson: page.lesson, saved: store.everything(), prebuilt });
    tell({ opened: about });
  }

  function plan(chosen) {
    const number = planned;
    const ahead = cells.some((cell) => cell.busy);
    const turn = Symbol("one press of a button");
    chosen.forEach((cell, place) => {
      cell.turn = turn;
      setBusy(cell, true);
      cell.status.textContent = ahead || place ? "Waits for the cell before it" : "";
    });
    const all = chosen.map((cell) => {
      const done = line.then(() => (number === planned && cell.busy && cell.turn === turn ? perform(cell) : "stopped"));
      line = done.catch(() => {});
      return done;
    });
    return Promise.all(all);
  }

  async function perform(cell) {
    current = cell;
    clear(cell);
    const say = (text) => (cell.status.textContent = text);
    const heard = (data) => (data.progress ? say(data.progress) : print(cell.output, data.stream, data.text));
    let clock;
    try {
      await ready(heard);
      clock = timed(say);
      const began = performance.now();
      const found = await (cell.role === "check" ? check(cell) : run(cell, heard));
      say(`${found} in ${((performance.now() - began) / 1000).toFixed(2)} s`);
      return found;
    } catch (error) {
      return trouble(error, say);
    } finally {
      clearInterval(clock);
      current = null;
      setBusy(cell, false);
    }
  }

  function trouble(error, say) {
    if (error instanceof Stopped) return "stopped"; // `stop` says the rest
    say(error instanceof Refused ? error.message : `This page failed: ${error.message}.`);
    return "refused";
  }

  async function run(cell, heard) {
    const source = cell.source();
    const { packages } = await python.ask({ ask: "wanted", source });
    if (packages.length) {
      await python.load(packages, heard);
      cell.status.textContent = "Running";
    }
    const answer = await python.ask({ ask: "run", id: cell.id, source }, heard);
    showRan(cell.output, answer, actionsFor(cell));
    if (answer.status !== "error") ran = [...ran.filter((one) => one !== cell), cell];
    return { ok: "Done", todo: "To do", error: "Failed" }[answer.status];
  }

  async function check(cell) {
    const exercise = cell.name.split(" ")[0];
    const answer = await python.ask({ ask: "check", exercise, sources: store.edited() });
    keepVerdicts(store, answer.checks);
    show(answer.checks, cell);
    tell({ checked: answer });
    const own = answer.checks.find((one) => one.id === cell.id) ?? answer.checks[0];
    return { ok: "ok", FAIL: "FAIL", todo: "To do", waits: "Waits" }[own.status] ?? own.status;
  }

  // Each outcome below its own check; what belongs to no check, below the cell that was run.
  function show(checks, asked) {
    for (const one of checks) {
      const cell = cells.find((each) => each.id === one.id) ?? asked;
      if (!cell?.output) continue;
      if (cell !== asked) clear(cell);
      add(cell.output, verdict(one, actionsFor(cell)));
    }
  }

  async function checkAll(status) {
    const say = (text) => (status.textContent = text);
    const number = planned;
    const all = async () => {
      if (number !== planned) return;
      try {
        await ready((data) => data.progress && say(data.progress));
        say("Checking");
        const answer = await python.ask({ ask: "check", exercise: "", sources: store.edited() });
        cells.filter((cell) => cell.role === "check").forEach(clear);
        keepVerdicts(store, answer.checks);
        show(answer.checks, cells.find((cell) => cell.role === "check"));
        tell({ checked: answer });
        say([`${answer.passed} of ${answer.of} ok.`, ...answer.notes.map((note) => `Note: ${note}.`)].join(" "));
      } catch (error) {
        if (trouble(error, say) === "stopped") say("Stopped.");
      }
    };
    line = line.then(all, all);
    return line;
  }

  async function runAbove(cell) {
    const above = cells.slice(0, cells.indexOf(cell));
    const chosen = above.filter((one) => one.role !== "check" && !one.local);
    const left = above.filter((one) => one.local).length;
    const found = await plan(chosen);
    const count = (word) => found.filter((one) => one === word).length;
    const words = [
      `Ran ${count("Done") + count("To do") + count("Failed")} cells above`,
      count("To do") ? `${count("To do")} to do` : "",
      count("Failed") ? `${count("Failed")} failed` : "",
      left ? `${left} left out, which run in a workspace only` : "",
    ];
    if (!found.includes("stopped") && !found.includes("refused")) cell.status.textContent = `${words.filter(Boolean).join("; ")}.`;
  }

  // Ends the cell; one that only waits is taken out of the line, and Python goes on.
  function halt(cell) {
    if (current && cell !== current) {
      setBusy(cell, false);
      cell.status.textContent = "";
    } else stop(cell);
  }

  function stop(cell) {
    planned += 1;
    const lost = ran;
    current = null;
    python.stop();
    cells.filter((one) => one.busy).forEach((one) => {
      one.status.textContent = "Stopped.";
      setBusy(one, false);
    });
    cell.status.textContent = `Stopped. Python starts anew.${lost.length ? ` Run again what you need: ${named(lost)}.` : ""}`;
    line = Promise.resolve();
    ready(() => {}).catch(() => {}); // ready again by the time that it is wanted; trouble is told then
  }

  function actionsFor(cell) {
    const labelled = (label) => cells.find((one) => one.label === label);
    return {
      linkTo: (name) => linkTo(labelled(name) ?? labelled(`exercise ${name}`), name),
      place: (check) => placeOf(check, cells.find((one) => one.id === check.at)),
      name: (id) => cells.find((one) => one.id === id)?.label ?? id,
      runAbove: () => make("button", { type: "button", onclick: () => session.runAbove(cell) }, "Run all above"),
    };
  }

  return session;
}

function linkTo(cell, name) {
  return cell?.name ? make("a", { href: `#${cell.id}` }, cell.name) : name;
}

function placeOf(check, cell) {
  const words = `line ${check.line} of ${cell ? labelOf(cell) : (check.file ?? "").replace(/[<>]/g, "")}`;
  return cell?.name ? make("a", { href: `#${cell.id}` }, words) : words;
}

function named(cells) {
  const labels = cells.map((cell) => cell.label);
  const more = labels.length - NAMED;
  return more > 0 ? `${labels.slice(0, NAMED).join(", ")} and ${more} more` : labels.join(", ");
}

function timed(say) {
  const began = performance.now();
  say("Running");
  return setInterval(() => say(`Running for ${Math.round((performance.now() - began) / 1000)} s; Stop ends it`), SAID_EVERY);
}
