// One connection to the hub for all tabs of a browser. Where browsers can, this runs as a worker that they share.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
const SILENT = 180_000;

/** Passes what the hub sends on to every tab, each event once and in order. */
export class Multiplexer {
  #tabs = new Map();
  #source = null;
  #timer = 0;
  #wait = FIRST_WAIT;

  /** A tab talks to us by this port from now on. */
  add(port) {
    this.#tabs.set(port, { session: null, after: 0, seen: Date.now() });
    port.onmessage = ({ data }) => this.#take(port, data);
    port.start?.();
  }

  #take(port, said) {
    const tab = this.#tabs.get(port) ?? { session: null, after: 0 };
    tab.seen = Date.now();
    this.#tabs.set(port, tab);
    if (said.kind === "bye") {
      this.#tabs.delete(port);
      if (this.#tabs.size === 0) this.#close();
    } else if (said.kind === "follow") {
      tab.session = said.session;
      tab.after = said.after;
      this.#open();
    } else if (said.kind === "open") this.#open();
  }

  #close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #open() {
    this.#close();
    for (const [port, { seen }] of this.#tabs) if (Date.now() - seen > SILENT) this.#tabs.delete(port);
    const followed = new Map();
    for (const { session, after } of this.#tabs.values()) {
      if (session) followed.set(session, Math.min(after, followed.get(session) ?? after));
    }
    const follow = [...followed].map(([id, after]) => `${id}:${after}`).join(",");
    const source = new EventSource(`api/stream${follow ? `?follow=${encodeURIComponent(follow)}` : ""}`);
    this.#source = source;
    source.addEventListener("state", (event) => {
      this.#wait = FIRST_WAIT;
      this.#tell({ kind: "state", state: JSON.parse(event.data) });
    });
    source.addEventListener("events", (event) => {
      const { session, events } = JSON.parse(event.data);
      for (const [port, tab] of this.#tabs) {
        if (tab.session !== session) continue;
        const news = events.filter((each) => each.n > tab.after);
        if (news.length === 0) continue;
        tab.after = news.at(-1).n;
        port.postMessage({ kind: "events", session, events: news });
      }
    });
    source.addEventListener("error", () => {
      if (this.#source !== source) return;
      source.close();
      this.#tell({ kind: "lost" });
      this.#timer = setTimeout(() => this.#open(), this.#wait);
      this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    });
  }

  #tell(message) {
    for (const port of this.#tabs.keys()) port.postMessage(message);
  }
}

if (typeof SharedWorkerGlobalScope !== "undefined" && self instanceof SharedWorkerGlobalScope) {
  const multiplexer = new Multiplexer();
  self.onconnect = (event) => multiplexer.add(event.ports[0]);
}
