// What the page knows, what may be done with it, and the small parts that every screen is made of.

import { clean } from "./conversation.js";
import { Refused, Unreachable, ask, newId } from "./link.js";
import { element } from "./questions.js";
import { hex, keep, kept } from "./seal.js";

export const find = (id) => document.getElementById(id);
export const ROLES = ["watch", "answer", "steer", "start"];
const LARGEST_FILE = 32_000_000;
const STATES = { running: "working", requires_action: "waiting for an answer", idle: "ready", completed: "ended", failed: "failed" };
const ASKED = { AskUserQuestion: "has a question", ExitPlanMode: "has a plan to review", "": "has a question" };
const SEALED = ["answer", "prompt", "mode", "model", "effort", "compact", "rewind", "rename"];

export const view = {
  me: null,
  keys: null,
  machines: new Map(),
  environments: [],
  sessions: new Map(),
  questions: [],
  open: null,
  filter: "",
  outbox: [],
  link: "",
};

export function may(role) {
  return ROLES.indexOf(view.me?.role) >= ROLES.indexOf(role);
}

// ---- what is encrypted ----

const opened = new Map();

/** A copy of what the hub says in which everything that this device can read is in clear. */
export async function unseal(state) {
  const sessions = await Promise.all((state.sessions ?? []).map(unsealSession));
  const changed = await Promise.all((state.changed ?? []).map(unsealSession));
  const machineOf = new Map([...view.sessions.values(), ...sessions, ...changed].map((each) => [each.id, each.machine]));
  const questions = state.questions && (await Promise.all(state.questions.map((each) => unsealQuestion(each, machineOf.get(each.session)))));
  const environments = state.environments && (await Promise.all(state.environments.map(unsealFolder)));
  return { ...state, ...(state.sessions && { sessions }), ...(state.changed && { changed }), ...(questions && { questions }), ...(environments && { environments }) };
}

async function unsealSession(session) {
  const box = session.external_metadata;
  if (!box?.sealed) return session;
  const facts = await tryOpen(session.machine, contextOf(session.id), "state", box);
  return { ...session, sealed: true, locked: facts === null, external_metadata: { ...box, ...(facts ?? {}) }, title: facts?.name ?? session.title };
}

async function unsealQuestion(question, machine) {
  const box = question.request;
  if (!box?.sealed) return question;
  const inner = await tryOpen(machine, contextOf(question.session), `question|${question.request_id}`, box);
  if (!inner) return { ...question, sealed: true, locked: true, request: { subtype: box.subtype, tool_name: "something encrypted", input: {} } };
  return { ...question, sealed: true, inner: inner.digest, request: inner.request };
}

async function unsealFolder(environment) {
  const [mark, key, sealed] = environment.directory.split(":");
  if (mark !== "sealed") return environment;
  const facts = await tryOpen(environment.machine, "machine", "folder", { key, sealed });
  return { ...environment, sealed: true, locked: facts === null, directory: facts?.directory ?? "an encrypted folder", branch: facts?.branch ?? "" };
}

/** An event of a session in clear; null for one that this device cannot read. */
export async function unsealFrame(session, frame) {
  const machine = view.sessions.get(session)?.machine;
  if (frame.type === "control_request" || !frame.sealed) return frame;
  return tryOpen(machine, contextOf(session), `out|${frame.type}|${frame.uuid}`, frame, false);
}

async function tryOpen(machine, context, about, box, isKept = true) {
  if (isKept && opened.has(box.sealed)) return opened.get(box.sealed);
  const found = view.keys?.has(machine) ? await view.keys.open(machine, context, about, box).catch(() => null) : null;
  if (isKept && found) {
    opened.set(box.sealed, found);
    while (opened.size > 2_000) opened.delete(opened.keys().next().value);
  }
  return found;
}

export function contextOf(session) {
  return `session ${session.split("_").at(-1)}`;
}

/** Whether requests to a session must be encrypted. */
export function isSealed(session) {
  return view.keys?.has(view.sessions.get(session)?.machine) ?? false;
}

// ---- what is asked of the hub ----

/** Do something in a session, encrypted where its machine wants that; what can't be sent now is sent later. */
export async function act(session, said) {
  const id = newId();
  const machine = view.sessions.get(session)?.machine;
  let body = { id, ...said };
  if (isSealed(session) && SEALED.includes(said.do)) {
    const { do: action, inner, ...rest } = said;
    const value = action === "answer" ? { ...rest, digest: inner } : rest;
    const box = await view.keys.seal(machine, contextOf(session), `in|${action}|${id}`, { ...value, at: Date.now() / 1000 });
    body = { id, do: action, ...(action === "answer" && { request_id: said.request_id, digest: said.digest }), ...box };
  } else delete body.inner;
  const path = `api/sessions/${session}/act`;
  try {
    return await ask("POST", path, body);
  } catch (fault) {
    if (fault instanceof Unreachable && ["prompt", "answer"].includes(said.do)) {
      view.outbox.push({ path, body });
      await keep("outbox", view.outbox);
      say("There is no connection: this is sent as soon as there is one.");
      return { later: true };
    }
    say(fault.message);
    throw fault;
  }
}

/** Send what could not be sent before, in order. */
export async function sendOutbox() {
  if (view.outbox.length === 0) view.outbox = (await kept("outbox").catch(() => null)) ?? [];
  while (view.outbox.length) {
    const { path, body } = view.outbox[0];
    try {
      await ask("POST", path, body, { tries: 1 });
    } catch (fault) {
      if (!(fault instanceof Refused)) return;
      say(fault.message); // The hub has decided: it is not sent again.
    }
    view.outbox.shift();
    await keep("outbox", view.outbox);
    if (view.outbox.length === 0) say("");
  }
}

export async function attempt(work) {
  try {
    const done = await work();
    say("");
    return done ?? true;
  } catch (fault) {
    say(fault.message);
    return null;
  }
}

/** Files for a prompt: sent when `upload` is called, encrypted where the machine wants that. */
export function filePicker() {
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
  const upload = async (machine) => {
    const sent = [];
    for (const file of input.files) {
      if (file.size > LARGEST_FILE) throw new Error(`${file.name} is larger than 32 MB.`);
      if (!view.keys?.has(machine)) {
        const { file_uuid, file_name } = await ask("POST", `api/files?name=${encodeURIComponent(file.name)}`, file);
        sent.push({ file_uuid, file_name });
        continue;
      }
      const { key, data } = await view.keys.sealBytes(machine, "machine", "file", new Uint8Array(await file.arrayBuffer()));
      const { file_uuid } = await ask("POST", "api/files?name=encrypted", data);
      sent.push({ file_uuid, file_name: file.name, key, sha256: hex(await crypto.subtle.digest("SHA-256", data)) });
    }
    return sent;
  };
  const clear = () => {
    input.value = "";
    count.textContent = "";
  };
  return { label, upload, clear, input };
}

// ---- words ----

export function stateOf(session) {
  const asks = session.external_metadata?.asks ?? [];
  if (session.worker_status === "requires_action" && asks.length) return ASKED[asks[0]] ?? `asks to use ${clean(asks[0] || "a tool")}`;
  return STATES[session.worker_status] ?? clean(session.worker_status);
}

export function titleOf(id) {
  const session = view.sessions.get(id);
  return clean(session?.title || session?.external_metadata?.name || (session?.locked ? "Encrypted session" : "Session"));
}

export function ago(seconds) {
  const passed = Math.max(0, Date.now() / 1000 - Number(seconds ?? 0));
  for (const [size, name] of [[86_400, "day"], [3_600, "hour"], [60, "minute"]]) {
    const count = Math.floor(passed / size);
    if (count) return `${count} ${name}${count === 1 ? "" : "s"} ago`;
  }
  return "now";
}

// ---- small parts ----

export function say(text) {
  find("problem").textContent = text;
  find("problem").hidden = !text;
}

export function button(text, style, press) {
  const made = element("button", style, text);
  made.type = "button";
  made.addEventListener("click", () => Promise.resolve(press()).catch(() => null)); // What went wrong is shown already.
  return made;
}

export function field(words, value = "") {
  const label = element("label", "", words);
  const input = element("input", "");
  input.type = "text";
  input.value = value;
  label.append(input);
  return { label, input };
}

export function choice(words, options) {
  const label = element("label", "", words);
  const input = element("select", "");
  for (const [value, text] of options) input.append(Object.assign(element("option", "", text), { value }));
  label.append(input);
  return { label, input };
}

export function check(words) {
  const label = element("label", "check");
  const input = element("input", "");
  input.type = "checkbox";
  label.append(input, ` ${words}`);
  return { label, input };
}

export function modal(title, ...content) {
  const dialog = element("dialog", "");
  dialog.setAttribute("aria-label", title);
  const head = element("div", "dialog-head");
  head.append(element("h2", "", title), button("Close", "", () => dialog.close()));
  dialog.append(head, ...content);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Ask for one text; null if there is none. */
export function askFor(title, words, value, { options } = {}) {
  return new Promise((resolve) => {
    const form = element("form", "dialog-form");
    const { label, input } = options ? choice(words, options) : field(words, value);
    if (options) input.value = value;
    const ok = element("button", "yes", "OK");
    ok.type = "submit";
    form.append(label, ok);
    const dialog = modal(title, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      resolve(input.value.trim() || null);
      dialog.close();
    });
    dialog.addEventListener("close", () => resolve(null));
    input.focus();
    input.select?.();
  });
}

/** Ask whether to do something that can't be undone. */
export function confirm(title, words, yes) {
  return new Promise((resolve) => {
    const form = element("div", "dialog-form");
    const dialog = modal(title, form);
    form.append(
      element("p", "", words),
      button(yes, "no", () => {
        resolve(true);
        dialog.close();
      }),
    );
    dialog.addEventListener("close", () => resolve(false));
  });
}

