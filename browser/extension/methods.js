// What a session can ask for. Every method about a page is held to the site that was approved for the call.

import * as debug from "./debug.js";
import * as tabs from "./tabs.js";

const LOADING = 20000;
const AFTER_ACTION = 150;
const MOST_UPLOAD = 8 * 1024 * 1024;
const WIDEST = 1400;
const KEYS = {
  Enter: ["Enter", 13, "\r"], Tab: ["Tab", 9], Escape: ["Escape", 27], Backspace: ["Backspace", 8],
  Delete: ["Delete", 46], ArrowUp: ["ArrowUp", 38], ArrowDown: ["ArrowDown", 40], ArrowLeft: ["ArrowLeft", 37],
  ArrowRight: ["ArrowRight", 39], PageUp: ["PageUp", 33], PageDown: ["PageDown", 34], Home: ["Home", 36],
  End: ["End", 35], Space: ["Space", 32, " "],
};

export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export async function forget(session) {
  for (const tabId of await tabs.ownedBy(session)) debug.detach(tabId);
}

export const METHODS = {
  async list() {
    return { tabs: await tabs.usable() };
  },

  async close({ tab }, session) {
    await requireTab(tab, session);
    if (await tabs.isShared(tab)) throw new Refused("shared", "The tab belongs to the user, who only shares it.");
    await chrome.tabs.remove(tab);
  },

  async select({ tab }, session) {
    await requireTab(tab, session);
    await chrome.tabs.update(tab, { active: true });
  },

  async navigate({ tab, url, site }, session) {
    const wanted = new URL(url);
    if (!["http:", "https:"].includes(wanted.protocol)) throw new Refused("scheme", "Only http and https pages.");
    // What was approved is what this browser reads in the address.
    if (plain(wanted.hostname) !== plain(site)) throw new Refused("site", `The address leads to ${wanted.hostname}.`);
    const id = tab ?? (await chrome.tabs.create({ url: "about:blank", active: true })).id;
    if (tab === undefined || tab === null) await tabs.claim(id, session);
    else await requireTab(id, session);
    await debug.attach(id);
    return { tab: id, ...(await go(id, wanted)), ...(await look(id)) };
  },

  text: page(async (id, { offset, limit }) => {
    return inPage(id, "text", { offset, limit });
  }),

  elements: page(async (id, { filter, offset, limit }) => {
    return inPage(id, "elements", { filter, offset, limit });
  }),

  screenshot: page(async (id) => {
    const { cssVisualViewport: view } = await debug.send(id, "Page.getLayoutMetrics");
    const scale = Math.min(1, WIDEST / Math.max(view.clientWidth, view.clientHeight, 1));
    const clip = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight, scale };
    const { data } = await debug.send(id, "Page.captureScreenshot", { format: "jpeg", quality: 80, clip });
    return { data, width: Math.round(clip.width * scale), height: Math.round(clip.height * scale), scale };
  }),

  console: page(async (id) => ({ lines: (await debug.attach(id)).console })),

  network: page(async (id) => ({ requests: [...(await debug.attach(id)).network.values()] })),

  click: page(async (id, { ref, x, y }) => {
    const at = ref === undefined || ref === null ? { x, y } : await inPage(id, "locate", { ref });
    const press = { ...at, button: "left", clickCount: 1 };
    await debug.send(id, "Input.dispatchMouseEvent", { ...press, type: "mouseMoved", button: "none" });
    await debug.send(id, "Input.dispatchMouseEvent", { ...press, type: "mousePressed" });
    await debug.send(id, "Input.dispatchMouseEvent", { ...press, type: "mouseReleased" });
    return { name: at.name };
  }),

  fill: page(async (id, { ref, text }) => {
    const found = await inPage(id, "fill", { ref, text });
    if (found.type) {
      if (text !== "") await debug.send(id, "Input.insertText", { text });
      else await press(id, "Delete");
      await inPage(id, "changed", { ref });
    }
    return { name: found.name };
  }),

  press: page(async (id, { key }) => press(id, key)),

  scroll: page(async (id, { ref, text }) => inPage(id, "scroll", { ref, where: text })),

  upload: page(async (id, { ref, name, type, data }) => {
    if (data.length > (MOST_UPLOAD * 4) / 3 + 4) throw new Refused("large", "The file is too large.");
    return inPage(id, "upload", { ref, name, type, data });
  }),

  script: page(async (id, { script }) => {
    const body = `(async () => { ${script}\n})()`;
    const options = { awaitPromise: true, returnByValue: true, userGesture: true, timeout: LOADING };
    const given = debug.send(id, "Runtime.evaluate", { expression: body, ...options });
    const { result, exceptionDetails } = await within(given, LOADING + 1000);
    if (exceptionDetails !== undefined) {
      throw new Refused("script", exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return { value: result.value ?? result.unserializableValue ?? null, type: result.type };
  }),
};

// A method about one page: only in tabs of the session, only where the approved site is shown.
function page(method) {
  return async (params, session) => {
    const id = params.tab;
    await requireTab(id, session);
    await requireSite(id, params.site);
    const record = await debug.attach(id);
    // It may have moved while the debugger was attached.
    await requireSite(id, params.site);
    const before = record.dialogs.length;
    const result = await within(method(id, params), LOADING + 5000);
    if (params.settle) await settle(id);
    const dialogs = record.dialogs.slice(before);
    return { ...result, dialogs, ...(params.settle ? await look(id) : {}) };
  };
}

async function requireTab(id, session) {
  if (!Number.isInteger(id) || !(await tabs.mayUse(id, session))) {
    throw new Refused("tab", "There is no such tab, or it is not shared with bridle.");
  }
}

async function requireSite(id, site) {
  const { url } = await chrome.tabs.get(id);
  let at = null;
  try {
    at = new URL(url);
  } catch {
    // Some tabs have no address yet.
  }
  if (at === null || !["http:", "https:"].includes(at.protocol)) {
    throw new Refused("scheme", "The tab shows no web page.");
  }
  if (plain(at.hostname) !== plain(site)) throw new Refused("site", `The tab is at ${at.hostname} by now.`);
}

const plain = (host) => String(host).toLowerCase().replace(/^\[|\]$/g, "").replace(/\.$/, "");
const family = (host) => plain(host).replace(/^www\./, "");

// Load an address. A redirect to another host is stopped before it is asked for.
async function go(id, wanted) {
  let moved = null;
  const guard = debug.waitFor(id, LOADING, (method, params) => {
    if (method === "detached") return null;
    if (method === "Page.loadEventFired") return "loaded";
    if (method !== "Fetch.requestPaused") return undefined;
    const at = new URL(params.request.url);
    if (params.resourceType !== "Document" || params.frameId !== main || family(at.hostname) === family(wanted.hostname)) {
      void debug.send(id, "Fetch.continueRequest", { requestId: params.requestId }).catch(() => {});
      return undefined;
    }
    moved = at.href;
    void debug.send(id, "Fetch.failRequest", { requestId: params.requestId, errorReason: "Aborted" }).catch(() => {});
    return "moved";
  });
  const main = (await debug.send(id, "Page.getFrameTree")).frameTree.frame.id;
  await debug.send(id, "Fetch.enable", { patterns: [{ urlPattern: "*", resourceType: "Document" }] });
  try {
    const { errorText } = await debug.send(id, "Page.navigate", { url: wanted.href });
    if (moved !== null) return { moved };
    if (errorText) throw new Refused("load", `The page could not be loaded: ${errorText}`);
    return { loaded: (await guard) === "loaded", ...(moved === null ? {} : { moved }) };
  } finally {
    await debug.send(id, "Fetch.disable").catch(() => {});
  }
}

// A moment for what an action sets off, and for the page that it may lead to.
async function settle(id) {
  await new Promise((resolve) => setTimeout(resolve, AFTER_ACTION));
  const tab = await chrome.tabs.get(id).catch(() => null);
  if (tab?.status !== "loading") return;
  await debug.waitFor(id, LOADING, (method) => (method === "Page.loadEventFired" || method === "detached" ? true : undefined));
}

async function look(id) {
  const tab = await chrome.tabs.get(id).catch(() => null);
  return tab === null ? { closed: true } : { url: tab.url, title: tab.title };
}

async function press(id, key) {
  const [code, number, text] = KEYS[key] ?? [];
  if (code === undefined) throw new Refused("key", `Unknown key ${key}. Known: ${Object.keys(KEYS).join(", ")}.`);
  const event = { key: key === "Space" ? " " : key, code, windowsVirtualKeyCode: number };
  await debug.send(id, "Input.dispatchKeyEvent", { ...event, type: text ? "keyDown" : "rawKeyDown", text });
  await debug.send(id, "Input.dispatchKeyEvent", { ...event, type: "keyUp" });
  return {};
}

let source = null;

// Call a function of page.js in a world of its own, where scripts of the page change nothing.
async function inPage(id, name, params) {
  const record = await debug.attach(id);
  source ??= await (await fetch(chrome.runtime.getURL("page.js"))).text();
  const expression = `${source}\nbridle.${name}(${JSON.stringify(params)})`;
  const asked = { expression, returnByValue: true, awaitPromise: true };
  const known = record.world !== null;
  const answered = await evaluate(id, record, asked).catch((error) => {
    // The page may have been replaced together with its worlds.
    if (!known) throw error;
    return evaluate(id, record, asked);
  });
  if (answered.exceptionDetails !== undefined) {
    const text = answered.exceptionDetails.exception?.description ?? answered.exceptionDetails.text;
    throw new Refused("page", text.split("\n")[0].replace(/^Error: /, ""));
  }
  return answered.result.value;
}

async function evaluate(id, record, asked) {
  if (record.world === null) {
    const { frameTree } = await debug.send(id, "Page.getFrameTree");
    const made = await debug.send(id, "Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "bridle" });
    record.world = made.executionContextId;
  }
  try {
    return await debug.send(id, "Runtime.evaluate", { ...asked, contextId: record.world });
  } catch (error) {
    record.world = null;
    throw error;
  }
}

function within(work, milliseconds) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Refused("slow", "The page does not answer.")), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
