// The first screen: the questions of all machines, then the machines with their sessions.

import { clean } from "./conversation.js";
import { addDevice, notify, searchAll, showKeys, startDialog } from "./dialogs.js";
import { drawQuestions } from "./asking.js";
import { element } from "./questions.js";
import { ago, button, find, may, stateOf, titleOf, view } from "./view.js";

export function drawHome(schedule) {
  const main = find("main");
  const typed = document.activeElement?.id === "filter" ? document.activeElement.selectionStart : null;
  const focused = document.activeElement?.closest?.(".card a")?.hash;
  const questions = part(main, "questions", "Questions");
  drawQuestions(questions, view.questions, true);
  questions.hidden = view.questions.length === 0;
  const sessions = part(main, "sessions", "Sessions");
  const folded = find("ended")?.open ?? false;
  sessions.replaceChildren(sessions.firstChild, tools(schedule), ...machineLists());
  if (folded && find("ended")) find("ended").open = true;
  if (typed !== null) {
    find("filter").focus();
    find("filter").setSelectionRange(typed, typed);
  } else if (focused) sessions.querySelector(`.card a[href="${focused}"]`)?.focus();
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

function tools(schedule) {
  const row = element("div", "tools");
  const filter = element("input", "");
  filter.id = "filter";
  filter.type = "search";
  filter.placeholder = "Filter or search";
  filter.setAttribute("aria-label", "Filter sessions, or press enter to search conversations");
  filter.value = view.filter;
  filter.addEventListener("input", () => {
    view.filter = filter.value;
    schedule();
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && filter.value.trim().length >= 2) searchAll(filter.value.trim());
  });
  row.append(filter);
  if (may("start") && view.environments.length) row.append(button("New session", "yes primary", () => startDialog()));
  const more = element("div", "more");
  more.append(button("Notifications", "plain", notify));
  if (may("start")) more.append(button("Add a device", "plain", addDevice));
  row.append(more);
  return row;
}

function machineLists() {
  const words = view.filter.toLowerCase();
  const shown = [...view.sessions.values()].filter((each) => `${titleOf(each.id)} ${folderOf(each)} ${each.worker_status}`.toLowerCase().includes(words));
  shown.sort((a, b) => b.updated_at - a.updated_at);
  const live = shown.filter((each) => !isOver(each));
  const owners = [...view.machines.values()].map((machine) => [machine.name, live.filter((each) => each.machine === machine.id), machine]);
  const others = live.filter((each) => !view.machines.has(each.machine));
  if (others.length) owners.push(["Other machines", others, null]);
  if (owners.length === 0) {
    return [element("p", "empty", "No machine has joined yet. On the hub, run: bridle hub invite. On the machine, run: bridle hub join.")];
  }
  const lists = owners.map(([name, sessions, machine]) => machineBox(name, sessions, machine, words));
  const over = shown.filter(isOver);
  if (over.length) {
    const folded = element("details", "machine");
    folded.id = "ended";
    folded.append(element("summary", "", `Ended (${over.length})`), cards(over));
    lists.push(folded);
  }
  return lists;
}

function machineBox(name, sessions, machine, words) {
  const box = element("div", "machine");
  const head = element("div", "machine-head");
  const title = element("h3", "", clean(name));
  head.append(title);
  const environments = view.environments.filter((each) => each.machine === machine?.id);
  if (machine) {
    const seen = Math.max(machine.seen, ...environments.map((each) => each.seen ?? 0));
    const isHere = Date.now() / 1000 - seen < 150;
    const dot = element("span", `dot ${isHere ? "on" : ""}`);
    dot.setAttribute("role", "img");
    dot.setAttribute("aria-label", isHere ? "connected" : "not connected");
    title.prepend(dot);
    if (!isHere) head.append(element("span", "field", `seen ${ago(seen)}`));
    if (view.keys?.has(machine.id)) head.append(element("span", "tag", "encrypted"));
    else if (environments.some((each) => each.locked) || sessions.some((each) => each.locked)) head.append(button("encrypted: no key here", "tag", () => showKeys(machine)));
  }
  box.append(head);
  const folders = environments.map((each) => each.directory);
  if (folders.length) box.append(element("p", "field folders", folders.map(clean).join(" · ")));
  if (sessions.length) box.append(cards(sessions));
  else box.append(element("p", "empty", words ? "No session matches." : "No sessions."));
  return box;
}

function cards(sessions) {
  const list = element("ul", "cards");
  for (const each of sessions) list.append(card(each));
  return list;
}

function card(session) {
  const entry = element("li", "card");
  const facts = session.external_metadata ?? {};
  const open = element("a", "", titleOf(session.id));
  open.href = `#s/${session.id}`;
  const state = element("span", "state", stateOf(session));
  state.dataset.state = session.worker_status;
  const top = element("div", "card-top");
  top.append(open, state);
  const cost = Number(facts.cost ?? 0);
  const about = [folderOf(session), facts.branch, facts.model, cost > 0 ? `$${cost.toFixed(2)}` : "", facts.joined ? "begun there" : "", ago(session.updated_at)];
  entry.append(top, element("div", "field", about.filter(Boolean).map(clean).join(" · ")));
  return entry;
}

function isOver(session) {
  return session.worker_status === "completed" || session.worker_status === "failed";
}

function folderOf(session) {
  const path = session.external_metadata?.cwd || session.external_metadata?.folder || "";
  return path.split("/").slice(-2).join("/");
}
