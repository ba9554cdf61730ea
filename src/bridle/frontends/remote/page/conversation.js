// The conversation as a list of things to show, folded from numbered frames. Nothing here touches the page.

const SEQUENCES = new RegExp(
  [
    "\\u001b\\[[0-?]*[ -/]*[@-~]", // colors, cursor
    "[\\u001b]\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\|$)", // titles, links
    "\\u001b[PX^_][^\\u001b]*(?:\\u001b\\\\|$)", // strings for the terminal itself
    "\\u009b[0-?]*[ -/]*[@-~]",
    "\\u001b[ -/]*[0-~]",
  ].join("|"),
  "g",
);
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
const URL_IN_TEXT = /https?:\/\/[^\s<>"'`\\^{}|]+[^\s<>"'`\\^{}|.,;:!?)\]]/g;
const MOST_TEXT = 60_000;

/** Text without what only a terminal understands, and without what turns the order of letters. */
export function clean(text) {
  return cut(String(text).replace(SEQUENCES, "").replace(CONTROLS, "").replace(DIRECTIONS, mark));
}

/** Text with everything that cannot be seen made visible: what is approved is what is there. */
export function reveal(text) {
  return String(text).replace(UNSEEN, mark);
}

function mark(character) {
  return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

function cut(text) {
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}\n(${text.length - MOST_TEXT} more characters)`;
}

/** Text in parts: plain, emphasized, code, and links. */
export function segments(text) {
  const parts = [];
  const pieces = clean(text).split(/^[ \t]*```[^\n]*$\n?/m);
  pieces.forEach((piece, index) => {
    if (index % 2 === 1) parts.push({ kind: "code", text: piece.replace(/\n$/, "") });
    else parts.push(...links(piece));
  });
  return parts.filter((part) => part.text !== "");
}

function links(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(URL_IN_TEXT)) {
    parts.push(...emphasis(text.slice(at, found.index)));
    parts.push({ kind: "link", text: found[0] });
    at = found.index + found[0].length;
  }
  parts.push(...emphasis(text.slice(at)));
  return parts;
}

function emphasis(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*|^#{1,6} ([^\n]+)$/gm)) {
    parts.push({ kind: "text", text: text.slice(at, found.index) });
    parts.push(found[1] ? { kind: "mono", text: found[1] } : { kind: "strong", text: found[2] ?? found[3] });
    at = found.index + found[0].length;
  }
  parts.push({ kind: "text", text: text.slice(at) });
  return parts;
}

/** Everything there is to show, by key, in order. */
export class Conversation {
  constructor() {
    this.items = new Map();
    this.questions = new Map();
    this.decided = [];
    this.state = {};
    this.name = "";
    this.partial = "";
  }

  /** Begin again from one line that holds everything so far. */
  begin(snapshot) {
    this.items.clear();
    this.questions.clear();
    this.decided = [];
    this.partial = "";
    this.name = clean(snapshot.session?.name ?? "");
    this.state = snapshot.state ?? {};
    if (snapshot.earlier) this.items.set("earlier", { kind: "note", text: "Earlier messages are kept where the session runs." });
    for (const frame of snapshot.frames ?? []) this.take(frame);
    this.questions.clear();
    for (const frame of snapshot.questions ?? []) this.take(frame);
    this.partial = String(snapshot.partial ?? "");
  }

  take(frame) {
    switch (frame?.type) {
      case "user":
        return this.#user(frame);
      case "assistant":
        return this.#assistant(frame);
      case "stream_event":
        return this.#stream(frame.event);
      case "result":
        return this.#result(frame);
      case "system":
        return this.#system(frame);
      case "control_request":
        this.questions.set(frame.request_id, frame);
        return undefined;
      case "control_cancel_request":
        if (this.questions.delete(frame.request_id) && frame.decided) this.decided.push(frame);
        return undefined;
      default:
        return undefined;
    }
  }

  #user(frame) {
    const content = frame.message?.content;
    const agent = Boolean(frame.parent_tool_use_id);
    const parent = frame.parent_tool_use_id ?? "";
    if (typeof content === "string") {
      const said = /^<local-command-stdout>([\s\S]*)<\/local-command-stdout>$/.exec(content);
      const kind = said || frame.isSynthetic ? "note" : "prompt";
      this.items.set(frame.uuid, { kind, agent, parent, text: said ? said[1] : content });
      return;
    }
    const texts = [];
    const images = imagesOf(content);
    for (const block of Array.isArray(content) ? content : []) {
      if (block?.type === "tool_result") this.#settle(block);
      else if (block?.type === "text") texts.push(block.text);
      else if (block?.type === "image" && !imagesOf([block]).length) texts.push("(a picture)");
      else if (block?.type === "document") texts.push("(a document)");
    }
    const kind = frame.isSynthetic ? "note" : "prompt";
    if (texts.length || images.length) this.items.set(frame.uuid, { kind, agent, parent, text: texts.join("\n"), ...(images.length && { images }) });
  }

  #assistant(frame) {
    const agent = Boolean(frame.parent_tool_use_id);
    const parent = frame.parent_tool_use_id ?? "";
    if (!agent) this.partial = "";
    const blocks = Array.isArray(frame.message?.content) ? frame.message.content : [];
    blocks.forEach((block, index) => {
      const key = `${frame.uuid}:${index}`;
      if (block?.type === "text" && block.text) {
        const kind = frame.is_api_error_message ? "note" : "text";
        this.items.set(key, { kind, agent, parent, bad: kind === "note", text: block.text, of: frame.uuid });
      } else if (block?.type === "thinking" && block.thinking) {
        this.items.set(key, { kind: "thinking", agent, parent, text: block.thinking, of: frame.uuid });
      } else if (block?.type === "tool_use") {
        this.items.set(`call:${block.id}`, { kind: "call", agent, parent, name: block.name, input: block.input, result: null, failed: false, of: frame.uuid });
      }
    });
  }

  #settle(block) {
    const call = this.items.get(`call:${block.tool_use_id}`);
    if (!call) return;
    this.items.set(`call:${block.tool_use_id}`, { ...call, result: plain(block.content), failed: block.is_error === true, images: imagesOf(block.content) });
  }

  #stream(event) {
    if (event?.type === "content_block_delta" && event.delta?.type === "text_delta") this.partial += event.delta.text;
    else if (event?.type === "message_start" || event?.type === "content_block_start") this.partial = "";
  }

  #result(frame) {
    this.partial = "";
    const seconds = Math.round((frame.duration_ms ?? 0) / 1000);
    const errors = Array.isArray(frame.errors) ? frame.errors.join("\n") : "";
    if (frame.is_error) this.items.set(frame.uuid, { kind: "note", bad: true, text: errors || "The turn ended with an error." });
    else this.items.set(frame.uuid, { kind: "end", text: `${seconds} s · $${Number(frame.total_cost_usd ?? 0).toFixed(4)} so far` });
  }

  #system(frame) {
    switch (frame.subtype) {
      case "remote_state": {
        const { type, subtype, ...state } = frame;
        this.state = state;
        return;
      }
      case "session_title_changed":
        this.name = clean(frame.title ?? this.name);
        return;
      case "withdrawn":
        for (const [key, item] of this.items) if ((frame.uuids ?? []).includes(item.of ?? key)) this.items.delete(key);
        this.partial = "";
        return;
      case "informational":
      case "model_fallback":
        this.items.set(frame.uuid, { kind: "note", bad: frame.level === "warning", text: frame.content });
        return;
      case "permission_denied":
        this.items.set(frame.uuid, { kind: "note", bad: true, text: frame.message });
        return;
      case "api_retry":
        this.items.set("retry", { kind: "note", text: `The model does not answer (${frame.error}); attempt ${frame.attempt} of ${frame.max_retries}.` });
        return;
      case "compact_boundary":
        this.items.set(frame.uuid, { kind: "note", text: "The conversation was summarized." });
        return;
      case "task_notification":
        this.items.set(frame.uuid, { kind: "note", text: `${frame.summary}: ${frame.status}` });
        return;
      default:
        return;
    }
  }
}

/** The pictures of a message that a page can show: their type and their data in base64. */
export function imagesOf(content) {
  const blocks = Array.isArray(content) ? content : [];
  return blocks
    .filter((each) => each?.type === "image" && each.source?.type === "base64" && /^image\/(png|jpeg|gif|webp)$/.test(each.source.media_type) && /^[A-Za-z0-9+/=\s]+$/.test(each.source.data))
    .map((each) => ({ type: each.source.media_type, data: each.source.data }));
}

/** What a result says, without pictures. */
export function plain(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block) => (block?.type === "text" ? block.text : `(${block?.type ?? "something"})`)).join("\n");
}

/** The input of a call on one line, for its folded form. */
export function briefly(name, input) {
  const first = input?.command ?? input?.file_path ?? input?.path ?? input?.pattern ?? input?.url ?? input?.query ?? input?.subject ?? input?.description ?? input?.taskId ?? "";
  const text = clean(typeof first === "string" ? first : JSON.stringify(first)).split("\n", 1)[0];
  return `${clean(name)} ${text.length > 100 ? `${text.slice(0, 100)}…` : text}`.trim();
}
