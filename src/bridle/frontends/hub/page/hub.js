// The page of the hub: what the address names is drawn, and redrawn whenever the hub has something new.

import { countQuestions } from "./asking.js";
import { drawPairing, help, startDialog, trustLink } from "./dialogs.js";
import { drawHome } from "./home.js";
import { Refused, Stream, ask } from "./link.js";
import { Keys, keep, kept } from "./seal.js";
import { drawSession, openSession, takeEvents } from "./session.js";
import { find, may, say, sendOutbox, titleOf, unseal, view } from "./view.js";

const KEEP_EVERY = 5_000;

let stream = null;
let isDue = false;
let keptAt = 0;
let taking = Promise.resolve();
const last = {};

begin();

async function begin() {
  if ("serviceWorker" in navigator && window.isSecureContext) navigator.serviceWorker.register("worker.js").catch(() => null);
  view.keys = view.keys ?? (await Keys.open().catch(() => null));
  try {
    view.me = await ask("GET", "api/me");
  } catch (fault) {
    if (fault instanceof Refused && fault.status === 401) {
      linkState("off");
      drawPairing(/^#pair=([\w-]{4,40})$/.exec(window.location.hash)?.[1] ?? "");
      return;
    }
    await showKept();
    linkState("lost");
    setTimeout(begin, 3_000);
    return;
  }
  await view.keys?.refresh(ask).catch(() => null);
  if (!stream) {
    window.addEventListener("hashchange", route);
    window.addEventListener("keydown", keyPressed);
    find("asking").addEventListener("click", () => {
      window.location.hash = "";
    });
    stream = new Stream({ onState: takeState, onEvents: (session, events) => takeEvents(session, events, schedule), onLink: linkState });
  }
  await route();
}

/** Show what the address names. */
async function route() {
  const trust = /^#trust=([\w.-]+)$/.exec(window.location.hash);
  if (trust) {
    // The secret must not stay in the history of the browser.
    window.history.replaceState(null, "", "#");
    try {
      await trustLink(trust[1]);
    } catch (fault) {
      say(fault.message);
    }
  } else if (window.location.hash.startsWith("#pair=")) window.history.replaceState(null, "", "#");
  else say("");
  const found = /^#s\/(session_[0-9a-z]+)(?:@(\d+))?$/.exec(window.location.hash);
  if (found) {
    find("home").hidden = false;
    await openSession(found[1], Number(found[2] ?? 0), { stream, schedule });
    return;
  }
  view.open = null;
  find("title").textContent = "bridle hub";
  find("main").replaceChildren();
  find("main").className = "home";
  stream.follow(null, 0);
  schedule();
}

/** What the hub says, in order: some of it must be decrypted first. */
function takeState(state) {
  taking = taking.then(async () => {
    if (state.environments?.some((each) => each.directory.startsWith("sealed:") && !view.keys?.has(each.machine))) await view.keys?.refresh(ask).catch(() => null);
    apply(await unseal(state));
    if (state.machines && state.sessions) await keepState(state);
    schedule();
  });
}

function apply(state) {
  if (state.machines) view.machines = new Map(state.machines.map((each) => [each.id, each]));
  if (state.environments) view.environments = state.environments;
  if (state.sessions) view.sessions = new Map(state.sessions.map((each) => [each.id, each]));
  for (const each of state.changed ?? []) {
    if (each.archived) view.sessions.delete(each.id);
    else view.sessions.set(each.id, each);
  }
  if (state.questions) view.questions = state.questions;
}

/** Keep the lists as the hub sent them, for when there is no network. */
async function keepState(state) {
  Object.assign(last, state);
  if (Date.now() - keptAt < KEEP_EVERY) return;
  keptAt = Date.now();
  const { machines, environments, sessions, questions } = last;
  await keep("state", { me: view.me, machines, environments, sessions: sessions.slice(0, 200), questions }).catch(() => null);
}

async function showKept() {
  if (view.me) return;
  const state = await kept("state").catch(() => null);
  if (!state?.me) {
    say("The hub can't be reached.");
    return;
  }
  view.me = state.me;
  apply(await unseal(state));
  find("main").className = "home";
  drawHome(schedule);
}

/** Draw once for everything that has come since the last picture. */
function schedule() {
  if (isDue) return;
  isDue = true;
  const picture = () => {
    isDue = false;
    drawCount();
    if (view.open) drawSession();
    else drawHome(schedule);
  };
  if (document.hidden) setTimeout(picture, 0);
  else requestAnimationFrame(picture);
}

function drawCount() {
  const { open, elsewhere, words, label } = countQuestions();
  document.title = `${open ? `(${open}) ` : ""}${view.open ? `${titleOf(view.open)} · ` : ""}bridle hub`;
  find("asking").hidden = !view.open || elsewhere === 0;
  find("asking").textContent = words;
  find("asking").setAttribute("aria-label", label);
  find("home").hidden = !view.open;
  navigator.setAppBadge?.(open).catch(() => null);
}

function linkState(state) {
  const words = { on: "connected", lost: "not connected, trying again", off: "not paired" };
  if (state === "on" && view.link !== "on") sendOutbox();
  view.link = state;
  find("link").dataset.state = state;
  find("link").firstElementChild.textContent = words[state];
}

function keyPressed(event) {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "Escape" && view.open && !document.querySelector("dialog")) {
    if (isTyping) event.target.blur();
    else window.location.hash = "";
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    "/": () => find("filter")?.focus(),
    n: () => may("start") && view.environments.length && startDialog(),
    p: () => document.querySelector(".compose textarea")?.focus(),
    q: () => document.querySelector(".question button")?.focus(),
    "?": help,
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}
