// The connection to the hub: one stream for everything, and requests that are done once.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
const TRIES = 6;

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Ask the hub; a request that got no answer is sent again with the same id. */
export async function ask(method, path, body) {
  for (let attempt = 1; ; attempt += 1) {
    let answer;
    try {
      answer = await fetch(path, {
        method,
        headers: body === undefined || body instanceof Blob ? {} : { "content-type": "application/json" },
        body: body === undefined ? undefined : body instanceof Blob ? body : JSON.stringify(body),
      });
    } catch (fault) {
      if (attempt >= TRIES) throw new Error("The hub can't be reached.");
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
  constructor({ onState, onEvents, onLink }) {
    this.followed = new Map();
    this.onState = onState;
    this.onEvents = onEvents;
    this.onLink = onLink;
    this.wait = FIRST_WAIT;
    this.source = null;
    this.timer = 0;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#rest() : this.open()));
    window.addEventListener("online", () => this.open());
  }

  /** Follow one session from a number on, or none. */
  follow(session, after) {
    this.followed = session ? new Map([[session, after]]) : new Map();
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.source?.close();
    const follow = [...this.followed].map(([id, after]) => `${id}:${after}`).join(",");
    const source = new EventSource(`api/stream${follow ? `?follow=${encodeURIComponent(follow)}` : ""}`);
    this.source = source;
    source.addEventListener("state", (event) => {
      this.wait = FIRST_WAIT;
      this.onLink("on");
      this.onState(JSON.parse(event.data));
    });
    source.addEventListener("events", (event) => {
      const { session, events } = JSON.parse(event.data);
      const after = this.followed.get(session);
      const news = after === undefined ? [] : events.filter((each) => each.n > after);
      if (news.length === 0) return;
      this.followed.set(session, news.at(-1).n);
      this.onEvents(session, news);
    });
    source.addEventListener("error", () => {
      if (this.source !== source) return;
      source.close();
      this.onLink("lost");
      this.timer = setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
    });
  }

  /** A page that no one looks at keeps no connection: browsers allow only a few to one server. */
  #rest() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.timer = setTimeout(() => this.open(), LONGEST_WAIT);
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
