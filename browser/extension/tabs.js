// Which tabs sessions may use: those that they opened, and those that the user shares with the button.

const SHARED = "*";
let owners = null;
let listener = () => {};

// A map from the id of a tab to the session that opened it, or to `*` for every session.
async function load() {
  if (owners === null) {
    const kept = (await chrome.storage.session.get("owners")).owners ?? {};
    owners ??= new Map(Object.entries(kept).map(([id, owner]) => [Number(id), owner]));
  }
  return owners;
}

async function keep() {
  await chrome.storage.session.set({ owners: Object.fromEntries(owners) });
  listener(await usable());
}

export async function claim(tabId, session) {
  (await load()).set(tabId, session);
  await mark(tabId, "on");
  await keep();
}

export async function mayUse(tabId, session) {
  const owner = (await load()).get(tabId);
  return owner === session || owner === SHARED;
}

export async function isShared(tabId) {
  return (await load()).get(tabId) === SHARED;
}

export async function ownedBy(session) {
  return [...(await load())].filter(([, owner]) => owner === session).map(([id]) => id);
}

export async function toggleShared(tab) {
  if ((await load()).has(tab.id)) {
    owners.delete(tab.id);
    await mark(tab.id, "");
    chrome.debugger.detach({ tabId: tab.id }).catch(() => {});
  } else {
    owners.set(tab.id, SHARED);
    await mark(tab.id, "on");
  }
  await keep();
}

// Every tab that any session may use, with its owner.
export async function usable() {
  const found = [];
  for (const [id, owner] of await load()) {
    const tab = await chrome.tabs.get(id).catch(() => null);
    if (tab === null) continue;
    found.push({
      id,
      url: (tab.url || tab.pendingUrl || "").slice(0, 4000),
      title: (tab.title ?? "").slice(0, 300),
      session: owner === SHARED ? null : owner,
    });
  }
  return found;
}

export function watch(changed) {
  listener = changed;
  chrome.tabs.onUpdated.addListener(async (id, change) => {
    if (!(await load()).has(id)) return;
    if (change.status === "loading") await mark(id, "on");
    if (change.url !== undefined || change.status === "complete") listener(await usable());
  });
  chrome.tabs.onRemoved.addListener(async (id) => {
    if ((await load()).delete(id)) await keep();
  });
  // A page that opens another one gives it to the same session.
  chrome.tabs.onCreated.addListener(async (tab) => {
    const owner = (await load()).get(tab.openerTabId);
    if (owner !== undefined && owner !== SHARED && !owners.has(tab.id)) await claim(tab.id, owner);
  });
}

async function mark(tabId, text) {
  await chrome.action.setBadgeText({ tabId, text }).catch(() => {});
  const title = text ? "bridle may use this tab: click to stop" : "Share this tab with bridle";
  await chrome.action.setTitle({ tabId, title }).catch(() => {});
}
