// The way to the session: numbered lines come in, actions go out, and neither is lost or doubled.

const PATIENCE = 20_000;
const SHORTEST = 500;
const LONGEST = 10_000;
const TRIES = 8;
const POLL = 5_000;
/** A page that is always looked at. */
const IN_SIGHT = { hidden: () => false, changed: () => new Promise(() => {}) };

/** Cuts a stream into lines of JSON. */
export class Lines {
  #rest = "";

  feed(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
  }
}

/** What to do with a line, given what came before: take it, skip it, or start over. */
export function weigh(position, line) {
  if (line.beat) return "skip";
  if (line.snapshot) return "begin";
  if (line.n <= position.n) return "skip";
  return line.n === position.n + 1 ? "take" : "broken";
}

/** A random id; works also where pages are not served by https. */
export function newId(fill = (bytes) => crypto.getRandomValues(bytes)) {
  const bytes = fill(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export class Refusal extends Error {
  constructor(status, answer) {
    super(answer?.error ?? `The session answered ${status}.`);
    this.status = status;
    this.decided = answer?.decided ?? null;
  }
}

/** Nothing more will come; the message says why. */
export class Over extends Error {}

/** Whether a page is looked at, and when that changes. */
export function sightOf(page) {
  let turn = null;
  let promise = null;
  const renew = () => (promise = new Promise((resolve) => (turn = resolve)));
  renew();
  page.addEventListener("visibilitychange", () => {
    const turned = turn;
    renew();
    turned();
  });
  return { hidden: () => page.hidden, changed: () => promise };
}

export class Connection {
  constructor(token, client, { send = (...given) => fetch(...given), pause = SHORTEST, poll = POLL } = {}) {
    this.poll = poll;
    this.token = token;
    this.client = client;
    this.send = send;
    this.pause = pause;
  }

  async get(path) {
    return read(await this.send(path, this.#options({})));
  }

  /** Say it again until it is answered; the id makes sure that it is done once. */
  async post(path, body) {
    const options = this.#options({ method: "POST", body: JSON.stringify(body), type: "application/json" });
    for (let attempt = 1; ; attempt += 1) {
      let response;
      try {
        response = await this.send(path, options);
      } catch (fault) {
        if (attempt === TRIES) throw new Error("The session cannot be reached.");
        await wait(Math.min(LONGEST, this.pause * 2 ** attempt));
        continue;
      }
      return read(response);
    }
  }

  /** Start another session; one, however often the request has to be repeated. */
  open(resume) {
    return this.post("api/sessions", { id: newId(), ...(resume ? { resume } : {}) });
  }

  act(session, wish) {
    return this.post(`api/sessions/${session}/act`, { id: newId(), ...wish });
  }

  /**
   * Hand on everything that happens, in order and once, until it is stopped. A browser has few connections for
   * all its tabs: one that no one looks at asks now and then instead of keeping its own.
   */
  async follow(session, { signal, onLine, onState, sight = IN_SIGHT }) {
    const position = { epoch: "", n: 0 };
    let delay = this.pause;
    while (!signal.aborted) {
      const hidden = sight.hidden();
      let whole = false;
      if (!hidden) onState("connecting");
      try {
        await this.#stream(session, position, signal, sight, (kind, line) => {
          delay = this.pause;
          onState("on");
          onLine(kind, line);
        });
        whole = true;
      } catch (fault) {
        if (signal.aborted) return;
        if (fault instanceof Over) {
          onState("ended", fault.message, true);
          return;
        }
        if (fault instanceof Refusal && [401, 403, 404, 421].includes(fault.status)) {
          onState("ended", fault.message);
          return;
        }
      }
      if (signal.aborted) return;
      if (hidden !== sight.hidden()) continue;
      if (hidden) {
        if (!whole) onState("lost");
        await Promise.race([sight.changed(), wait(this.poll)]);
        continue;
      }
      onState("lost");
      await wait(delay);
      delay = Math.min(LONGEST, delay * 2);
    }
  }

  async #stream(session, position, signal, sight, onLine) {
    const once = sight.hidden();
    const stop = new AbortController();
    const forward = () => stop.abort();
    signal.addEventListener("abort", forward);
    let silence = setTimeout(forward, PATIENCE);
    if (!once) sight.changed().then(forward);
    try {
      const place = `epoch=${encodeURIComponent(position.epoch)}&after=${position.n}${once ? "&once=1" : ""}`;
      const response = await this.send(`api/sessions/${session}/events?${place}`, { ...this.#options({}), signal: stop.signal });
      if (!response.ok) await read(response);
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      const lines = new Lines();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(forward, PATIENCE);
        for (const line of lines.feed(decoder.decode(value, { stream: true }))) {
          if (line.over !== undefined) throw new Over(line.over);
          const kind = weigh(position, line);
          if (kind === "broken") {
            position.epoch = "";
            return;
          }
          if (kind === "begin") Object.assign(position, { epoch: line.epoch, n: line.n });
          if (kind === "take") position.n = line.n;
          onLine(kind, line);
        }
      }
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", forward);
      stop.abort();
    }
  }

  #options({ method = "GET", body = undefined, type = undefined }) {
    const headers = { authorization: `Bearer ${this.token}`, "bridle-client": this.client };
    if (type) headers["content-type"] = type;
    return { method, body, headers, cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
  }
}

async function read(response) {
  let answer = null;
  try {
    answer = await response.json();
  } catch (fault) {
    answer = null;
  }
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer;
}

function wait(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
