// The connection to the native host. Messages are JSON; long ones are cut into parts.

import * as tabs from "./tabs.js";

const HOST = "dev.bridle.browser";
const LONGEST_PART = 128 * 1024;
const MOST_PARTS = 256;

export function openLink({ answer, ended }) {
  let port = null;
  const parts = new Map();

  async function connect() {
    if (port !== null) return;
    port = chrome.runtime.connectNative(HOST);
    const mine = port;
    port.onMessage.addListener((message) => take(mine, message));
    port.onDisconnect.addListener(() => {
      // Reading the error says that it is known: bridle is not installed, or the host has ended.
      void chrome.runtime.lastError;
      if (port === mine) port = null;
      parts.clear();
    });
    send(mine, { hello: await introduction() });
    send(mine, { event: "tabs", tabs: await tabs.usable() });
  }

  async function take(mine, message) {
    if (message === null || typeof message !== "object") return;
    if (message.event === "gone") return ended(String(message.session));
    if (message.id === undefined) return;
    const request = joined(parts, message);
    if (request === null) return;
    send(mine, { ...(await answer(request)), id: message.id });
  }

  function send(mine, message) {
    if (mine !== port) return;
    try {
      for (const part of cut(message)) mine.postMessage(part);
    } catch {
      // The port was closed in the meantime.
    }
  }

  return { connect, tell: (message) => port && send(port, message) };
}

function* cut(message) {
  const text = JSON.stringify(message);
  if (text.length <= LONGEST_PART || message.id === undefined) return yield message;
  const count = Math.ceil(text.length / LONGEST_PART);
  if (count > MOST_PARTS) {
    return yield { id: message.id, error: { code: "large", message: "The answer is too large." } };
  }
  for (let part = 0; part < count; part++) {
    yield { id: message.id, part, parts: count, text: text.slice(part * LONGEST_PART, (part + 1) * LONGEST_PART) };
  }
}

// The whole message; null while parts of it are missing.
function joined(parts, message) {
  if (message.parts === undefined) return message;
  const held = parts.get(message.id) ?? [];
  if (message.part !== held.length || message.parts > MOST_PARTS) {
    parts.delete(message.id);
    return null;
  }
  held.push(String(message.text));
  if (held.length < message.parts) {
    parts.set(message.id, held);
    return null;
  }
  parts.delete(message.id);
  return JSON.parse(held.join(""));
}

async function introduction() {
  const brands = (navigator.userAgentData?.brands ?? []).map((each) => each.brand);
  const known = ["Brave", "Microsoft Edge", "Google Chrome", "Chromium"];
  let { profile } = await chrome.storage.local.get("profile");
  if (profile === undefined) {
    profile = crypto.randomUUID();
    await chrome.storage.local.set({ profile });
  }
  return {
    browser: known.find((name) => brands.includes(name)) ?? "Chromium",
    version: /Chrome\/([\d.]+)/.exec(navigator.userAgent)?.[1] ?? "",
    extension: chrome.runtime.getManifest().version,
    profile,
  };
}
