// The debugger of a tab: commands, and what pages wrote to the console and asked of the network.

const MOST_CONSOLE = 200;
const MOST_NETWORK = 300;
const LONGEST_LINE = 2000;
const DOMAINS = ["Page", "Runtime", "Network", "Log"];

const attached = new Map();

export async function attach(tabId) {
  const known = attached.get(tabId);
  if (known !== undefined) {
    await known.ready;
    return known;
  }
  const record = { console: [], network: new Map(), waiting: new Set(), world: null, dialogs: [] };
  attached.set(tabId, record);
  record.ready = begin(tabId);
  try {
    await record.ready;
  } catch (error) {
    attached.delete(tabId);
    throw error;
  }
  return record;
}

async function begin(tabId) {
  await chrome.debugger.attach({ tabId }, "1.3");
  for (const domain of DOMAINS) await send(tabId, `${domain}.enable`);
}

export function send(tabId, method, params = {}) {
  return chrome.debugger.sendCommand({ tabId }, method, params);
}

export function detach(tabId) {
  if (attached.delete(tabId)) chrome.debugger.detach({ tabId }).catch(() => {});
}

// The first event of a tab for which `found` gives something other than undefined.
export function waitFor(tabId, milliseconds, found) {
  const record = attached.get(tabId);
  return new Promise((resolve) => {
    const done = (value) => {
      clearTimeout(timer);
      record.waiting.delete(look);
      resolve(value);
    };
    const look = (method, params) => {
      const value = found(method, params);
      if (value !== undefined) done(value);
    };
    const timer = setTimeout(() => done(null), milliseconds);
    record.waiting.add(look);
  });
}

chrome.debugger.onDetach.addListener(({ tabId }) => {
  const record = attached.get(tabId);
  attached.delete(tabId);
  for (const look of [...(record?.waiting ?? [])]) look("detached", {});
});

chrome.debugger.onEvent.addListener(({ tabId }, method, params) => {
  const record = attached.get(tabId);
  if (record === undefined) return;
  note(record, tabId, method, params);
  for (const look of [...record.waiting]) look(method, params);
});

function note(record, tabId, method, params) {
  switch (method) {
    case "Runtime.consoleAPICalled":
      return say(record, params.type, (params.args ?? []).map(shown).join(" "));
    case "Runtime.exceptionThrown": {
      const details = params.exceptionDetails ?? {};
      return say(record, "exception", details.exception?.description ?? details.text ?? "");
    }
    case "Log.entryAdded":
      return say(record, params.entry.level, `${params.entry.text} ${params.entry.url ?? ""}`);
    case "Page.javascriptDialogOpening": {
      // A dialog holds up the page and every command to it.
      const accept = params.type === "beforeunload";
      record.dialogs.push({ type: params.type, message: String(params.message).slice(0, 500) });
      if (record.dialogs.length > 20) record.dialogs.shift();
      return void send(tabId, "Page.handleJavaScriptDialog", { accept }).catch(() => {});
    }
    case "Page.frameNavigated":
      if (params.frame.parentId === undefined) record.world = null;
      return undefined;
    case "Network.requestWillBeSent":
      return ask(record, params);
    case "Network.responseReceived":
      return fill(record, params.requestId, {
        status: params.response.status,
        type: params.response.mimeType,
        address: params.response.remoteIPAddress,
      });
    case "Network.loadingFinished":
      return fill(record, params.requestId, { size: params.encodedDataLength });
    case "Network.loadingFailed":
      return fill(record, params.requestId, { failed: params.errorText });
    default:
      return undefined;
  }
}

function say(record, level, text) {
  record.console.push({ level, text: String(text).slice(0, LONGEST_LINE) });
  if (record.console.length > MOST_CONSOLE) record.console.shift();
}

function shown(value) {
  if ("value" in value) return typeof value.value === "string" ? value.value : JSON.stringify(value.value);
  return value.description ?? value.unserializableValue ?? value.type;
}

function ask(record, { requestId, request, type }) {
  record.network.set(requestId, { method: request.method, url: request.url.slice(0, LONGEST_LINE), kind: type });
  if (record.network.size > MOST_NETWORK) record.network.delete(record.network.keys().next().value);
}

function fill(record, requestId, more) {
  const known = record.network.get(requestId);
  if (known !== undefined) Object.assign(known, more);
}
