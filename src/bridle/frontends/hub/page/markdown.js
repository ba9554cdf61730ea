// Markdown as elements. Text becomes text: nothing of it can become other markup.

import { clean, reveal } from "./conversation.js";
import { element } from "./questions.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const INLINE = /(`+)([^`][\s\S]*?)\1(?!`)|\*\*([^*\n]+)\*\*|__([^_\n]+)__|\*([^*\s][^*\n]*)\*|~~([^~\n]+)~~|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>"'`\\^{}|]+[^\s<>"'`\\^{}|.,;:!?)\]])/g;
const KEYWORDS = new Set(
  ("abstract and as assert async await break case catch class const continue def default del do elif else enum except export extends false False " +
    "final finally fn for from func function global go if impl import in interface is lambda let match mod module mut new nil None not null or " +
    "package pass private protected pub public raise return self static struct super switch this throw trait true True try type typeof use var void while with yield").split(" "),
);
const CODE = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|\b(\d[\w.]*)\b|\b([A-Za-z_]\w*)\b/g;
const LONGEST_COLORED = 20_000;

/** A text as elements. */
export function render(text) {
  const lines = clean(text).split("\n");
  const place = document.createDocumentFragment();
  for (let at = 0; at < lines.length; ) at = block(lines, at, place);
  return place;
}

function block(lines, at, place) {
  const line = lines[at];
  if (!line.trim()) return at + 1;
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence, place);
  const heading = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
  if (heading) {
    place.append(inline(element(`h${Math.min(heading[1].length + 2, 6)}`, ""), heading[2]));
    return at + 1;
  }
  if (RULE.test(line)) {
    place.append(element("hr", ""));
    return at + 1;
  }
  if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? "")) return table(lines, at, place);
  if (/^\s{0,3}>/.test(line)) return quote(lines, at, place);
  if (ITEM.test(line)) return list(lines, at, place);
  return paragraph(lines, at, place);
}

function fenced(lines, at, fence, place) {
  let end = at + 1;
  while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end += 1;
  place.append(code(lines.slice(at + 1, end).join("\n"), fence[2]));
  return end + 1;
}

/** Code with the words that most languages share in color. */
export function code(text, language = "") {
  const box = element("div", "code");
  if (language) box.append(element("div", "field", language));
  const pre = element("pre", "");
  if (text.length > LONGEST_COLORED) pre.textContent = text;
  else {
    let at = 0;
    for (const found of text.matchAll(CODE)) {
      const style = found[1] ? "string" : found[2] ? "comment" : found[3] ? "number" : KEYWORDS.has(found[4]) ? "keyword" : "";
      if (!style) continue;
      pre.append(text.slice(at, found.index), element("span", style, found[0]));
      at = found.index + found[0].length;
    }
    pre.append(text.slice(at));
  }
  box.append(pre);
  return box;
}

function table(lines, at, place) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((each) => each.trim().replaceAll("\\|", "|"));
  const made = element("table", "");
  const head = element("tr", "");
  for (const each of cells(lines[at])) head.append(inline(element("th", ""), each));
  made.append(element("thead", ""), element("tbody", ""));
  made.tHead.append(head);
  let end = at + 2;
  for (; end < lines.length && lines[end].includes("|") && lines[end].trim(); end += 1) {
    const row = element("tr", "");
    for (const each of cells(lines[end])) row.append(inline(element("td", ""), each));
    made.tBodies[0].append(row);
  }
  const scroll = element("div", "scroll");
  scroll.append(made);
  place.append(scroll);
  return end;
}

function quote(lines, at, place) {
  let end = at;
  const inner = [];
  for (; end < lines.length && /^\s{0,3}>/.test(lines[end]); end += 1) inner.push(lines[end].replace(/^\s{0,3}>\s?/, ""));
  const made = element("blockquote", "");
  for (let each = 0; each < inner.length; ) each = block(inner, each, made);
  place.append(made);
  return end;
}

function list(lines, at, place) {
  const first = ITEM.exec(lines[at]);
  const depth = first[1].length;
  const made = element(/\d/.test(first[2]) ? "ol" : "ul", "");
  if (/\d/.test(first[2])) made.start = Number.parseInt(first[2], 10);
  let end = at;
  while (end < lines.length) {
    const found = ITEM.exec(lines[end]);
    if (!found || found[1].length < depth) break;
    if (found[1].length > depth) {
      end = list(lines, end, made.lastElementChild ?? made);
      continue;
    }
    const entry = element("li", "");
    if (found[3] !== undefined) {
      const box = element("input", "");
      box.type = "checkbox";
      box.disabled = true;
      box.checked = found[3] !== " ";
      entry.append(box, " ");
    }
    let text = found[4];
    for (end += 1; end < lines.length && lines[end].trim() && !ITEM.test(lines[end]) && /^\s+/.test(lines[end]) && !FENCE.test(lines[end]); end += 1) text += ` ${lines[end].trim()}`;
    made.append(inline(entry, text));
    while (end < lines.length && !lines[end].trim() && ITEM.test(lines[end + 1] ?? "")) end += 1;
    const fence = FENCE.exec(lines[end] ?? "");
    if (fence && /^\s+/.test(lines[end])) end = fenced(lines, end, fence, entry);
  }
  place.append(made);
  return end;
}

function paragraph(lines, at, place) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !FENCE.test(lines[end]) && !ITEM.test(lines[end]) && !/^\s{0,3}(#{1,6}\s|>)/.test(lines[end])) end += 1;
  place.append(inline(element("p", ""), lines.slice(at, end).join("\n")));
  return end;
}

/** A line with its emphasis, code and links. */
export function inline(node, text) {
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    node.append(text.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[2] !== undefined) node.append(element("code", "", found[2]));
    else if (found[3] !== undefined || found[4] !== undefined) node.append(inline(element("strong", ""), found[3] ?? found[4]));
    else if (found[5] !== undefined) node.append(inline(element("em", ""), found[5]));
    else if (found[6] !== undefined) node.append(inline(element("s", ""), found[6]));
    else node.append(link(found[7] ?? found[9], found[8] ?? found[9]));
  }
  node.append(text.slice(at));
  return node;
}

function link(words, address) {
  const made = element("a", "link", reveal(words));
  made.href = address;
  made.title = reveal(address);
  made.rel = "noopener noreferrer nofollow";
  made.target = "_blank";
  return made;
}
