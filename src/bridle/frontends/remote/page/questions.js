// Questions of the session: the exact input, and buttons. Text becomes text, never markup.

import { clean, reveal } from "./conversation.js";

const GUARD = 700;

/** The parts of an input, each as a name and a text that hides nothing. */
export function fields(input) {
  const entries = Object.entries(input ?? {});
  const first = entries.filter(([name]) => name === "command");
  const rest = entries.filter(([name]) => name !== "command");
  return [...first, ...rest].map(([name, value]) => [reveal(name), reveal(typeof value === "string" ? value : JSON.stringify(value, null, 2))]);
}

/** What taking a suggestion means, in words. */
export function suggested(update) {
  const rules = (update.rules ?? []).map((rule) => (rule.ruleContent ? `${rule.toolName}(${rule.ruleContent})` : rule.toolName));
  const where = update.destination === "session" ? "for this session" : "for good";
  switch (update.type) {
    case "addRules":
      return reveal(`Allow, and ${rules.join(", ")} ${where}`);
    case "setMode":
      return reveal(`Allow, and continue in mode ${update.mode}`);
    case "addDirectories":
      return reveal(`Allow, and work in ${(update.directories ?? []).join(", ")} ${where}`);
    default:
      return null;
  }
}

/** A question as an element; `answer` is called with what was chosen. */
export function draw(frame, answer) {
  const { request } = frame;
  const box = element("article", "question");
  const choose = (said) => {
    for (const button of box.querySelectorAll("button")) button.disabled = true;
    answer({ do: "answer", request_id: frame.request_id, digest: frame.digest, ...said }, () => arm(box));
  };
  if (request.subtype === "elicitation") drawForm(box, request, choose);
  else if (request.tool_name === "AskUserQuestion") drawChoices(box, request, choose);
  else drawPermission(box, request, choose);
  // A question that appears under a finger must not be answered by it.
  for (const button of box.querySelectorAll("button")) button.disabled = true;
  setTimeout(() => arm(box), GUARD);
  return box;
}

function arm(box) {
  for (const button of box.querySelectorAll("button")) button.disabled = false;
}

function drawPermission(box, request, choose) {
  box.append(element("h2", "", `May ${reveal(request.tool_name)} run?`));
  if (request.decision_reason) box.append(element("p", "why", reveal(request.decision_reason)));
  const asker = request.asked_by ?? request.agent_id;
  if (asker) box.append(element("p", "why", `Asked by ${reveal(asker)}`));
  drawFields(box, request.input);
  const buttons = element("div", "buttons");
  buttons.append(button("yes", "Allow once", () => choose({ behavior: "allow" })));
  (request.permission_suggestions ?? []).forEach((update, index) => {
    const words = suggested(update);
    if (words) buttons.append(button("yes", words, () => choose({ behavior: "allow", suggestion: index })));
  });
  const why = textInput("What to do instead (may stay empty)");
  buttons.append(button("no", "Refuse", () => choose({ behavior: "deny", message: why.value })));
  // The buttons come last: they stay in sight while what stands above them scrolls.
  box.append(why, buttons);
}

function drawFields(box, input) {
  for (const [name, text] of fields(input)) {
    box.append(element("div", "field", name), element("pre", "", text));
  }
}

function drawChoices(box, request, choose) {
  const asked = (request.input?.questions ?? []).map((question, number) => {
    const group = element("fieldset", "");
    group.append(element("legend", "", reveal(question.question ?? "")));
    const options = (question.options ?? []).map((option) => {
      const input = element("input", "");
      input.type = question.multiSelect ? "checkbox" : "radio";
      input.name = `question-${number}`;
      input.value = option.label;
      const label = element("label", "");
      label.append(input, ` ${reveal(option.label ?? "")}`, element("div", "field", reveal(option.description ?? "")));
      group.append(label);
      return input;
    });
    const other = textInput("Something else");
    group.append(other);
    box.append(group);
    const given = () => [...options.filter((each) => each.checked).map((each) => each.value), ...(other.value.trim() ? [other.value.trim()] : [])];
    return { question: question.question, given };
  });
  const missing = element("p", "why");
  const send = () => {
    const answers = Object.fromEntries(asked.map((each) => [each.question, each.given().join(", ")]));
    if (Object.values(answers).some((text) => text === "")) missing.textContent = "Every question needs an answer.";
    else choose({ behavior: "allow", answers });
  };
  const buttons = element("div", "buttons");
  buttons.append(button("yes", "Answer", send), button("no", "Do not answer", () => choose({ behavior: "deny" })));
  box.append(missing, buttons);
}

function drawForm(box, request, choose) {
  box.append(element("h2", "", `${reveal(request.mcp_server_name)} asks`), element("p", "", reveal(request.message ?? "")));
  const inputs = [];
  if (request.mode === "url") {
    box.append(element("pre", "", reveal(request.url ?? "")));
    box.append(element("p", "why", "Open this page yourself if you trust it, then say so."));
  }
  const properties = request.mode === "url" ? {} : (request.requested_schema?.properties ?? {});
  for (const [name, schema] of Object.entries(properties)) inputs.push([name, schema, drawField(box, name, schema)]);
  const content = () => Object.fromEntries(inputs.map(([name, schema, input]) => [name, value(schema, input)]).filter(([, given]) => given !== undefined));
  const buttons = element("div", "buttons");
  buttons.append(button("yes", request.mode === "url" ? "I have opened it" : "Send", () => choose({ action: "accept", content: content() })));
  buttons.append(button("no", "Decline", () => choose({ action: "decline" })));
  box.append(buttons);
}

function drawField(box, name, schema) {
  const label = element("label", "", reveal(schema.title ?? name));
  if (schema.description) label.append(element("div", "field", reveal(schema.description)));
  const named = schema.enum ?? schema.oneOf?.map((each) => each.const);
  const input = element(named ? "select" : "input", "");
  if (named) {
    for (const each of ["", ...named]) {
      const option = element("option", "", reveal(each));
      option.value = each;
      input.append(option);
    }
  } else if (schema.type === "boolean") input.type = "checkbox";
  else input.type = schema.type === "number" || schema.type === "integer" ? "number" : "text";
  if (input.type === "checkbox") input.checked = schema.default === true;
  else if (schema.default !== undefined) input.value = String(schema.default);
  label.append(input);
  box.append(label);
  return input;
}

/** What was filled in, in the type that is asked for; undefined for nothing. */
export function value(schema, input) {
  if (schema.type === "boolean") return input.checked;
  if (input.value === "") return undefined;
  return schema.type === "number" || schema.type === "integer" ? Number(input.value) : input.value;
}

export function element(name, style, text) {
  const made = document.createElement(name);
  if (style) made.className = style;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(style, text, press) {
  const made = element("button", style, clean(text));
  made.type = "button";
  made.addEventListener("click", press);
  return made;
}

function textInput(hint) {
  const made = element("input", "");
  made.type = "text";
  made.placeholder = hint;
  made.setAttribute("aria-label", hint);
  return made;
}
