// Python in a worker: started when first asked, asked one thing at a time, ended by `stop`, whatever it is doing.
import { obstacle } from "./settings.js";

export class Stopped extends Error {}
export class Refused extends Error {}

export function makePython(settings) {
  let worker = null;
  let waiting = null; // {resolve, reject, heard} of what was asked

  function send(message, heard) {
    return new Promise((resolve, reject) => {
      waiting = { resolve, reject, heard };
      worker.postMessage(message);
    });
  }

  function receive({ data }) {
    if (data.kind === "heard") {
      waiting?.heard?.(data);
      return;
    }
    const { resolve } = waiting;
    if (data.kind === "failed") {
      end(new Refused(data.text)); // what fails here leaves Python in a state that nobody knows
      return;
    }
    waiting = null;
    resolve(data.answer);
  }

  function end(error) {
    worker?.terminate();
    worker = null;
    waiting?.reject(error);
    waiting = null;
  }

  return {
    running: () => worker !== null,
    // Starts the worker and loads Python; `heard` is told how far it is.
    async start(lesson, heard) {
      const why = obstacle();
      if (why) throw new Refused(why);
      worker?.terminate(); // one in which no lesson could be opened
      try {
        worker = new Worker(settings.worker);
      } catch (error) {
        throw new Refused(`Running needs ${settings.worker}, which cannot be loaded: ${error.message}.`);
      }
      worker.onmessage = receive;
      worker.onerror = (event) => end(new Refused(`Python ended: ${event.message || "the worker cannot be loaded"}.`));
      const { pyodide, wheel } = settings;
      return send({ kind: "start", pyodide, wheel, needs: settings.needs(lesson) }, heard);
    },
    ask: (request, heard) => send({ kind: "ask", request: JSON.stringify(request) }, heard).then(answered),
    load: (packages, heard) => send({ kind: "load", packages }, heard),
    stop: () => end(new Stopped()),
  };
}

function answered(text) {
  const answer = JSON.parse(text);
  if (answer.refused) throw new Refused(answer.refused);
  return answer;
}
