// One session: its conversation, its questions, its tasks, and what can be done with it.

import { drawQuestions, forgetBoxes } from "./asking.js";
import { Conversation, briefly, clean, plain } from "./conversation.js";
import { changeOf, drawChange } from "./diff.js";
import { ask } from "./link.js";
import { code, render } from "./markdown.js";
import { element, fields } from "./questions.js";
import { tasksOf } from "./tasks.js";
import { act, askFor, attempt, button, confirm, filePicker, find, may, modal, say, stateOf, titleOf, unsealFrame, view } from "./view.js";

const HISTORY = 200;
const LARGEST_SHOWN = 20_000;
const NEAR_THE_END = 80;
const MODES = { default: "ask", acceptEdits: "accept edits", plan: "plan", dontAsk: "don't ask" };
const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

const here = { conversation: null, drawn: new Map(), first: null, last: 0, more: false, newer: false, taking: Promise.resolve() };

export async function openSession(id, at, { stream, schedule }) {
  view.open = id;
  Object.assign(here, { conversation: new Conversation(), first: null, more: false, newer: false, taking: Promise.resolve() });
  here.drawn.clear();
  forgetBoxes();
  const main = find("main");
  main.className = "session";
  main.replaceChildren();
  const log = element("div", "log");
  log.id = "log";
  log.tabIndex = 0;
  log.setAttribute("role", "log");
  log.setAttribute("aria-label", "Conversation");
  const tasks = element("details", "tasks");
  tasks.id = "tasks";
  tasks.hidden = true;
  const questions = element("section", "");
  questions.id = "here";
  questions.setAttribute("aria-label", "Questions");
  questions.setAttribute("aria-live", "assertive");
  main.append(sessionBar(id, schedule), log, tasks, questions);
  if (may("steer")) main.append(composer(id));
  schedule();
  try {
    const before = at ? `&before=${at + HISTORY / 2}` : "";
    const page = await ask("GET", `api/sessions/${id}/events?limit=${HISTORY}${before}`);
    if (view.open !== id) return;
    here.first = page.events[0]?.n ?? null;
    here.more = page.more;
    const shown = page.events.at(-1)?.n ?? 0;
    here.newer = Boolean(at) && shown < page.last;
    await takeAll(id, here.conversation, page.events);
    if (view.open !== id) return;
    stream.follow(id, page.last);
    schedule();
    requestAnimationFrame(() => {
      if (!at) log.scrollTo(0, log.scrollHeight);
      else log.querySelector(`[data-n="${at}"]`)?.scrollIntoView({ block: "center" });
    });
  } catch (fault) {
    say(fault.message);
  }
}

/** New events of the session that is open, in the order in which they came. */
export function takeEvents(session, events, schedule) {
  here.taking = here.taking.then(async () => {
    if (session !== view.open || here.newer) return;
    await takeAll(session, here.conversation, events);
    schedule();
  });
}

async function takeAll(session, conversation, events) {
  for (const { n, frame } of events) {
    const clear = frame.sealed ? await unsealFrame(session, frame) : frame;
    if (clear) takeFrame(conversation, clear, n);
    else conversation.items.set("locked", { kind: "note", bad: true, text: "Messages here are encrypted, and this device has no keys: run bridle hub trust on the machine." });
  }
}

function takeFrame(conversation, frame, n) {
  const before = conversation.items.size;
  // A piece of a text comes as all of it so far.
  if (frame.is_snapshot && frame.event?.delta?.type === "text_delta") conversation.partial = frame.event.delta.text;
  else conversation.take(frame);
  if (conversation.items.size > before) {
    const [...keys] = conversation.items.keys();
    for (const key of keys.slice(before)) conversation.items.get(key).n = n;
  }
}

function sessionBar(id, schedule) {
  const bar = element("div", "bar");
  bar.id = "bar";
  const state = element("span", "state");
  state.id = "here-state";
  state.setAttribute("role", "status");
  bar.append(state);
  if (may("steer")) {
    const mode = element("select", "");
    mode.id = "mode";
    mode.setAttribute("aria-label", "Permission mode");
    mode.addEventListener("change", () => act(id, { do: "mode", mode: mode.value }).catch(() => schedule()));
    const stop = button("Stop", "no", () => act(id, { do: "interrupt" }));
    stop.id = "stop";
    const more = button("⋯", "", () => moreMenu(id));
    more.setAttribute("aria-label", "More actions");
    bar.append(stop, mode, more);
  }
  return bar;
}

function moreMenu(id) {
  const session = view.sessions.get(id);
  const facts = session?.external_metadata ?? {};
  const isOver = ["completed", "failed"].includes(session?.worker_status);
  const list = element("div", "menu");
  const dialog = modal(titleOf(id), list);
  const entry = (words, work, style = "") =>
    list.append(
      button(words, style, async () => {
        dialog.close();
        await work();
      }),
    );
  entry("Rename", async () => {
    const title = await askFor("Rename the session", "Name", titleOf(id));
    if (title) await act(id, { do: "rename", title });
  });
  if (!isOver) {
    if (!facts.joined) {
      entry("Choose a model", async () => {
        const model = await askFor("Choose a model", "Model (of the same vendor)", facts.model ?? "");
        if (model) await act(id, { do: "model", model });
      });
      entry("Choose the effort", async () => {
        const level = await askFor("Choose the effort", "Effort", "high", { options: EFFORTS.map((each) => [each, each]) });
        if (level) await act(id, { do: "effort", level });
      });
      entry("Rewind files to before a prompt", () => rewind(id));
    }
    entry("Compact the conversation", () => act(id, { do: "compact" }));
  }
  if (may("start")) {
    if (!isOver && facts.ends !== false) {
      entry("End", async () => (await confirm("End this session?", "What it is doing stops. It can be resumed.", "End it")) && act(id, { do: "end" }), "no");
    }
    if (isOver && session?.environment_id) entry("Resume", () => act(id, { do: "resume" }), "yes");
    entry(
      "Archive",
      async () => {
        if (!(await confirm("Archive this session?", "It leaves the list.", "Archive it"))) return;
        await act(id, { do: "archive" });
        window.location.hash = "";
      },
      "no",
    );
  }
}

function rewind(id) {
  const list = element("div", "menu");
  const dialog = modal("Take files back to before…", list);
  const prompts = [...here.conversation.items].filter(([, item]) => item.kind === "prompt" && !item.agent).reverse();
  for (const [uuid, item] of prompts.slice(0, 50)) {
    list.append(
      button(clean(item.text).slice(0, 120), "left", async () => {
        dialog.close();
        await act(id, { do: "rewind", message: uuid });
      }),
    );
  }
  if (prompts.length === 0) list.append(element("p", "empty", "There is no prompt here yet."));
}

export function drawSession() {
  const session = view.sessions.get(view.open);
  find("title").textContent = titleOf(view.open);
  const log = find("log");
  if (!log) return;
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_THE_END;
  drawEarlier(log);
  drawItems(log);
  drawTasks();
  drawQuestions(find("here"), view.questions.filter((each) => each.session === view.open), false);
  const facts = session?.external_metadata ?? {};
  const state = find("here-state");
  const words = session ? [stateOf(session), clean(facts.model ?? "")].filter(Boolean).join(" · ") : "";
  if (state.textContent !== words) state.textContent = words;
  state.dataset.state = session?.worker_status ?? "";
  const isWorking = ["running", "requires_action"].includes(session?.worker_status);
  if (find("stop")) find("stop").hidden = !isWorking;
  drawMode(facts);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function drawMode({ modes = [], mode: chosen }) {
  const mode = find("mode");
  if (!mode) return;
  const offered = [...new Set([...modes, ...(chosen ? [chosen] : [])])];
  if (mode.dataset.offered !== offered.join(" ")) {
    mode.replaceChildren(...offered.map((each) => Object.assign(element("option", "", MODES[each] ?? clean(each)), { value: each })));
    mode.dataset.offered = offered.join(" ");
  }
  mode.hidden = offered.length === 0;
  if (chosen && document.activeElement !== mode) mode.value = chosen;
}

function drawTasks() {
  const box = find("tasks");
  const tasks = tasksOf(here.conversation.items);
  const text = JSON.stringify(tasks);
  if (box.dataset.shown === text) return;
  box.dataset.shown = text;
  box.hidden = tasks.length === 0 || tasks.every((each) => each.status === "completed");
  const done = tasks.filter((each) => each.status === "completed").length;
  const now = tasks.find((each) => each.status === "in_progress");
  const list = element("ul", "todos");
  for (const each of tasks) list.append(taskLine(each));
  box.replaceChildren(element("summary", "", `Tasks ${done}/${tasks.length}${now ? ` · ${clean(now.text)}` : ""}`), list);
}

function taskLine({ text, status }) {
  const sign = status === "completed" ? "✓" : status === "in_progress" ? "▸" : "○";
  const line = element("li", status === "completed" ? "done" : status === "in_progress" ? "now" : "", `${sign} ${clean(text)}`);
  line.setAttribute("aria-label", `${clean(text)}: ${status.replace("_", " ")}`);
  return line;
}

function drawEarlier(log) {
  const known = find("earlier");
  if (!here.more) known?.remove();
  else if (!known) {
    const made = button("Show earlier messages", "plain", showEarlier);
    made.id = "earlier";
    log.prepend(made);
  }
  if (here.newer && !find("newer")) {
    const made = button("Go to the newest messages", "plain", () => {
      window.location.hash = `#s/${view.open}`;
    });
    made.id = "newer";
    log.append(made);
  } else if (!here.newer) find("newer")?.remove();
}

async function showEarlier() {
  const id = view.open;
  const page = await attempt(() => ask("GET", `api/sessions/${id}/events?limit=${HISTORY}&before=${here.first}`));
  if (!page || view.open !== id) return;
  here.first = page.events[0]?.n ?? here.first;
  here.more = page.more;
  // Calls and their results may stand on different pages: fold everything again, the earlier part first.
  const whole = new Conversation();
  await takeAll(id, whole, page.events);
  const { items } = here.conversation;
  for (const [key, item] of items) whole.items.set(key, item);
  here.conversation.items = whole.items;
  const log = find("log");
  const below = log.scrollHeight - log.scrollTop;
  here.drawn.clear();
  for (const each of [...log.children]) if (each.id !== "earlier") each.remove();
  drawSession();
  log.scrollTop = log.scrollHeight - below;
}

function drawItems(log) {
  const { items, partial } = here.conversation;
  const { drawn } = here;
  for (const [key, { item, node }] of drawn) {
    const now = items.get(key);
    if (now === item || key === "partial") continue;
    if (!now) {
      node.remove();
      drawn.delete(key);
      continue;
    }
    const made = drawItem(now);
    if (node instanceof HTMLDetailsElement && made instanceof HTMLDetailsElement) made.open = node.open;
    const inner = node.querySelector(":scope > .nested");
    if (inner) made.append(inner);
    node.replaceWith(made);
    drawn.set(key, { item: now, node: made });
  }
  drawn.get("partial")?.node.remove();
  drawn.delete("partial");
  for (const [key, item] of items) {
    if (drawn.has(key)) continue;
    const node = drawItem(item);
    if (item.n) node.dataset.n = item.n;
    placeFor(item, log).append(node);
    drawn.set(key, { item, node });
  }
  if (partial) {
    const node = drawItem({ kind: "text", text: partial });
    node.classList.add("partial");
    log.append(node);
    drawn.set("partial", { item: null, node });
  }
  const newer = find("newer");
  if (newer) log.append(newer);
}

/** What an agent does stands inside the call that began it. */
function placeFor(item, log) {
  const call = item.parent && here.drawn.get(`call:${item.parent}`)?.node;
  if (!call) return log;
  let inner = call.querySelector(":scope > .nested");
  if (!inner) {
    inner = element("div", "nested");
    inner.setAttribute("role", "group");
    inner.setAttribute("aria-label", "What the agent does");
    call.append(inner);
  }
  return inner;
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
  for (const image of item.images ?? []) node.append(picture(image));
  return node;
}

function picture({ type, data }) {
  const made = element("img", "picture");
  made.alt = "a picture in the conversation";
  made.src = `data:${type};base64,${data}`;
  return made;
}

function drawCall(item, style) {
  if (item.name === "TodoWrite" && Array.isArray(item.input?.todos)) {
    const list = element("ul", `${style} todos`);
    for (const each of item.input.todos) list.append(taskLine({ text: each.content ?? "", status: String(each.status ?? "pending") }));
    return list;
  }
  const node = element("details", `${style}${item.failed ? " failed" : ""}`);
  const sign = item.result === null ? "…" : item.failed ? "✗" : "✓";
  const summary = element("summary", "");
  const name = element("span", "tool", clean(item.name));
  summary.append(element("span", "sign", sign), name, element("span", "brief", briefly("", item.input)));
  node.append(summary);
  const rows = changeOf(item.name, item.input);
  if (rows) node.append(drawChange(rows));
  else for (const [label, text] of fields(item.input)) node.append(element("div", "field", label), code(text.slice(0, LARGEST_SHOWN)));
  if (item.result !== null) node.append(element("div", "field", "Result"), element("pre", "", clean(plain(item.result))));
  for (const image of item.images ?? []) node.append(picture(image));
  if (item.name === "Agent" || item.name === "Task") node.open = item.result === null;
  return node;
}

function composer(id) {
  const form = element("form", "compose");
  const text = element("textarea", "");
  text.rows = 1;
  text.placeholder = "Ask for something";
  text.setAttribute("aria-label", "Prompt");
  const files = filePicker();
  const send = element("button", "yes primary", "Send");
  send.type = "submit";
  form.append(files.label, text, send);
  const grow = () => {
    text.style.height = "auto";
    text.style.height = `${Math.min(text.scrollHeight + 2, window.innerHeight * 0.4)}px`;
  };
  text.addEventListener("input", grow);
  text.addEventListener("paste", (event) => {
    if (event.clipboardData?.files.length) files.input.files = event.clipboardData.files;
    files.input.dispatchEvent(new Event("change"));
  });
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
    const machine = view.sessions.get(id)?.machine;
    const done = await attempt(async () => act(id, { do: "prompt", text: text.value, files: await files.upload(machine) }));
    send.disabled = false;
    if (!done) return;
    if (done.later) say("There is no connection: this is sent as soon as there is one.");
    text.value = "";
    grow();
    files.clear();
  });
  return form;
}
