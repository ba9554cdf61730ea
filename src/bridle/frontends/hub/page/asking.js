// Questions, each where it is seen best: a plan as one, an edit as a change, everything with its exact input.

import { changeOf, drawChange } from "./diff.js";
import { render } from "./markdown.js";
import { draw, element } from "./questions.js";
import { act, button, field, may, titleOf, view } from "./view.js";

const boxes = new Map();

export function forgetBoxes() {
  boxes.clear();
}

/** Each question stays where it is on the page while it is open. */
export function drawQuestions(place, questions, named) {
  const wanted = new Set(questions.map(nameOf));
  for (const [id, box] of boxes) {
    if (!wanted.has(id) || box.parentElement !== place) {
      box.remove();
      boxes.delete(id);
    }
  }
  for (const question of questions) {
    const id = nameOf(question);
    if (boxes.has(id)) continue;
    const box = made(question);
    if (named) {
      const from = element("a", "from", titleOf(question.session));
      from.href = `#s/${question.session}`;
      box.prepend(from);
    }
    if (!may("answer")) for (const each of box.querySelectorAll("button, input")) each.hidden = true;
    boxes.set(id, box);
    place.append(box);
  }
}

function nameOf(question) {
  return `${question.session} ${question.request_id} ${question.locked ? "locked" : ""}`;
}

function made(question) {
  if (question.locked) {
    const box = element("article", "question");
    box.append(element("h2", "", "An encrypted question"), element("p", "why", "This device has no keys of that machine. Run bridle hub trust there, and open the link here."));
    return box;
  }
  const { request } = question;
  if (request.tool_name === "ExitPlanMode") return drawPlan(question);
  const box = draw(question, (said, again) => send(question, said, again));
  const rows = changeOf(request.tool_name, request.input);
  if (rows) foldInput(box, rows);
  return box;
}

async function send(question, said, again) {
  try {
    await act(question.session, { ...said, inner: question.inner });
  } catch (fault) {
    if (fault.status !== 409) again();
  }
}

/** A plan with its four answers. */
function drawPlan(question) {
  const { request, session } = question;
  const plan = String(request.input?.plan ?? "");
  const box = element("article", "question plan-review");
  box.append(element("h2", "", plan ? "Approve this plan?" : "Leave plan mode without a plan?"));
  const text = element("div", "plan");
  text.tabIndex = 0;
  text.setAttribute("aria-label", "The plan");
  text.append(render(plan));
  box.append(text);
  const modes = (request.permission_suggestions ?? []).map((each) => each.mode);
  const answer = (said) => {
    for (const each of box.querySelectorAll("button")) each.disabled = true;
    return send(question, { do: "answer", request_id: question.request_id, digest: question.digest, ...said }, () => {
      for (const each of box.querySelectorAll("button")) each.disabled = false;
    });
  };
  const allow = (mode) => answer({ behavior: "allow", ...(modes.includes(mode) && { suggestion: modes.indexOf(mode) }) });
  const why = field("What to change (may stay empty)");
  const buttons = element("div", "buttons");
  buttons.append(
    button("Yes, accept edits", "yes", async () => {
      await allow("acceptEdits");
      if (!modes.includes("acceptEdits") && may("steer")) await act(session, { do: "mode", mode: "acceptEdits" });
    }),
    button("Yes, approve each edit", "yes", () => allow("default")),
  );
  if (plan && may("steer")) {
    buttons.append(
      button("Yes, in a new conversation", "yes", async () => {
        await answer({ behavior: "deny", message: "The user starts the plan in a new conversation." });
        await act(session, { do: "interrupt" });
        await act(session, { do: "prompt", text: "/clear" });
        await act(session, { do: "mode", mode: "acceptEdits" });
        await act(session, { do: "prompt", text: `Implement the following plan:\n\n${plan}` });
      }),
    );
  }
  buttons.append(
    button("No, keep planning", "no", () => {
      const words = why.input.value.trim();
      return answer({ behavior: "deny", message: words ? `The user wants the plan changed: ${words}` : "The user wants to keep planning." });
    }),
  );
  box.append(why.label, buttons);
  return box;
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

/** How many questions are open, here and elsewhere. */
export function countQuestions() {
  const open = view.questions.length;
  const elsewhere = view.questions.filter((each) => each.session !== view.open).length;
  return { open, elsewhere, words: `${elsewhere} elsewhere`, label: `${elsewhere} ${elsewhere === 1 ? "question" : "questions"} in other sessions` };
}

