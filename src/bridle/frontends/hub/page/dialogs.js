// Starting a session, letting devices in, notifications, keys and searching.

import { clean } from "./conversation.js";
import { ask, newId } from "./link.js";
import { element } from "./questions.js";
import { decode } from "./seal.js";
import { ROLES, ago, attempt, button, check, choice, field, filePicker, find, may, modal, say, titleOf, view } from "./view.js";

const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

export function startDialog() {
  const form = element("form", "dialog-form");
  const place = choice("Folder", view.environments.map((each) => [each.id, `${clean(view.machines.get(each.machine)?.name ?? each.name)}: ${clean(each.directory)}${each.branch ? ` (${clean(each.branch)})` : ""}`]));
  const mode = choice("Permission mode", [["", "as the machine has it"], ["default", "ask"], ["acceptEdits", "accept edits"], ["plan", "plan"]]);
  const model = field("Model (empty: the usual one)");
  const effort = choice("Effort", [["", "as the machine has it"], ...EFFORTS.map((each) => [each, each])]);
  const tree = check("in a git work tree of its own");
  const prompt = element("textarea", "");
  prompt.rows = 4;
  prompt.placeholder = "What should be done?";
  prompt.setAttribute("aria-label", "First prompt");
  const files = filePicker();
  const more = element("details", "");
  const inside = element("div", "dialog-form");
  inside.append(mode.label, model.label, effort.label, tree.label);
  more.append(element("summary", "", "Mode, model, effort, work tree"), inside);
  const wish = newId();
  const start = element("button", "yes primary", "Start");
  start.type = "submit";
  const row = element("div", "row");
  row.append(files.label, start);
  form.append(prompt, place.label, more, row);
  const dialog = modal("New session", form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    start.disabled = true;
    const wanted = { prompt: prompt.value, mode: mode.input.value, model: model.input.value.trim(), effort: effort.input.value, worktree: tree.input.checked };
    const made = await attempt(() => start_(wish, place.input.value, wanted, files));
    start.disabled = false;
    if (!made) return;
    dialog.close();
    window.location.hash = `#s/${made.id}`;
  });
  prompt.focus();
}

async function start_(id, environment, wanted, files) {
  const { machine, directory } = view.environments.find((each) => each.id === environment) ?? {};
  const context = `environment ${environment}`;
  const body = { ...wanted, files: await files.upload(machine) };
  if (!view.keys?.has(machine)) return ask("POST", "api/sessions", { id, environment, ...body });
  const value = { ...body, directory, who: view.me.name, at: Date.now() / 1000 };
  return ask("POST", "api/sessions", { id, environment, ...(await view.keys.seal(machine, context, `start|${id}`, value)) });
}

export function addDevice() {
  const form = element("form", "dialog-form");
  form.method = "dialog";
  const role = choice("It may", ROLES.map((each) => [each, each]));
  role.input.value = "answer";
  const shown = element("p", "secret", "");
  shown.setAttribute("role", "status");
  const make = button("Make a code", "yes", async () => {
    const made = await attempt(() => ask("POST", "api/codes", { role: role.input.value }));
    if (made) shown.textContent = `${made.code} (ten minutes, once)`;
  });
  form.append(role.label, make, shown);
  modal("Add a device", form);
}

export async function searchAll(text) {
  const found = await attempt(() => ask("GET", `api/search?q=${encodeURIComponent(text)}`));
  if (!found) return;
  const list = element("ul", "cards");
  for (const each of found.found) {
    const entry = element("li", "card");
    const open = element("a", "", titleOf(each.session));
    open.href = `#s/${each.session}@${each.number}`;
    entry.append(open, element("div", "snippet", clean(each.snippet ?? "")), element("div", "field", ago(each.at)));
    list.append(entry);
  }
  if (!list.children.length) list.append(element("li", "empty", "Nothing found."));
  const parts = [list];
  if ([...view.sessions.values()].some((each) => each.sealed)) parts.push(element("p", "field", "Encrypted conversations can't be searched at the hub."));
  const dialog = modal(`Conversations with “${clean(text)}”`, ...parts);
  list.addEventListener("click", () => dialog.close());
}

// ---- notifications ----

export async function notify() {
  const known = await attempt(() => ask("GET", "api/push"));
  if (!known) return;
  const form = element("div", "dialog-form");
  const dialog = modal("Notifications", form);
  form.append(element("p", "field", "When a session asks something. A notification says no more than that, unless you want what is asked in it."));
  const content = check("say what is asked");
  form.append(content.label);
  const again = async (work) => {
    if (await attempt(work)) {
      dialog.close();
      await notify();
    }
  };
  if (canPush()) form.append(button("Notify this device", "yes", () => again(() => subscribe(known.key, content.input.checked))));
  else form.append(element("p", "field", "This browser gets push messages only from a hub by https. Use ntfy or a webhook instead."));
  if (may("start")) {
    const address = field("Address of an ntfy topic or a webhook");
    const kind = choice("Kind", [["ntfy", "ntfy"], ["webhook", "webhook (JSON)"]]);
    address.input.placeholder = "https://ntfy.sh/my-topic";
    form.append(
      address.label,
      kind.label,
      button("Add", "", () => again(() => ask("PUT", "api/push", { kind: kind.input.value, endpoint: address.input.value.trim(), content: content.input.checked }))),
    );
  }
  const list = element("ul", "cards");
  for (const each of known.subscriptions) {
    const entry = element("li", "card row");
    entry.append(element("span", "grow", `${each.kind}: ${shortAddress(each.endpoint)}${each.content ? ", says what is asked" : ""}`));
    entry.append(
      button("Try", "", () => attempt(() => ask("POST", "api/push/try", { endpoint: each.endpoint }))),
      button("Remove", "no", () => again(() => ask("DELETE", "api/push", { endpoint: each.endpoint }))),
    );
    list.append(entry);
  }
  form.append(list);
}

function shortAddress(text) {
  try {
    return new URL(text).host;
  } catch {
    return clean(text).slice(0, 60);
  }
}

function canPush() {
  return window.isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
}

async function subscribe(key, content) {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("Notifications are turned off for this page in the browser.");
  const worker = await navigator.serviceWorker.ready;
  const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: decode(key) });
  const { endpoint, keys } = made.toJSON();
  return ask("PUT", "api/push", { kind: "webpush", endpoint, p256dh: keys.p256dh, auth: keys.auth, content });
}

// ---- keys and pairing ----

export function showKeys(machine) {
  const form = element("div", "dialog-form");
  const link = field("Link of the machine");
  form.append(
    element("p", "", `What ${clean(machine.name)} sends is encrypted. Run bridle hub trust there, and scan the code with this device, or paste the link here.`),
    link.label,
    button("Use it", "yes", async () => {
      const text = link.input.value.split("#trust=").at(-1).trim();
      if (await attempt(() => trustLink(text))) dialog.close();
    }),
  );
  const dialog = modal("Encrypted", form);
}

/** Take part in what a machine encrypts, and wait until it has left its keys. */
export async function trustLink(text) {
  const machine = await view.keys.trust(text, ask);
  say("Waiting for the machine …");
  for (let n = 0; n < 60; n += 1) {
    await view.keys.refresh(ask);
    if (view.keys.has(machine)) {
      say("");
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error("The machine has not answered: is bridle hub trust still running there?");
}

export function drawPairing(code = "") {
  const form = element("form", "pair");
  const typed = field("Code of this device", code);
  typed.input.autocomplete = "one-time-code";
  typed.input.autocapitalize = "characters";
  const name = field("Name of this device", clientName());
  const send = element("button", "yes primary", "Pair");
  send.type = "submit";
  form.append(element("h2", "", "Pair this device"), element("p", "field", "On the hub, run bridle hub pair. Scan its code with this device, or type it here."), typed.label, name.label, send);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const done = await attempt(() => ask("POST", "api/pair", { code: typed.input.value, name: name.input.value }));
    if (done) window.location.replace(`${window.location.pathname}#`);
    if (done) window.location.reload();
  });
  find("main").replaceChildren(form);
  (code ? send : typed.input).focus();
}

function clientName() {
  const agent = navigator.userAgent;
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"].find((name) => agent.includes(name)) ?? "elsewhere";
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((name) => agent.includes(name)) ?? "A browser";
  return `${browser === "Edg" ? "Edge" : browser} on ${system}`;
}

export function help() {
  const list = element("dl", "keys");
  for (const [key, words] of [["/", "filter and search"], ["n", "new session"], ["esc", "back to all sessions"], ["p", "write a prompt"], ["q", "go to the first question"], ["?", "these keys"]]) {
    list.append(element("dt", "", key), element("dd", "", words));
  }
  modal("Keys", list);
}

