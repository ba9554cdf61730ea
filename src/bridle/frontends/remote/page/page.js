// Puts the conversation on the page and passes on what is typed and pressed.

import { Conversation, briefly, clean, reveal, segments } from "./conversation.js";
import { Connection, sightOf } from "./connection.js";
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
  over: false,
  opens: false,
  listed: [],
  asking: 0,
};
const LIST_EVERY = 5_000;
const sight = sightOf(document);

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
  find("manage").addEventListener("change", (event) => {
    const wish = event.target.value;
    event.target.value = "";
    manage(connection, wish);
  });
  find("other").addEventListener("click", (event) => {
    find("sessions").value = event.target.value;
    enter(connection, event.target.value);
  });
  // A new key may be pasted into the address of a page that is open.
  window.addEventListener("hashchange", () => window.location.reload());
  choose(connection);
  watchList(connection);
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
    const option = element("option", "", label(each));
    option.value = each.id;
    place.append(option);
  }
  view.opens = opens;
  view.listed = sessions;
  drawOthers();
  place.hidden = sessions.length < 2 && !opens;
  find("open").hidden = !opens;
  if (chosen) place.value = chosen;
  return sessions;
}

/** A session in the list: its name, and what one must know to choose it. */
function label(session) {
  if (session.ended) return `${clean(session.name)} (ended)`;
  if (session.asks?.length) return `${clean(session.name)} (asks)`;
  return session.busy ? `${clean(session.name)} (works)` : clean(session.name);
}

/** Say so where a session that is not on the page waits for an answer. */
function drawOthers() {
  if (!view.session) return; // It is not chosen yet which ones are others.
  const asking = view.listed.filter((each) => each.id !== view.session && each.asks?.length);
  const other = find("other");
  view.asking = asking.length;
  other.hidden = asking.length === 0;
  if (asking.length) {
    other.value = asking[0].id;
    other.textContent = `${clean(asking[0].name)} asks: ${clean(asking[0].asks[0] || "a question")}${asking.length > 1 ? ` (and ${asking.length - 1} more)` : ""}`;
  }
  drawTitle();
}

/** The title of the tab counts the questions, so that it shows them from behind other tabs. */
function drawTitle() {
  const { name, questions } = view.conversation;
  const open = questions.size + view.asking;
  document.title = `${open ? `(${open}) ` : ""}${name ? `${name} · bridle` : "bridle"}`;
}

/** Keep the list true where there are several sessions. */
async function watchList(connection) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LIST_EVERY));
    if (!view.opens || document.activeElement === find("sessions")) continue;
    try {
      await list(connection);
    } catch (fault) {
      view.asking = 0; // The state of the connection is shown already.
    }
  }
}

async function manage(connection, wish) {
  const session = view.session;
  if (!session) return;
  if (wish === "rename") {
    const name = window.prompt("Name of the session", view.conversation.name)?.trim();
    if (name) await attempt(() => connection.act(session, { do: "prompt", text: `/rename ${name}` }));
  } else if (wish === "end" && window.confirm("End this session? What it is doing stops.")) {
    await attempt(() => connection.act(session, { do: "end" }));
  } else if (wish === "resume") {
    const made = await attempt(() => connection.open(session));
    if (made) choose(connection, made.id);
  } else if (wish === "archive") {
    const done = await attempt(() => connection.act(session, { do: "archive" }));
    if (done) leave(connection);
  }
}

/** Show another session, or none. */
function leave(connection) {
  view.following?.abort();
  view.session = null;
  view.over = false;
  view.conversation = new Conversation();
  clearPage();
  drawState();
  choose(connection);
}

/** Offer what can be done with the session as it is. */
function drawManage() {
  const { state } = view.conversation;
  const offered = { rename: !view.over, end: !view.over && state.ends, resume: view.over && view.opens, archive: view.over && state.ends };
  for (const option of find("manage").options) if (option.value) option.hidden = option.disabled = !offered[option.value];
  find("manage").hidden = !view.session || !Object.values(offered).some(Boolean);
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
  view.over = false;
  view.conversation = new Conversation();
  clearPage();
  drawOthers();
  connection.follow(session, {
    sight,
    signal: view.following.signal,
    onLine: (kind, line) => {
      if (kind === "begin") {
        view.conversation.begin(line.snapshot);
        clearPage();
      } else if (kind === "take") view.conversation.take(line.frame);
      else return;
      schedule(connection);
    },
    onState: (state, why, over = false) => {
      view.lost = state !== "on";
      view.over = over;
      const words = { connecting: "connecting", on: "", lost: "not connected, trying again", ended: why ?? "ended" };
      if (state === "on") drawState();
      else showConnection("lost", words[state]);
      drawManage();
      if (over) attempt(() => (view.opens ? list(connection) : null));
      else if (state === "ended" && view.opens) setTimeout(() => choose(connection), 2_000);
    },
  });
}

let due = false;

/** Draw once for everything that came since the last picture. */
function schedule(connection) {
  if (due) return;
  due = true;
  nextPicture(() => {
    due = false;
    const place = find("conversation");
    const atEnd = place.scrollHeight - place.scrollTop - place.clientHeight < 60;
    drawConversation(place);
    drawQuestions(connection);
    drawState();
    if (atEnd) place.scrollTop = place.scrollHeight;
  });
}

/** Pages that no one looks at are never painted, and their title must be true all the same. */
function nextPicture(work) {
  if (document.hidden) setTimeout(work, 0);
  else requestAnimationFrame(work);
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
  drawTitle();
  drawManage();
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
