// What others have written becomes text nodes alone.
"use strict";

// How often the token is looked for: it moves faster.
const LOOK_MS = 1000;
const PAUSE_MS = 1000;
// The token's mark moves no more often: what flashes may harm.
const MOVE_MS = 400;
const ATTEMPTS = 10;
const DRAFT = "board-draft";
const by = (id) => document.getElementById(id);
// The ring as it was told last; when the token was here, with which sequence, and how long a hop took until then.
let told = null;
let trail = null;
// Of the text as it stands: however often that is sent, it is written once.
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
  // Another term, and the lead of a token that was taken back, are no hops.
  const pace = hops > 0n && hops < 65536n ? (at - trail.at) / Number(hops) : trail?.pace ?? null;
  trail = { sequence, at, pace };
}

// Who has the token, reckoned from when it was here and from its pace; null: nobody knows.
function holder() {
  const { id, members, token } = told;
  const own = members.indexOf(id);
  if (own < 0 || token.here_ms === null) return null;
  if (token.held || members.length === 1) return id;
  const hops = 1 + Math.floor((performance.now() - trail.at) / trail.pace);
  // It should have been here again.
  if (!(hops < 2 * members.length)) return null;
  return members[(own + hops) % members.length];
}

function markToken() {
  const id = told === null ? null : holder();
  for (const item of by("members").children) item.classList.toggle("token", item.dataset.id === String(id));
}

// What says the same again is not read out again.
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

// A draft outlives the page. Where nothing may be stored it lasts as long as that.
function keepDraft() {
  try {
    localStorage.setItem(DRAFT, JSON.stringify({ author: by("author").value, text: by("text").value, key }));
  } catch { /* the page still has it */ }
}

function readDraft() {
  try {
    const draft = JSON.parse(localStorage.getItem(DRAFT));
    by("author").value = draft.author;
    by("text").value = draft.text;
    key = draft.key;
  } catch { /* there is none */ }
}

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// What is to be said of an attempt; null: the post is there; undefined: it may be tried again.
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
    // Somebody may have written on.
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
  // Another text is another post.
  key = null;
  keepDraft();
});
by("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("form").requestSubmit();
});
readDraft();
