// The page shows texts of other people only as text nodes, so that these texts cannot run scripts.
"use strict";

// The interval at which the page asks for the token. The token moves faster.
const RING_POLL_MS = 1000;
const RETRY_PAUSE_MS = 1000;
// The shortest time between two moves of the token's mark, because flashing content can cause seizures.
const MARK_MS = 400;
const ATTEMPTS = 10;
const DRAFT = "board-draft";
const element = (id) => document.getElementById(id);
// The last status of the ring. The last visit: the time when the token was here, its sequence, and the time of a hop.
let lastRing = null;
let lastVisit = null;
// The key of the text in the form. If the page sends a post again with the same key, the post is written only once.
let key = null;

function showRing(ring) {
  const acting = ring.acting ? " (acting)" : "";
  setText(element("ring"), `Node ${ring.id}: ${ring.state}. Coordinator ${ring.coordinator ?? "none"}${acting}, ${ring.members.length} in the ring, database ${ring.database}.`);
  const members = ring.members.map((id) => {
    const item = document.createElement("li");
    item.textContent = id;
    item.dataset.id = id;
    item.classList.toggle("own", id === ring.id);
    item.classList.toggle("coordinator", id === ring.coordinator);
    return item;
  });
  element("members").replaceChildren(...members);
  showToken(ring);
}

function showToken(ring) {
  lastRing = ring;
  recordVisit(ring.token);
  markToken();
  // The lower half of a sequence counts hops.
  const hops = BigInt(ring.token.sequence) & 0xffffffffn;
  const where = ring.token.held ? "is here" : ring.token.here_ms === null ? "has not been here" : `was here ${ring.token.here_ms} ms ago`;
  element("token").textContent = `The token ${where}: hop ${hops} of term ${BigInt(ring.token.sequence) >> 32n}.`;
}

function recordVisit(token) {
  if (token.here_ms === null) return;
  const [sequence, at] = [BigInt(token.sequence), performance.now() - token.here_ms];
  const hops = lastVisit === null ? 0n : sequence - lastVisit.sequence;
  // After a new term, or after a node took the token back, the difference is not a number of hops.
  const pace = hops > 0n && hops < 65536n ? (at - lastVisit.at) / Number(hops) : lastVisit?.pace ?? null;
  lastVisit = { sequence, at, pace };
}

// Returns the member that probably holds the token, computed from its last visit here and its pace. Returns null if it is unknown.
function probableHolder() {
  const { id, members, token } = lastRing;
  const own = members.indexOf(id);
  if (own < 0 || token.here_ms === null) return null;
  if (token.held || members.length === 1) return id;
  const hops = 1 + Math.floor((performance.now() - lastVisit.at) / lastVisit.pace);
  // The token should already have been here again, so its place is unknown.
  if (!(hops < 2 * members.length)) return null;
  return members[(own + hops) % members.length];
}

function markToken() {
  const id = lastRing === null ? null : probableHolder();
  for (const item of element("members").children) item.classList.toggle("token", item.dataset.id === String(id));
}

// Sets the text only if it differs, so that a screen reader does not read it again.
function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

function showPost(post) {
  const item = document.createElement("li");
  const head = document.createElement("p");
  head.className = "head";
  head.textContent = `${post.author}, ${new Date(post.time_ms).toLocaleString()}, node ${post.node}`;
  const text = document.createElement("p");
  text.className = "text";
  text.textContent = post.text;
  item.append(head, text);
  item.value = post.id;
  element("posts").prepend(item);
  while (element("posts").children.length > SHOWN_MAX) element("posts").lastChild.remove();
}

// Stores the draft for the next load of the page, if the browser allows storage.
function keepDraft() {
  try {
    localStorage.setItem(DRAFT, JSON.stringify({ author: element("author").value, text: element("text").value, key }));
  } catch { /* storage is not allowed: closing the page deletes the draft */ }
}

function readDraft() {
  try {
    const draft = JSON.parse(localStorage.getItem(DRAFT));
    element("author").value = draft.author;
    element("text").value = draft.text;
    key = draft.key;
  } catch { /* there is no draft */ }
}

// Sends a request. After the end of the session, the page goes to the login, and keeps the draft.
async function request(path, options) {
  const answer = await fetch(path, options);
  if (answer.status === 401) location.assign("login");
  return answer;
}

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Tries to post. Returns the text of a refusal, null if the post is written, or undefined if the page must try again.
async function tryPost(body) {
  const answer = await request("posts", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (answer.ok) return null;
  const reply = await answer.json();
  return answer.status === 503 || answer.status === 429 ? undefined : reply.text;
}

async function send(event) {
  event.preventDefault();
  const button = element("form").querySelector("button");
  if (button.disabled) return;
  button.disabled = true;
  key ??= newKey();
  keepDraft();
  const text = element("text").value;
  const body = JSON.stringify({ author: element("author").value, text, key });
  let result;
  for (let count = 0; count < ATTEMPTS && result === undefined; count += 1) {
    if (count > 0) await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
    setText(element("result"), count > 0 ? "No answer yet, trying again. The text is kept…" : "Waiting for the token…");
    result = await tryPost(body).catch(() => undefined);
  }
  if (result === null) {
    key = null;
    // The user may have changed the text in the meantime.
    if (element("text").value === text) element("text").value = "";
    keepDraft();
  }
  setText(element("result"), result === undefined ? "The node does not answer. The text is kept: post the text again later." : result ?? "");
  button.disabled = false;
}

function showDisconnected() {
  setText(element("ring"), "The node does not answer.");
  element("token").textContent = "";
  lastRing = null;
  markToken();
  // A live view also ends with its session.
  request("ring").catch(() => undefined);
}

subscribe({ ring: showRing, post: showPost, error: showDisconnected });
setInterval(markToken, MARK_MS);
setInterval(async () => {
  if (lastRing === null || document.hidden) return;
  const answer = await request("ring").catch(() => null);
  const ring = answer?.ok ? await answer.json() : null;
  if (ring !== null && lastRing !== null) showToken(ring);
}, RING_POLL_MS);
element("form").addEventListener("submit", send);
element("form").addEventListener("input", () => {
  // A changed text is another post, so it needs another key.
  key = null;
  keepDraft();
});
element("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element("form").requestSubmit();
});
readDraft();
