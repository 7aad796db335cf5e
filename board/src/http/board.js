// What others have written becomes text nodes alone.
"use strict";

const MOST = 500;
const by = (id) => document.getElementById(id);

function showRing(ring) {
  const members = ring.members.length ? ring.members.join(" → ") : "none";
  const acting = ring.acting ? " (acting)" : "";
  by("ring").textContent =
    `Node ${ring.id}: ${ring.state}. Coordinator ${ring.coordinator ?? "none"}${acting}, members ${members}, database ${ring.database}.`;
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
  while (by("posts").children.length > MOST) by("posts").lastChild.remove();
}

async function send(event) {
  event.preventDefault();
  const button = by("form").querySelector("button");
  button.disabled = true;
  // The same for each attempt: it is written once.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const body = JSON.stringify({ author: by("author").value, text: by("text").value, key });
  try {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      by("said").textContent = "Waiting for the token…";
      const answer = await fetch("posts", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const said = await answer.json();
      if (answer.ok) {
        by("said").textContent = "";
        by("text").value = "";
        return;
      }
      by("said").textContent = said.text;
      if (answer.status !== 503) return;
    }
  } catch (error) {
    by("said").textContent = `The node does not answer: ${error.message}`;
  } finally {
    button.disabled = false;
  }
}

const events = new EventSource("events");
events.addEventListener("ring", (event) => showRing(JSON.parse(event.data)));
events.addEventListener("post", (event) => showPost(JSON.parse(event.data)));
events.addEventListener("error", () => {
  by("ring").textContent = "The node does not answer.";
});
by("form").addEventListener("submit", send);
