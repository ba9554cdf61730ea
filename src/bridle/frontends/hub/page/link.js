// The connection to the hub: one stream for everything, and requests that are done once.

import { Multiplexer } from "./stream.js";

const FIRST_WAIT = 500;
const LOOK_IN = 10_000;
const SIGN_OF_LIFE = 50_000;
const TRIES = 6;

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The hub gave no answer: what was asked for can be asked again. */
export class Unreachable extends Error {}

/** Ask the hub; a request that got no answer is sent again with the same id. */
export async function ask(method, path, body, { tries = TRIES } = {}) {
  const raw = body instanceof Blob || body instanceof Uint8Array;
  for (let attempt = 1; ; attempt += 1) {
    let answer;
    try {
      answer = await fetch(path, {
        method,
        headers: body === undefined || raw ? {} : { "content-type": "application/json" },
        body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
      });
    } catch {
      if (attempt >= tries || !navigator.onLine) throw new Unreachable("The hub can't be reached.");
      await pause(FIRST_WAIT * attempt);
      continue;
    }
    const said = answer.status === 204 ? null : await answer.json().catch(() => null);
    if (answer.ok) return said;
    throw new Refused(answer.status, said?.error?.message ?? `The hub answered with status ${answer.status}.`);
  }
}

/** A request id, also where the page is not served by https. */
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** What happens at the hub, across lost connections: each event once and in order. */
export class Stream {
  #port;
  #isShared = false;
  #last = { session: null, after: 0 };
  #timer = 0;

  constructor({ onState, onEvents, onLink }) {
    this.#port = this.#connect();
    this.#port.onmessage = ({ data }) => {
      if (data.kind === "lost") onLink("lost");
      else if (data.kind === "state") {
        onLink("on");
        onState(data.state);
      } else if (data.session === this.#last.session) {
        this.#last.after = data.events.at(-1).n;
        onEvents(data.session, data.events);
      }
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#rest() : this.open()));
    window.addEventListener("online", () => this.open());
    window.addEventListener("pagehide", () => this.#port.postMessage({ kind: "bye" }));
    window.addEventListener("pageshow", (event) => event.persisted && this.open());
    setInterval(() => this.#port.postMessage({ kind: "here" }), SIGN_OF_LIFE);
  }

  /** Follow one session from a number on, or none. */
  follow(session, after) {
    this.#last = { session, after };
    this.open();
  }

  open() {
    clearTimeout(this.#timer);
    this.#port.postMessage({ kind: "follow", ...this.#last });
  }

  #connect() {
    try {
      const worker = new SharedWorker("stream.js", { type: "module", name: "bridle-hub" });
      this.#isShared = true;
      return worker.port;
    } catch {
      const { port1, port2 } = new MessageChannel();
      new Multiplexer().add(port2);
      return port1;
    }
  }

  /** A page that no one looks at keeps no connection of its own: browsers allow only a few to one server. */
  #rest() {
    if (this.#isShared) return;
    this.#port.postMessage({ kind: "bye" });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.open(), LOOK_IN);
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
