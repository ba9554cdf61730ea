// Run by test_page.py: the parts of the page that need no browser, and the connection against a real server.

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [folder, base, token, room, direct] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const { Conversation, briefly, clean, reveal, segments } = await load("conversation.js");
const { Connection, Lines, newId, sightOf, weigh } = await load("connection.js");
const { fields, suggested, value } = await load("questions.js");

const ATTACKS = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "javascript:alert(1)",
  "](javascript:alert(1))",
  "data:text/html,<script>alert(1)</script>",
  "\u0000<svg/onload=alert(1)>",
];

const checks = {
  "sequences for terminals are taken out"() {
    const corpus = [
      "\u001b[31mred\u001b[0m", "\u001b[2J\u001b[H", "\u001b]0;title\u0007", "\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\",
      "\u001bP+q544e\u001b\\", "\u001b_hidden\u001b\\", "\u009b31mred", "\u001b(0", "\u001bc", "\u001b]52;c;aGk=\u0007",
      "\b\b\bover", "\rover", "\u0007", "\u001b", "\u001b]0;never ended", "\u009d0;x\u009c",
    ];
    for (const text of corpus) assert.doesNotMatch(clean(text), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/, JSON.stringify(text));
    assert.equal(clean("\u001b[31mred\u001b[0m\n\tkept"), "red\n\tkept");
    assert.equal(clean("\u001b]0;title\u0007rest"), "rest");
  },
  "what turns or hides letters is made visible"() {
    assert.equal(clean("a\u202eb"), "a⟨U+202E⟩b");
    assert.equal(reveal("a\u200b\u202e\u00ad\ufeff\u{e0041}b\u0000"), "a⟨U+200B⟩⟨U+202E⟩⟨U+00AD⟩⟨U+FEFF⟩⟨U+E0041⟩b⟨U+0000⟩");
    assert.equal(reveal("plain\n\ttext ü 漢"), "plain\n\ttext ü 漢");
  },
  "only addresses of the web become links"() {
    for (const attack of ATTACKS) assert.deepEqual(segments(attack).filter((part) => part.kind === "link"), [], attack);
    assert.deepEqual(segments("see https://a.example/x?y=1. And **b** `c`"), [
      { kind: "text", text: "see " },
      { kind: "link", text: "https://a.example/x?y=1" },
      { kind: "text", text: ". And " },
      { kind: "strong", text: "b" },
      { kind: "text", text: " " },
      { kind: "mono", text: "c" },
    ]);
    assert.deepEqual(segments("a\n```js\nlet x = 'https://no.link'\n```\nb"), [
      { kind: "text", text: "a\n" },
      { kind: "code", text: "let x = 'https://no.link'" },
      { kind: "text", text: "b" },
    ]);
  },
  "the input of a question is whole, the command first"() {
    assert.deepEqual(fields({ description: "d", command: "ls\u202e", more: { a: 1 } }), [
      ["command", "ls⟨U+202E⟩"],
      ["description", "d"],
      ["more", '{\n  "a": 1\n}'],
    ]);
    const long = "x".repeat(500_000);
    assert.equal(fields({ command: long })[0][1], long);
  },
  "suggestions say what they would allow"() {
    const rules = [{ toolName: "Bash", ruleContent: "npm test:*" }];
    assert.equal(suggested({ type: "addRules", rules, destination: "localSettings" }), "Allow, and Bash(npm test:*) for good");
    assert.equal(suggested({ type: "setMode", mode: "acceptEdits" }), "Allow, and continue in mode acceptEdits");
    assert.equal(suggested({ type: "unknown" }), null);
  },
  "fields of forms have the type that is asked for"() {
    assert.equal(value({ type: "integer" }, { value: "7" }), 7);
    assert.equal(value({ type: "boolean" }, { checked: true, value: "on" }), true);
    assert.equal(value({ type: "string" }, { value: "" }), undefined);
  },
  "frames fold into a conversation"() {
    const seen = new Conversation();
    seen.take({ type: "user", uuid: "u1", message: { content: "hi" } });
    seen.take({ type: "stream_event", event: { type: "content_block_delta", delta: { type: "text_delta", text: "Hel" } } });
    assert.equal(seen.partial, "Hel");
    seen.take({ type: "assistant", uuid: "a1", message: { content: [{ type: "text", text: "Hello" }] } });
    assert.equal(seen.partial, "");
    seen.take({ type: "assistant", uuid: "a2", message: { content: [{ type: "tool_use", id: "c1", name: "Bash", input: { command: "ls" } }] } });
    seen.take({ type: "user", uuid: "r1", message: { content: [{ type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "a.txt" }], is_error: true }] } });
    assert.deepEqual([...seen.items.values()].map((item) => [item.kind, item.text ?? item.result]), [["prompt", "hi"], ["text", "Hello"], ["call", "a.txt"]]);
    assert.equal(seen.items.get("call:c1").failed, true);
    seen.take({ type: "system", subtype: "withdrawn", uuids: ["a1"] });
    assert.equal([...seen.items.values()].length, 2);
  },
  "questions open and close, and a snapshot is the truth"() {
    const seen = new Conversation();
    seen.take({ type: "control_request", request_id: "q1", request: {} });
    seen.take({ type: "control_request", request_id: "q2", request: {} });
    seen.take({ type: "control_cancel_request", request_id: "q1", decided: { by: "the terminal", how: "allowed" } });
    assert.deepEqual([...seen.questions.keys()], ["q2"]);
    assert.equal(seen.decided[0].decided.by, "the terminal");
    seen.begin({ session: { name: "x" }, frames: [], questions: [], partial: "", state: {} });
    assert.equal(seen.questions.size, 0);
  },
  "frames of any shape do no harm"() {
    const seen = new Conversation();
    for (const odd of [null, 1, "x", [], {}, { type: "user" }, { type: "assistant", message: {} }, { type: "system" }, { type: "stream_event" },
      { type: "user", message: { content: [null, { type: "tool_result" }] } }, { type: "result", uuid: "r", errors: 5 }]) seen.take(odd);
    assert.equal(briefly("Bash", null), "Bash");
  },
  "lines are cut where they end, wherever the network cuts them"() {
    const lines = new Lines();
    assert.deepEqual([...lines.feed('{"n":1}\n{"n'), ...lines.feed('":2}'), ...lines.feed("\n")], [{ n: 1 }, { n: 2 }]);
  },
  "a line counts once and in its place"() {
    assert.equal(weigh({ n: 4 }, { n: 5 }), "take");
    assert.equal(weigh({ n: 4 }, { n: 4 }), "skip");
    assert.equal(weigh({ n: 4 }, { n: 6 }), "broken");
    assert.equal(weigh({ n: 4 }, { beat: true }), "skip");
    assert.equal(weigh({ n: 4 }, { n: 9, snapshot: {} }), "begin");
  },
  "ids are random and well formed"() {
    assert.match(newId(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.notEqual(newId(), newId());
  },
  async "everything arrives once and in order over a line that breaks"() {
    const connection = new Connection(token, "Page", { pause: 1, send: (where, options) => fetch(`${base}/${where}`, options) });
    const numbers = [];
    const stop = new AbortController();
    await connection.follow(room, {
      signal: stop.signal,
      onState() {},
      onLine(kind, line) {
        if (kind === "begin") numbers.push(...line.snapshot.frames.map((frame) => frame.number));
        if (kind === "take") numbers.push(line.frame.number);
        if (numbers.length >= 300) stop.abort();
      },
    });
    assert.deepEqual(numbers, Array.from({ length: numbers.length }, (_, index) => index + 1));
    assert.deepEqual(await connection.act(room, { do: "prompt", text: "once" }), { taken: true });
  },
  async "a page that no one looks at keeps no connection and misses nothing"() {
    const page = Object.assign(new EventTarget(), { hidden: true });
    const asked = [];
    const send = (where, options) => {
      asked.push(where);
      return fetch(`${direct}/${where}`, options);
    };
    const connection = new Connection(token, "Page", { pause: 1, poll: 1, send });
    const numbers = [];
    const stop = new AbortController();
    await connection.follow(room, {
      signal: stop.signal,
      sight: sightOf(page),
      onState() {},
      onLine(kind, line) {
        if (kind === "begin") numbers.push(...line.snapshot.frames.map((frame) => frame.number));
        if (kind === "take") numbers.push(line.frame.number);
        if (asked.length === 3 && page.hidden) {
          assert.ok(asked.every((where) => where.endsWith("&once=1")));
          page.hidden = false;
          page.dispatchEvent(new Event("visibilitychange"));
        }
        if (!page.hidden && kind === "take") stop.abort();
      },
    });
    assert.ok(!asked.at(-1).includes("once"));
    assert.deepEqual(numbers, Array.from({ length: numbers.length }, (_, index) => numbers[0] + index));
  },
  async "a session that is over is not asked for again, and says why"() {
    const lines = ['{"n":1,"epoch":"e","snapshot":{}}', '{"over":"Stopped sharing this session."}', ""];
    let asked = 0;
    const send = async () => {
      asked += 1;
      return new Response(lines.join("\n"));
    };
    const states = [];
    const connection = new Connection(token, "Page", { pause: 1, send });
    await connection.follow(room, { signal: new AbortController().signal, onLine() {}, onState: (...state) => states.push(state) });
    assert.equal(asked, 1);
    assert.deepEqual(states.at(-1), ["ended", "Stopped sharing this session.", true]);
  },
  async "a session is started with one id however often the request is repeated"() {
    const bodies = [];
    const send = async (_, options) => {
      bodies.push(options.body);
      if (bodies.length < 3) throw new TypeError("lost");
      return new Response('{"id":"made"}');
    };
    const connection = new Connection(token, "Page", { pause: 1, send });
    assert.deepEqual(await connection.open("old"), { id: "made" });
    assert.equal(new Set(bodies).size, 1);
    assert.equal(JSON.parse(bodies[0]).resume, "old");
    assert.match(JSON.parse(bodies[0]).id, /^[0-9a-f-]{36}$/);
  },
};

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
  } catch (fault) {
    console.error(`${name}: ${fault.stack}`);
    process.exitCode = 1;
  }
}
process.exit();
