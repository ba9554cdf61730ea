// Keeps the page itself, so that it opens without a network. Nothing of a conversation is kept.

const KEPT = "bridle-hub-1";
const FILES = ["./", "hub.css", "hub.js", "link.js", "markdown.js", "diff.js", "conversation.js", "questions.js", "icon.svg", "manifest.webmanifest"];

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
