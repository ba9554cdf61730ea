// Keeps the page itself, so that it opens without a network, and shows notifications.

const KEPT = "bridle-hub-2";
const FILES = ["./", "hub.css", "hub.js", "asking.js", "dialogs.js", "home.js", "seal.js", "session.js", "stream.js", "tasks.js", "view.js", "link.js", "markdown.js", "diff.js", "conversation.js", "questions.js", "icon.svg", "manifest.webmanifest"];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  if (event.request.method !== "GET" || pathname.includes("/api/") || pathname.includes("/v1/")) return;
  // The newest page counts; the kept one is for when the hub cannot be reached.
  event.respondWith(
    fetch(event.request)
      .then((answer) => {
        const copy = answer.clone();
        if (answer.ok) caches.open(KEPT).then((cache) => cache.put(event.request, copy));
        return answer;
      })
      .catch(() => caches.match(event.request, { ignoreSearch: true })),
  );
});

self.addEventListener("push", (event) => {
  const said = event.data ? event.data.json() : {};
  const text = said.text ?? "A session is waiting for your answer.";
  const shown = self.registration.showNotification(said.title ?? "bridle hub", { body: text, icon: "icon.svg", badge: "icon.svg", tag: said.tag ?? "question", data: { session: said.session ?? "" } });
  event.waitUntil(shown);
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const place = `./#${event.notification.data?.session ? `s/${event.notification.data.session}` : ""}`;
  const open = self.clients.matchAll({ type: "window", includeUncontrolled: true }).then(async (pages) => {
    const page = pages[0];
    if (!page) return self.clients.openWindow(place);
    await page.navigate(new URL(place, self.registration.scope)).catch(() => null);
    return page.focus();
  });
  event.waitUntil(open);
});
