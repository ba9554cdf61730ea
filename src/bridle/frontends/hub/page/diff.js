// What an edit changes, line by line.

import { reveal } from "./conversation.js";
import { element } from "./questions.js";

const MOST_LINES = 2_000;
const SHOWN_AROUND = 3;

/** The lines of two texts: kept, removed or added. */
export function compare(before, after) {
  const old = before === "" ? [] : before.split("\n");
  const now = after === "" ? [] : after.split("\n");
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = changed(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const same = (lines) => lines.map((text) => [" ", text]);
  return [...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))];
}

function changed(old, now) {
  if (old.length * now.length > MOST_LINES * 200) return [...old.map((text) => ["-", text]), ...now.map((text) => ["+", text])];
  // The longest common lines, from the end.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let a = old.length - 1; a >= 0; a -= 1) {
    for (let b = now.length - 1; b >= 0; b -= 1) {
      lengths[a][b] = old[a] === now[b] ? lengths[a + 1][b + 1] + 1 : Math.max(lengths[a + 1][b], lengths[a][b + 1]);
    }
  }
  const rows = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      rows.push([" ", old[a]]);
      a += 1;
      b += 1;
    } else if (a < old.length && (b >= now.length || lengths[a + 1][b] >= lengths[a][b + 1])) rows.push(["-", old[a++]]);
    else rows.push(["+", now[b++]]);
  }
  return rows;
}

/** The change of a call that edits a file; null for other calls. */
export function changeOf(name, input) {
  if (name === "Edit" && typeof input?.old_string === "string") return compare(input.old_string, String(input.new_string ?? ""));
  if (name === "Write" && typeof input?.content === "string") return compare("", input.content);
  return null;
}

/** A change as an element, with what is the same around it folded. */
export function drawChange(rows) {
  const box = element("div", "diff");
  box.setAttribute("role", "group");
  const near = rows.map((_, at) => rows.slice(Math.max(0, at - SHOWN_AROUND), at + SHOWN_AROUND + 1).some(([sign]) => sign !== " "));
  let skipped = 0;
  rows.slice(0, MOST_LINES).forEach(([sign, text], at) => {
    if (!near[at]) {
      skipped += 1;
      return;
    }
    if (skipped) box.append(element("div", "skipped", `${skipped} more ${skipped === 1 ? "line" : "lines"}`));
    skipped = 0;
    const style = sign === "+" ? "added" : sign === "-" ? "removed" : "";
    box.append(element("div", style, `${sign} ${reveal(text)}`));
  });
  if (rows.length > MOST_LINES) box.append(element("div", "skipped", `${rows.length - MOST_LINES} more lines`));
  return box;
}
