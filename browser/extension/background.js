// Connects to bridle's native host and hands each request to the function of its name.

import { METHODS, Refused, forget } from "./methods.js";
import { openLink } from "./link.js";
import * as tabs from "./tabs.js";

const link = openLink({ answer, ended: forget });

async function answer(request) {
  try {
    const method = Object.hasOwn(METHODS, request.method) ? METHODS[request.method] : null;
    if (method === null) throw new Refused("method", `This extension does not know ${request.method}.`);
    return { result: (await method(request.params ?? {}, String(request.session))) ?? null };
  } catch (error) {
    const code = error instanceof Refused ? error.code : "failed";
    return { error: { code, message: String(error?.message ?? error).slice(0, 500) } };
  }
}

tabs.watch((all) => link.tell({ event: "tabs", tabs: all }));
chrome.action.onClicked.addListener((tab) => tabs.toggleShared(tab));
chrome.alarms.onAlarm.addListener(() => link.connect());
chrome.runtime.onStartup.addListener(() => link.connect());
chrome.runtime.onInstalled.addListener(() => link.connect());
chrome.alarms.create("connect", { periodInMinutes: 0.5 });
link.connect();
