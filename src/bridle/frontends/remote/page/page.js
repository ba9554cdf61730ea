// Puts the conversation on the page and passes on what is typed and pressed.

import { Conversation, briefly, clean, reveal, segments } from "./conversation.js";
import { Connection } from "./connection.js";
import { draw, element, fields } from "./questions.js";

const KEY = "bridle-key";
const find = (id) => document.getElementById(id);

const view = {
  conversation: new Conversation(),
  drawn: new Map(),
  asked: new Map(),
  answered: new Set(),
  session: null,
  following: null,
  lost: true,
};

start();

function start() {
  const connection = new Connection(takeKey(), clientName());
  find("compose").addEventListener("submit", (event) => {
    event.preventDefault();
    sendPrompt(connection);
  });
  find("prompt").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      sendPrompt(connection);
    }
  });
  find("stop").addEventListener("click", () => attempt(() => connection.act(view.session, { do: "interrupt" })));
  find("mode").addEventListener("change", (event) => {
    attempt(() => connection.act(view.session, { do: "mode", mode: event.target.value })).finally(drawState);
  });
  find("sessions").addEventListener("change", (event) => enter(connection, event.target.value));
  find("sessions").addEventListener("focus", () => attempt(() => list(connection)));
  find("open").addEventListener("click", () => openSession(connection));
  // A new key may be pasted into the address of a page that is open.
  window.addEventListener("hashchange", () => window.location.reload());
  choose(connection);
}

/** The key stands behind the # of the address, which no server sees, and is taken out of it at once. */
function takeKey() {
  const given = window.location.hash.slice(1);
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", window.location.pathname);
  }
  return sessionStorage.getItem(KEY) ?? "";
}

function clientName() {
  const agent = navigator.userAgent;
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"].find((name) => agent.includes(name)) ?? "elsewhere";
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((name) => agent.includes(name)) ?? "a browser";
  return `${browser === "Edg" ? "Edge" : browser} on ${system}`;
}

/** Show which sessions there are. */
async function list(connection) {
  const { sessions, opens } = await connection.get("api/sessions");
  const place = find("sessions");
  const chosen = view.session;
  place.replaceChildren();
  for (const each of sessions) {
    const option = element("option", "", clean(each.name));
    option.value = each.id;
    place.append(option);
  }
  place.hidden = sessions.length < 2 && !opens;
  find("open").hidden = !opens;
  if (chosen) place.value = chosen;
  return sessions;
}

async function choose(connection, wanted) {
  try {
    const sessions = await list(connection);
    const known = sessions.find((each) => each.id === (wanted ?? view.session)) ?? sessions[0];
    if (known) {
      find("sessions").value = known.id;
      enter(connection, known.id);
    } else showConnection("on", "no session yet");
  } catch (fault) {
    if (fault.status) {
      showConnection("lost", fault.message);
      return;
    }
    showConnection("lost", "cannot be reached, trying again");
    setTimeout(() => choose(connection, wanted), 3_000);
  }
}

async function openSession(connection) {
  const made = await attempt(() => connection.open());
  if (made) choose(connection, made.id);
}

function enter(connection, session) {
  view.following?.abort();
  view.following = new AbortController();
  view.session = session;
  view.conversation = new Conversation();
  clearPage();
  connection.follow(session, {
    signal: view.following.signal,
    onLine: (kind, line) => {
      if (kind === "begin") {
        view.conversation.begin(line.snapshot);
        clearPage();
      } else if (kind === "take") view.conversation.take(line.frame);
      else return;
      schedule(connection);
    },
    onState: (state, why) => {
      view.lost = state !== "on";
      const words = { connecting: "connecting", on: "", lost: "not connected, trying again", ended: why ?? "ended" };
      if (state === "on") drawState();
      else showConnection("lost", words[state]);
      if (state === "ended" && !find("open").hidden) setTimeout(() => choose(connection), 2_000);
    },
  });
}

let due = false;

/** Draw once for everything that came since the last picture. */
function schedule(connection) {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    const place = find("conversation");
    const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 60;
    drawConversation(place);
    drawQuestions(connection);
    drawState();
    if (atEnd) place.scrollTop = place.scrollHeight;
  });
}

function clearPage() {
  view.drawn.clear();
  view.asked.clear();
  find("conversation").replaceChildren();
  find("questions").replaceChildren();
}

function drawConversation(place) {
  const { items, partial } = view.conversation;
  for (const [key, { item, node }] of view.drawn) {
    if (items.get(key) !== item && key !== "partial") {
      const now = items.get(key);
      if (!now) {
        node.remove();
        view.drawn.delete(key);
      } else {
        const made = drawItem(now);
        if (node instanceof HTMLDetailsElement && made instanceof HTMLDetailsElement) made.open = node.open;
        node.replaceWith(made);
        view.drawn.set(key, { item: now, node: made });
      }
    }
  }
  view.drawn.get("partial")?.node.remove();
  view.drawn.delete("partial");
  for (const [key, item] of items) {
    if (view.drawn.has(key)) continue;
    const node = drawItem(item);
    place.append(node);
    view.drawn.set(key, { item, node });
  }
  if (partial) {
    const node = drawItem({ kind: "text", text: partial });
    node.classList.add("partial");
    place.append(node);
    view.drawn.set("partial", { item: null, node });
  }
}

function drawItem(item) {
  const style = `item ${item.kind}${item.agent ? " agent" : ""}${item.bad ? " bad" : ""}`;
  if (item.kind === "call") return drawCall(item, style);
  if (item.kind === "thinking") {
    const folded = element("details", style);
    folded.append(element("summary", "", "thinking"), element("div", "text", clean(item.text)));
    return folded;
  }
  const node = element("div", style);
  fill(node, item.text);
  return node;
}

function drawCall(item, style) {
  const node = element("details", `${style}${item.failed ? " failed" : ""}`);
  const sign = item.result === null ? "…" : item.failed ? "✗" : "✓";
  node.append(element("summary", "", `${sign} ${briefly(item.name, item.input)}`));
  for (const [name, text] of fields(item.input)) node.append(element("div", "field", name), element("pre", "", text.slice(0, 20_000)));
  if (item.result !== null) node.append(element("div", "field", "result"), element("pre", "", clean(item.result)));
  return node;
}

/** Text, code and links; nothing of it can become anything else. */
function fill(node, text) {
  for (const part of segments(text)) {
    if (part.kind === "code") node.append(element("pre", "", part.text));
    else if (part.kind === "mono") node.append(element("code", "", part.text));
    else if (part.kind === "strong") node.append(element("strong", "", part.text));
    else if (part.kind === "link") {
      const link = element("a", "link", reveal(part.text));
      link.href = part.text;
      link.rel = "noopener noreferrer nofollow";
      link.target = "_blank";
      node.append(link);
    } else node.append(part.text);
  }
}

function drawQuestions(connection) {
  const { questions, decided } = view.conversation;
  for (const [id, node] of view.asked) {
    if (!questions.has(id)) {
      node.remove();
      view.asked.delete(id);
    }
  }
  for (const [id, frame] of questions) {
    if (view.asked.has(id)) continue;
    const node = draw(frame, (wish, again) => answer(connection, wish, again));
    find("questions").append(node);
    view.asked.set(id, node);
  }
  for (const each of decided.splice(0)) {
    if (!view.answered.delete(each.request_id)) tell(`${clean(each.decided.how)} by ${clean(each.decided.by)}`, 6_000);
  }
}

async function answer(connection, wish, again) {
  view.answered.add(wish.request_id);
  try {
    await connection.act(view.session, wish);
    say("");
  } catch (fault) {
    view.answered.delete(wish.request_id);
    say(fault.message);
    again();
  }
}

async function sendPrompt(connection) {
  const box = find("prompt");
  const text = box.value;
  if (!text.trim() || !view.session) return;
  find("send").disabled = true;
  const done = await attempt(() => connection.act(view.session, { do: "prompt", text }));
  find("send").disabled = false;
  if (done) {
    box.value = "";
    if (done.queued) tell("Waits until the turn that runs can take it.", 4_000);
  }
}

async function attempt(work) {
  try {
    const done = await work();
    say("");
    return done;
  } catch (fault) {
    say(fault.message);
    return null;
  }
}

function drawState() {
  const { state, name } = view.conversation;
  find("name").textContent = name || "bridle";
  document.title = name ? `${name} · bridle` : "bridle";
  find("stop").hidden = !state.busy;
  const modes = find("mode");
  const offered = [...new Set([...(state.modes ?? []), ...(state.mode ? [state.mode] : [])])];
  if (modes.dataset.offered !== offered.join(" ")) {
    modes.replaceChildren(
      ...offered.map((each) => {
        const option = element("option", "", clean(each));
        option.value = each;
        option.disabled = !(state.modes ?? []).includes(each);
        return option;
      }),
    );
    modes.dataset.offered = offered.join(" ");
  }
  modes.hidden = offered.length === 0;
  if (state.mode) modes.value = state.mode;
  if (!view.lost) showConnection(state.busy ? "busy" : "on", state.busy ? `${clean(state.model ?? "")} works` : "connected");
}

function showConnection(state, words) {
  find("state").dataset.state = state;
  find("state").textContent = words;
}

let silence = 0;

/** Say what went wrong; nothing takes it away. */
function say(text) {
  clearTimeout(silence);
  find("problem").textContent = text;
  find("problem").hidden = !text;
  find("problem").className = "";
}

/** Say something that is good to know for a while. */
function tell(text, milliseconds) {
  say(text);
  find("problem").className = "news";
  silence = setTimeout(() => say(""), milliseconds);
}
