// The page of the hub: the questions of all machines first, then the sessions, and one session as a conversation.

import { Conversation, briefly, clean, plain } from "./conversation.js";
import { changeOf, drawChange } from "./diff.js";
import { Refused, Stream, ask, newId } from "./link.js";
import { code, render } from "./markdown.js";
import { draw, element, fields } from "./questions.js";

const find = (id) => document.getElementById(id);
const LARGEST_FILE = 32_000_000;
const HISTORY = 200;
const STATES = { running: "working", requires_action: "waiting for an answer", idle: "ready", completed: "ended", failed: "failed" };
const ROLES = ["watch", "answer", "steer", "start"];

const view = {
  me: null,
  machines: new Map(),
  environments: [],
  sessions: new Map(),
  questions: [],
  open: null,
  conversation: null,
  drawn: new Map(),
  boxes: new Map(),
  first: null,
  more: false,
  filter: "",
  due: false,
};
let stream = null;

begin();

async function begin() {
  window.addEventListener("hashchange", route);
  find("asking").addEventListener("click", () => {
    window.location.hash = "";
  });
  if ("serviceWorker" in navigator && window.isSecureContext) navigator.serviceWorker.register("worker.js").catch(() => null);
  try {
    view.me = await ask("GET", "api/me");
  } catch (fault) {
    if (fault instanceof Refused && fault.status === 401) drawPairing();
    else {
      linkState("lost");
      say(fault.message);
      setTimeout(begin, 5_000);
    }
    return;
  }
  stream = new Stream({ onState: takeState, onEvents: takeEvents, onLink: linkState });
  route();
}

function may(role) {
  return ROLES.indexOf(view.me?.role) >= ROLES.indexOf(role);
}

/** Show what the address names. */
function route() {
  const found = /^#s\/(session_[0-9a-z]+)$/.exec(window.location.hash);
  say("");
  if (!found) {
    view.open = null;
    view.conversation = null;
    find("title").textContent = "bridle hub";
    find("main").replaceChildren();
    find("main").className = "home";
    stream.follow(null, 0);
    schedule();
    return;
  }
  openSession(found[1]);
}

function takeState(state) {
  if (state.machines) view.machines = new Map(state.machines.map((each) => [each.id, each]));
  if (state.environments) view.environments = state.environments;
  if (state.sessions) view.sessions = new Map(state.sessions.map((each) => [each.id, each]));
  for (const each of state.changed ?? []) {
    if (each.archived) view.sessions.delete(each.id);
    else view.sessions.set(each.id, each);
  }
  if (state.questions) view.questions = state.questions;
  schedule();
}

function takeEvents(session, events) {
  if (session !== view.open) return;
  for (const { frame } of events) takeFrame(view.conversation, frame);
  schedule();
}

function takeFrame(conversation, frame) {
  // A piece of a text comes as all of it so far.
  if (frame.is_snapshot && frame.event?.delta?.type === "text_delta") conversation.partial = frame.event.delta.text;
  else conversation.take(frame);
}

/** Draw once for everything that has come since the last picture. */
function schedule() {
  if (view.due) return;
  view.due = true;
  const picture = () => {
    view.due = false;
    drawCount();
    if (view.open) drawSession();
    else drawHome();
  };
  if (document.hidden) setTimeout(picture, 0);
  else requestAnimationFrame(picture);
}

function drawCount() {
  const open = view.questions.length;
  const elsewhere = view.questions.filter((each) => each.session !== view.open).length;
  document.title = `${open ? `(${open}) ` : ""}${view.open ? `${titleOf(view.open)} · ` : ""}bridle hub`;
  find("asking").hidden = !view.open || elsewhere === 0;
  find("asking").textContent = `${elsewhere} ${elsewhere === 1 ? "question" : "questions"} elsewhere`;
}

// ---- the list of everything ----

function drawHome() {
  const main = find("main");
  const typed = document.activeElement?.id === "filter" ? document.activeElement.selectionStart : null;
  const questions = part(main, "questions", "Questions");
  drawQuestions(questions, view.questions, true);
  questions.hidden = view.questions.length === 0;
  const sessions = part(main, "sessions", "Sessions");
  sessions.replaceChildren(sessions.firstChild, tools(), ...machineLists());
  if (typed !== null) {
    find("filter").focus();
    find("filter").setSelectionRange(typed, typed);
  }
}

function part(main, id, title) {
  const known = find(id);
  if (known) return known;
  const made = element("section", "part");
  made.id = id;
  made.append(element("h2", "", title));
  made.setAttribute("aria-label", title);
  if (id === "questions") made.setAttribute("aria-live", "polite");
  main.append(made);
  return made;
}

function tools() {
  const row = element("div", "tools");
  const filter = element("input", "");
  filter.id = "filter";
  filter.type = "search";
  filter.placeholder = "Filter sessions, or press enter to search conversations";
  filter.setAttribute("aria-label", "Filter or search");
  filter.value = view.filter;
  filter.addEventListener("input", () => {
    view.filter = filter.value;
    schedule();
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && filter.value.trim().length >= 2) searchAll(filter.value.trim());
  });
  row.append(filter);
  if (may("start") && view.environments.length) row.append(button("New session", "yes", () => startDialog()));
  if (may("start")) row.append(button("Add a device", "", addDevice));
  return row;
}

function machineLists() {
  const words = view.filter.toLowerCase();
  const shown = [...view.sessions.values()].filter((each) => `${each.title} ${folderOf(each)} ${each.worker_status}`.toLowerCase().includes(words));
  const owners = [...view.machines.values()].map((machine) => [machine.name, shown.filter((each) => each.machine === machine.id), machine]);
  const others = shown.filter((each) => !view.machines.has(each.machine));
  if (others.length) owners.push(["Other machines", others, null]);
  if (owners.length === 0) {
    return [element("p", "empty", "No machine has joined yet. On the hub, run: bridle hub invite. On the machine, run: bridle hub join.")];
  }
  return owners.map(([name, sessions, machine]) => {
    const box = element("div", "machine");
    const head = element("h3", "", clean(name));
    if (machine) head.append(element("span", "field", ` ${ago(machine.seen)}`));
    box.append(head);
    const folders = view.environments.filter((each) => each.machine === machine?.id).map((each) => each.directory);
    if (folders.length) box.append(element("p", "field", folders.map(clean).join(" · ")));
    const list = element("ul", "cards");
    for (const each of sessions) list.append(card(each));
    if (sessions.length === 0) list.append(element("li", "empty", words ? "No session matches." : "No sessions."));
    box.append(list);
    return box;
  });
}

function card(session) {
  const entry = element("li", "card");
  const open = element("a", "", clean(session.title || session.external_metadata?.name || "Untitled"));
  open.href = `#s/${session.id}`;
  const state = element("span", "state", stateOf(session));
  state.dataset.state = session.worker_status;
  const facts = [folderOf(session), session.external_metadata?.model, ago(session.updated_at)].filter(Boolean).map(clean);
  entry.append(open, state, element("div", "field", facts.join(" · ")));
  return entry;
}

function stateOf(session) {
  const asks = session.external_metadata?.asks ?? [];
  if (session.worker_status === "requires_action" && asks.length) return `waits for permission to use ${clean(asks[0] || "a tool")}`;
  return STATES[session.worker_status] ?? clean(session.worker_status);
}

function folderOf(session) {
  const path = session.external_metadata?.cwd || session.external_metadata?.folder || "";
  return path.split("/").slice(-2).join("/");
}

function titleOf(id) {
  const session = view.sessions.get(id);
  return clean(session?.title || session?.external_metadata?.name || "Session");
}

/** Each question stays where it is on the page while it is open. */
function drawQuestions(place, questions, named) {
  const wanted = new Set(questions.map((each) => each.request_id));
  for (const [id, box] of view.boxes) {
    if (!wanted.has(id) || box.parentElement !== place) {
      box.remove();
      view.boxes.delete(id);
    }
  }
  for (const question of questions) {
    if (view.boxes.has(question.request_id)) continue;
    const box = draw(question, (said, again) => answer(question.session, said, again));
    if (question.request.tool_name === "ExitPlanMode" && typeof question.request.input?.plan === "string") {
      box.querySelector("pre")?.replaceWith(planOf(question.request.input.plan));
    }
    const rows = changeOf(question.request.tool_name, question.request.input);
    if (rows) foldInput(box, rows);
    if (named) {
      const from = element("a", "from", titleOf(question.session));
      from.href = `#s/${question.session}`;
      box.prepend(from);
    }
    if (!may("answer")) for (const each of box.querySelectorAll("button, input")) each.hidden = true;
    view.boxes.set(question.request_id, box);
    place.append(box);
  }
}

/** Show a change as one, with the exact input below it. */
function foldInput(box, rows) {
  const parts = [...box.querySelectorAll(":scope > .field, :scope > pre")];
  const [name, path, ...rest] = parts;
  const exact = element("details", "");
  exact.append(element("summary", "", "Exact input"), ...rest);
  (path ?? box.querySelector("h2")).after(drawChange(rows), exact);
  name?.remove();
}

function planOf(text) {
  const plan = element("div", "plan");
  plan.append(render(text));
  return plan;
}

async function answer(session, said, again) {
  try {
    await act(session, said);
  } catch (fault) {
    say(fault.message);
    if (fault.status !== 409) again();
  }
}

// ---- one session ----

async function openSession(id) {
  view.open = id;
  view.conversation = new Conversation();
  view.drawn.clear();
  view.boxes.clear();
  const main = find("main");
  main.className = "session";
  main.replaceChildren();
  const log = element("div", "log");
  log.id = "log";
  log.setAttribute("role", "log");
  log.setAttribute("aria-label", "Conversation");
  const questions = element("section", "");
  questions.id = "here";
  questions.setAttribute("aria-label", "Questions");
  questions.setAttribute("aria-live", "assertive");
  main.append(sessionBar(id), log, questions);
  if (may("steer")) main.append(composer(id));
  try {
    const page = await ask("GET", `api/sessions/${id}/events?limit=${HISTORY}`);
    if (view.open !== id) return;
    view.first = page.events[0]?.n ?? null;
    view.more = page.more;
    for (const { frame } of page.events) takeFrame(view.conversation, frame);
    stream.follow(id, page.last);
    schedule();
    requestAnimationFrame(() => log.scrollTo(0, log.scrollHeight));
  } catch (fault) {
    say(fault.message);
  }
}

function sessionBar(id) {
  const bar = element("div", "bar");
  bar.id = "bar";
  const state = element("span", "state");
  state.id = "here-state";
  bar.append(state);
  if (may("steer")) {
    bar.append(button("Stop", "no", () => act(id, { do: "interrupt" })));
    const mode = element("select", "");
    mode.id = "mode";
    mode.setAttribute("aria-label", "Permission mode");
    mode.addEventListener("change", () => act(id, { do: "mode", mode: mode.value }));
    bar.append(mode);
    bar.append(menu(id));
  }
  return bar;
}

function menu(id) {
  const made = element("select", "");
  made.setAttribute("aria-label", "More");
  const entries = [["", "More…"], ["rename", "Rename"], ["model", "Choose a model"], ["compact", "Compact"]];
  if (may("start")) entries.push(["end", "End"], ["resume", "Resume"], ["archive", "Archive"]);
  for (const [value, text] of entries) {
    const option = element("option", "", text);
    option.value = value;
    made.append(option);
  }
  made.addEventListener("change", () => {
    const wish = made.value;
    made.value = "";
    manage(id, wish);
  });
  return made;
}

async function manage(id, wish) {
  if (wish === "rename" || wish === "model") {
    const now = wish === "rename" ? titleOf(id) : (view.sessions.get(id)?.external_metadata?.model ?? "");
    const text = window.prompt(wish === "rename" ? "Name of the session" : "Model", now)?.trim();
    if (text) await act(id, wish === "rename" ? { do: wish, title: text } : { do: wish, model: text });
  } else if (wish === "end") {
    if (window.confirm("End this session? What it is doing stops.")) await act(id, { do: "end" });
  } else if (wish === "archive") {
    if (!window.confirm("Archive this session? It leaves the list.")) return;
    await act(id, { do: "archive" });
    window.location.hash = "";
  } else if (wish) await act(id, { do: wish });
}

function drawSession() {
  const session = view.sessions.get(view.open);
  find("title").textContent = titleOf(view.open);
  const log = find("log");
  if (!log) return;
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  drawEarlier(log);
  drawItems(log);
  drawQuestions(find("here"), view.questions.filter((each) => each.session === view.open), false);
  const state = find("here-state");
  state.textContent = session ? [stateOf(session), clean(session.external_metadata?.model ?? "")].filter(Boolean).join(" · ") : "";
  state.dataset.state = session?.worker_status ?? "";
  const mode = find("mode");
  const { modes = [], mode: chosen } = session?.external_metadata ?? {};
  if (mode) {
    const offered = [...new Set([...modes, ...(chosen ? [chosen] : [])])];
    if (mode.dataset.offered !== offered.join(" ")) {
      mode.replaceChildren(...offered.map((each) => Object.assign(element("option", "", clean(each)), { value: each })));
      mode.dataset.offered = offered.join(" ");
    }
    mode.hidden = offered.length === 0;
    if (chosen) mode.value = chosen;
  }
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function drawEarlier(log) {
  const known = find("earlier");
  if (!view.more) known?.remove();
  else if (!known) {
    const made = button("Show earlier messages", "", showEarlier);
    made.id = "earlier";
    log.prepend(made);
  }
}

async function showEarlier() {
  const id = view.open;
  const page = await attempt(() => ask("GET", `api/sessions/${id}/events?limit=${HISTORY}&before=${view.first}`));
  if (!page || view.open !== id) return;
  view.first = page.events[0]?.n ?? view.first;
  view.more = page.more;
  // Calls and their results may stand on different pages: fold everything again, the earlier part first.
  const whole = new Conversation();
  for (const { frame } of page.events) takeFrame(whole, frame);
  const { items } = view.conversation;
  for (const [key, item] of items) whole.items.set(key, item);
  view.conversation.items = whole.items;
  const log = find("log");
  const below = log.scrollHeight - log.scrollTop;
  view.drawn.clear();
  for (const each of [...log.children]) if (each.id !== "earlier") each.remove();
  drawSession();
  log.scrollTop = log.scrollHeight - below;
}

function drawItems(log) {
  const { items, partial } = view.conversation;
  for (const [key, { item, node }] of view.drawn) {
    const now = items.get(key);
    if (now === item || key === "partial") continue;
    if (!now) {
      node.remove();
      view.drawn.delete(key);
      continue;
    }
    const made = drawItem(now);
    if (node instanceof HTMLDetailsElement && made instanceof HTMLDetailsElement) made.open = node.open;
    node.replaceWith(made);
    view.drawn.set(key, { item: now, node: made });
  }
  view.drawn.get("partial")?.node.remove();
  view.drawn.delete("partial");
  for (const [key, item] of items) {
    if (view.drawn.has(key)) continue;
    const node = drawItem(item);
    log.append(node);
    view.drawn.set(key, { item, node });
  }
  if (partial) {
    const node = drawItem({ kind: "text", text: partial });
    node.classList.add("partial");
    log.append(node);
    view.drawn.set("partial", { item: null, node });
  }
}

function drawItem(item) {
  const style = `item ${item.kind}${item.agent ? " agent" : ""}${item.bad ? " bad" : ""}`;
  if (item.kind === "call") return drawCall(item, style);
  if (item.kind === "thinking") {
    const folded = element("details", style);
    folded.append(element("summary", "", "Thinking"), element("div", "text", clean(item.text)));
    return folded;
  }
  const node = element("div", style);
  if (item.kind === "text") node.append(render(item.text));
  else node.textContent = clean(item.text);
  return node;
}

function drawCall(item, style) {
  if (item.name === "TodoWrite" && Array.isArray(item.input?.todos)) return drawTodos(item.input.todos, style);
  const node = element("details", `${style}${item.failed ? " failed" : ""}`);
  const sign = item.result === null ? "…" : item.failed ? "✗" : "✓";
  node.append(element("summary", "", `${sign} ${briefly(item.name, item.input)}`));
  const rows = changeOf(item.name, item.input);
  if (rows) node.append(drawChange(rows));
  else for (const [name, text] of fields(item.input)) node.append(element("div", "field", name), code(text.slice(0, LARGEST_SHOWN)));
  if (item.result !== null) node.append(element("div", "field", "Result"), element("pre", "", clean(plain(item.result))));
  return node;
}

const LARGEST_SHOWN = 20_000;

function drawTodos(todos, style) {
  const list = element("ul", `${style} todos`);
  for (const each of todos) {
    const sign = each.status === "completed" ? "✓" : each.status === "in_progress" ? "▸" : "○";
    list.append(element("li", each.status === "completed" ? "done" : "", `${sign} ${clean(each.content ?? "")}`));
  }
  return list;
}

function composer(id) {
  const form = element("form", "compose");
  const text = element("textarea", "");
  text.rows = 2;
  text.placeholder = "Ask for something";
  text.setAttribute("aria-label", "Prompt");
  const files = filePicker();
  const send = element("button", "yes", "Send");
  send.type = "submit";
  form.append(text, files.label, send);
  text.addEventListener("keydown", (event) => {
    // On a phone, enter begins another line.
    const fine = window.matchMedia("(pointer: fine)").matches;
    if (event.key === "Enter" && !event.isComposing && (event.ctrlKey || event.metaKey || (fine && !event.shiftKey))) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!text.value.trim()) return;
    send.disabled = true;
    const done = await attempt(async () => act(id, { do: "prompt", text: text.value, files: await files.upload() }));
    send.disabled = false;
    if (done) {
      text.value = "";
      files.clear();
    }
  });
  return form;
}

function filePicker() {
  const label = element("label", "attach", "Attach");
  const input = element("input", "");
  input.type = "file";
  input.multiple = true;
  input.setAttribute("aria-label", "Attach files");
  const count = element("span", "field", "");
  label.append(input, count);
  input.addEventListener("change", () => {
    count.textContent = input.files.length ? ` (${input.files.length})` : "";
  });
  const upload = async () => {
    const sent = [];
    for (const file of input.files) {
      if (file.size > LARGEST_FILE) throw new Error(`${file.name} is larger than 32 MB.`);
      sent.push(await ask("POST", `api/files?name=${encodeURIComponent(file.name)}`, file));
    }
    return sent.map(({ file_uuid, file_name }) => ({ file_uuid, file_name }));
  };
  const clear = () => {
    input.value = "";
    count.textContent = "";
  };
  return { label, upload, clear };
}

// ---- starting, pairing, searching ----

function startDialog() {
  const form = element("form", "dialog-form");
  form.method = "dialog";
  const place = choice("Folder", view.environments.map((each) => [each.id, `${clean(view.machines.get(each.machine)?.name ?? each.name)}: ${clean(each.directory)}${each.branch ? ` (${clean(each.branch)})` : ""}`]));
  const mode = choice("Permission mode", [["", "as the machine has it"], ["default", "default"], ["acceptEdits", "accept edits"], ["plan", "plan"]]);
  const model = field("Model (empty: the usual one)");
  const tree = element("label", "check");
  const treeBox = element("input", "");
  treeBox.type = "checkbox";
  tree.append(treeBox, " in a git work tree of its own");
  const prompt = element("textarea", "");
  prompt.rows = 5;
  prompt.placeholder = "What should be done?";
  prompt.setAttribute("aria-label", "First prompt");
  const files = filePicker();
  const dialog = modal("New session", form);
  const wish = newId();
  const start = button("Start", "yes", async () => {
    start.disabled = true;
    const made = await attempt(async () =>
      ask("POST", "api/sessions", {
        id: wish, environment: place.input.value, prompt: prompt.value, mode: mode.input.value, model: model.input.value.trim(), worktree: treeBox.checked,
        files: await files.upload(),
      }),
    );
    start.disabled = false;
    if (!made) return;
    dialog.close();
    window.location.hash = `#s/${made.id}`;
  });
  form.append(place.label, mode.label, model.label, tree, prompt, files.label, start);
  dialog.showModal();
  prompt.focus();
}

async function addDevice() {
  const form = element("form", "dialog-form");
  form.method = "dialog";
  const role = choice("It may", ROLES.map((each) => [each, each]));
  role.input.value = "answer";
  const shown = element("p", "secret", "");
  const make = button("Make a code", "yes", async () => {
    const made = await attempt(() => ask("POST", "api/codes", { role: role.input.value }));
    if (made) shown.textContent = `${made.code} (ten minutes, once)`;
  });
  form.append(role.label, make, shown);
  modal("Add a device", form).showModal();
}

async function searchAll(text) {
  const found = await attempt(() => ask("GET", `api/search?q=${encodeURIComponent(text)}`));
  if (!found) return;
  const list = element("ul", "cards");
  for (const id of new Set(found.found.map((each) => each.session))) {
    const entry = element("li", "card");
    const open = element("a", "", titleOf(id));
    open.href = `#s/${id}`;
    entry.append(open, element("div", "field", `${found.found.filter((each) => each.session === id).length} messages`));
    list.append(entry);
  }
  if (!list.children.length) list.append(element("li", "empty", "Nothing found."));
  const dialog = modal(`Conversations with “${clean(text)}”`, list);
  list.addEventListener("click", () => dialog.close());
  dialog.showModal();
}

function drawPairing() {
  linkState("off");
  const form = element("form", "pair");
  const code = field("Code of this device");
  code.input.autocomplete = "one-time-code";
  code.input.autocapitalize = "characters";
  const name = field("Name of this device");
  name.input.value = clientName();
  const send = element("button", "yes", "Pair");
  send.type = "submit";
  form.append(element("p", "", "On the hub, run bridle hub pair, and type the code here."), code.label, name.label, send);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const done = await attempt(() => ask("POST", "api/pair", { code: code.input.value, name: name.input.value }));
    if (done) window.location.reload();
  });
  find("main").replaceChildren(form);
  code.input.focus();
}

function clientName() {
  const agent = navigator.userAgent;
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"].find((name) => agent.includes(name)) ?? "elsewhere";
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((name) => agent.includes(name)) ?? "A browser";
  return `${browser === "Edg" ? "Edge" : browser} on ${system}`;
}

// ---- small parts ----

async function act(id, said) {
  return ask("POST", `api/sessions/${id}/act`, { id: newId(), ...said }).catch((fault) => {
    say(fault.message);
    throw fault;
  });
}

async function attempt(work) {
  try {
    const done = await work();
    say("");
    return done ?? true;
  } catch (fault) {
    say(fault.message);
    return null;
  }
}

function say(text) {
  find("problem").textContent = text;
  find("problem").hidden = !text;
}

function linkState(state) {
  const words = { on: "connected", lost: "not connected, trying again", off: "not paired" };
  find("link").dataset.state = state;
  find("link").textContent = words[state];
}

function button(text, style, press) {
  const made = element("button", style, text);
  made.type = "button";
  made.addEventListener("click", () => Promise.resolve(press()).catch(() => null)); // What went wrong is shown already.
  return made;
}

function field(words) {
  const label = element("label", "", words);
  const input = element("input", "");
  input.type = "text";
  label.append(input);
  return { label, input };
}

function choice(words, options) {
  const label = element("label", "", words);
  const input = element("select", "");
  for (const [value, text] of options) input.append(Object.assign(element("option", "", text), { value }));
  label.append(input);
  return { label, input };
}

function modal(title, content) {
  const dialog = element("dialog", "");
  dialog.setAttribute("aria-label", title);
  const head = element("div", "dialog-head");
  head.append(element("h2", "", title), button("Close", "", () => dialog.close()));
  dialog.append(head, content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  return dialog;
}

function ago(seconds) {
  const passed = Math.max(0, Date.now() / 1000 - Number(seconds ?? 0));
  for (const [size, name] of [[86_400, "day"], [3_600, "hour"], [60, "minute"]]) {
    const count = Math.floor(passed / size);
    if (count) return `${count} ${name}${count === 1 ? "" : "s"} ago`;
  }
  return "now";
}
