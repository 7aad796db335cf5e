// Texts of other people are shown only as text nodes, so that they cannot contain scripts.
"use strict";

// How often the page asks for the token. The token moves faster than that.
const LOOK_MS = 1000;
const PAUSE_MS = 1000;
// The mark of the token moves at most this often, because flashing content can cause seizures.
const MOVE_MS = 400;
const ATTEMPTS = 10;
const DRAFT = "board-draft";
const by = (id) => document.getElementById(id);
// The last status of the ring. The trail: when the token was here, its sequence, and the time of a hop.
let told = null;
let trail = null;
// The key of the text in the form. A post that is sent again with the same key is written once.
let key = null;

function showRing(ring) {
  const acting = ring.acting ? " (acting)" : "";
  say(by("ring"), `Node ${ring.id}: ${ring.state}. Coordinator ${ring.coordinator ?? "none"}${acting}, ${ring.members.length} in the ring, database ${ring.database}.`);
  const members = ring.members.map((id) => {
    const item = document.createElement("li");
    item.textContent = id;
    item.dataset.id = id;
    item.classList.toggle("own", id === ring.id);
    item.classList.toggle("coordinator", id === ring.coordinator);
    return item;
  });
  by("members").replaceChildren(...members);
  showToken(ring);
}

function showToken(ring) {
  told = ring;
  follow(ring.token);
  markToken();
  // The lower half of a sequence counts hops.
  const hops = BigInt(ring.token.sequence) & 0xffffffffn;
  const where = ring.token.held ? "is here" : ring.token.here_ms === null ? "has not been here" : `was here ${ring.token.here_ms} ms ago`;
  by("token").textContent = `The token ${where}: hop ${hops} of term ${BigInt(ring.token.sequence) >> 32n}.`;
}

function follow(token) {
  if (token.here_ms === null) return;
  const [sequence, at] = [BigInt(token.sequence), performance.now() - token.here_ms];
  const hops = trail === null ? 0n : sequence - trail.sequence;
  // A new term, or the jump of a token that was taken back, is not a number of hops.
  const pace = hops > 0n && hops < 65536n ? (at - trail.at) / Number(hops) : trail?.pace ?? null;
  trail = { sequence, at, pace };
}

// Returns the member that probably holds the token, computed from its last visit here and its pace; null: unknown.
function holder() {
  const { id, members, token } = told;
  const own = members.indexOf(id);
  if (own < 0 || token.here_ms === null) return null;
  if (token.held || members.length === 1) return id;
  const hops = 1 + Math.floor((performance.now() - trail.at) / trail.pace);
  // The token should have been here again by now.
  if (!(hops < 2 * members.length)) return null;
  return members[(own + hops) % members.length];
}

function markToken() {
  const id = told === null ? null : holder();
  for (const item of by("members").children) item.classList.toggle("token", item.dataset.id === String(id));
}

// Sets the text only if it differs, so that a screen reader does not read it again.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
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
  by("posts").prepend(item);
  while (by("posts").children.length > SHOWN) by("posts").lastChild.remove();
}

// Keeps the draft, so that it outlives the page, if the browser allows storage.
function keepDraft() {
  try {
    localStorage.setItem(DRAFT, JSON.stringify({ author: by("author").value, text: by("text").value, key }));
    } catch { /* storage is not allowed: the draft lasts as long as the page */ }
}

function readDraft() {
  try {
    const draft = JSON.parse(localStorage.getItem(DRAFT));
    by("author").value = draft.author;
    by("text").value = draft.text;
    key = draft.key;
    } catch { /* there is no draft */ }
}

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Tries to post. Returns the text of a refusal; null: the post is written; undefined: try again.
async function attempt(body) {
  const answer = await fetch("posts", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  if (answer.ok) return null;
  const said = await answer.json();
  return answer.status === 503 || answer.status === 429 ? undefined : said.text;
}

async function send(event) {
  event.preventDefault();
  const button = by("form").querySelector("button");
  if (button.disabled) return;
  button.disabled = true;
  key ??= newKey();
  keepDraft();
  const text = by("text").value;
  const body = JSON.stringify({ author: by("author").value, text, key });
  let said;
  for (let count = 0; count < ATTEMPTS && said === undefined; count += 1) {
    if (count > 0) await new Promise((go) => setTimeout(go, PAUSE_MS));
    say(by("said"), count > 0 ? "No answer yet, trying again. The text is kept…" : "Waiting for the token…");
    said = await attempt(body).catch(() => undefined);
  }
  if (said === null) {
    key = null;
    // The user may have changed the text in the meantime.
    if (by("text").value === text) by("text").value = "";
    keepDraft();
  }
  say(by("said"), said === undefined ? "The node does not answer. The text is kept: post it again later." : said ?? "");
  button.disabled = false;
}

function showSilence() {
  say(by("ring"), "The node does not answer.");
  by("token").textContent = "";
  told = null;
  markToken();
}

view({ ring: showRing, post: showPost, error: showSilence });
setInterval(markToken, MOVE_MS);
setInterval(async () => {
  if (told === null || document.hidden) return;
  const answer = await fetch("ring").catch(() => null);
  const ring = answer?.ok ? await answer.json() : null;
  if (ring !== null && told !== null) showToken(ring);
}, LOOK_MS);
by("form").addEventListener("submit", send);
by("form").addEventListener("input", () => {
  // A changed text is another post.
  key = null;
  keepDraft();
});
by("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("form").requestSubmit();
});
readDraft();
