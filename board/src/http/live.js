// One live view for all tabs of a browser, because a browser opens at most six connections to a node. The live view
// runs in a shared worker. If the browser has no shared workers, each tab has a live view.
"use strict";

const SHOWN_MAX = 500;
const RECONNECT_MS = 1000;

// Calls `handle` for each event, with its kind and its value.
function listen(handle) {
  let last = 0;
  const open = () => {
    const events = new EventSource(`events?after=${last}`);
    events.addEventListener("ring", (event) => handle("ring", JSON.parse(event.data)));
    events.addEventListener("post", (event) => {
      last = Number(event.lastEventId);
      handle("post", JSON.parse(event.data));
    });
    events.addEventListener("error", () => {
      handle("error", null);
      // After an error a browser connects again by itself. After a refusal it does not, so the page connects again.
      if (events.readyState === EventSource.CLOSED) setTimeout(open, RECONNECT_MS);
    });
  };
  open();
}

// Runs in a tab: calls the function of each kind of event.
function subscribe(handlers) {
  const handle = (kind, value) => handlers[kind](value);
  if (window.SharedWorker === undefined) {
    listen(handle);
    return;
  }
  const { port } = new SharedWorker("live.js");
  port.onmessage = ({ data: [kind, value] }) => handle(kind, value);
  addEventListener("pagehide", () => port.postMessage("gone"));
  // The page comes from the browser's cache of pages. Its worker may have forgotten the page.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

// Runs in the worker: a tab that connects later gets all earlier events.
function serveTabs() {
  const tabs = new Set();
  const posts = [];
  let state = null;
  self.onconnect = ({ ports: [port] }) => {
    for (const post of posts) port.postMessage(["post", post]);
    if (state !== null) port.postMessage(state);
    port.onmessage = () => tabs.delete(port);
    tabs.add(port);
  };
  listen((kind, value) => {
    if (kind === "post") {
      posts.push(value);
      if (posts.length > SHOWN_MAX) posts.shift();
    } else {
      state = [kind, value];
    }
    for (const tab of tabs) tab.postMessage([kind, value]);
  });
}

if (self.SharedWorkerGlobalScope !== undefined) serveTabs();
