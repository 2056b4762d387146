// What the browser keeps: for each lesson the edited cells, which checks passed on which text, and how many there are.
//   tinytorch:01:cells = {cell id: source}    tinytorch:01:passed = {check: digest}    tinytorch:01:count = {ok, of}

const PREFIX = "tinytorch:";

export function makeStore(lesson) {
  const own = lesson ?? "home";
  let cells = read(own, "cells");
  let passed = read(own, "passed");
  const later = delayed(300);
  window.addEventListener("pagehide", later.now);

  return {
    source: (id) => cells[id],
    // A source of null is the course's own again.
    keep(id, source) {
      if (source === null) delete cells[id];
      else cells[id] = source;
      later(() => write(own, "cells", cells));
    },
    edited: () => ({ ...cells }),
    passed: () => passed,
    pass(check, digest) {
      if (digest === null) delete passed[check];
      else passed[check] = digest;
      write(own, "passed", passed);
    },
    count: (ok, of) => write(own, "count", { ok, of }),
    counts,
    forget() {
      [cells, passed] = [{}, {}];
      ["cells", "passed", "count"].forEach((part) => remove(own, part));
    },
    // Everything of all lessons, for Python: {"01": {cells, passed}, ...}
    everything() {
      later.now();
      const found = Object.fromEntries(lessons().map((id) => [id, { cells: read(id, "cells"), passed: read(id, "passed") }]));
      return { ...found, ...(lesson ? { [lesson]: { cells, passed } } : {}) };
    },
  };
}

function counts() {
  const rows = lessons().map((id) => ({ id, ...read(id, "count") }));
  return rows.filter((row) => Number.isInteger(row.of)).sort((a, b) => a.id.localeCompare(b.id));
}

function lessons() {
  try {
    const names = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    return [...new Set(names.map((key) => key.split(":")[1]))].filter((id) => /^[a-z]?\d+$/.test(id));
  } catch {
    return [];
  }
}

function read(lesson, part) {
  try {
    const value = JSON.parse(localStorage.getItem(`${PREFIX}${lesson}:${part}`));
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {}; // nothing was kept, or the browser lets a page keep nothing
  }
}

function write(lesson, part, value) {
  try {
    if (Object.keys(value).length) localStorage.setItem(`${PREFIX}${lesson}:${part}`, JSON.stringify(value));
    else remove(lesson, part);
  } catch {
    // the browser lets a page keep nothing, or it is full: what is on the page works on
  }
}

function remove(lesson, part) {
  try {
    localStorage.removeItem(`${PREFIX}${lesson}:${part}`);
  } catch {
    // as above
  }
}

// Calls the newest of several actions once, a little later; `now` calls it at once.
function delayed(milliseconds) {
  let timer;
  let waiting = null;
  const now = () => {
    clearTimeout(timer);
    waiting?.();
    waiting = null;
  };
  const plan = (action) => {
    waiting = action;
    clearTimeout(timer);
    timer = setTimeout(now, milliseconds);
  };
  plan.now = now;
  return plan;
}
