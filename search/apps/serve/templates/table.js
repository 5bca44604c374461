// The table: its state, the connection to the server, and what the person does. All text goes in as text.

const $ = (id) => document.getElementById(id);
const PAUSES = [0, 450, 1500]; // milliseconds after a scene, by its pause
const KEYS = "1234567890abcd";
const still = matchMedia("(prefers-reduced-motion: reduce)");
let socket = null;
let scene = null;
let before = null; // the scene that was drawn last
let chosen = [];
let queue = [];
let searching = false;
let hurry = () => {};
let showing = false;
let resting = false; // until the answer to what changes the table
let shown = 0; // when the scene came
let heard = null; // the hint or comparison that is on the page
const keys = new Map(); // name of a card -> its key for this hand

const fragment = () => new URLSearchParams(location.hash.slice(1));

/** An element that says a text of the page, also after a change of language. */
const label = (tag, key, attributes = {}) => h(tag, { "data-text": key, ...attributes }, text(key));

/** The name of a level of the game. */
const level = (name) => (Object.hasOwn(texts.en.words, name) ? [`words.${name}`, {}] : name);

/** Names that people chose are plain text; what the server says is a list. */
const named = (name) => (Array.isArray(name) ? say(name) : name);

/** Why the server refuses something. */
const refusal = async (response) => JSON.parse(response.headers.get("X-Kibitz-Text")) ?? (await response.text());

function translate() {
  translateTexts();
  tellPage();
  if (heard) take(heard);
  if (scene) draw();
}

// ---- the connection

function sit() {
  const place = fragment();
  $("table").hidden = false;
  document.body.classList.add("playing");
  const base = location.href.split("#")[0].replace(/^http/, "ws");
  socket = new WebSocket(new URL(`tables/${encodeURIComponent(place.get("table"))}`, base));
  socket.addEventListener("open", () => {
    saying($("said"), "");
    socket.send(JSON.stringify({ seat: place.get("seat"), name: $("name").value }));
  });
  socket.addEventListener("message", (event) => take(JSON.parse(event.data)));
  socket.addEventListener("close", (event) => {
    if (event.code === 4403 || event.code === 4409) {
      saying($("said"), [event.code === 4403 ? "page.no_seat" : "page.replaced", {}]);
      return;
    }
    saying($("said"), [event.code === 4503 ? "page.full" : "page.lost", {}]);
    setTimeout(sit, 2000);
  });
}

function send(message) {
  hurry();
  socket.send(JSON.stringify(message));
}

/** Asks for what changes the table, once for each position. */
function change(message) {
  if (resting) return;
  resting = true;
  send({ ...message, at: scene.history.length });
  draw();
}

function take(message) {
  if (["scene", "error"].includes(message.type)) resting = false;
  if (message.type === "scene" || (message.type === "again" && showing)) {
    queue.push(message);
    if (!showing) showNext();
  } else if (message.type === "hint") {
    heard = message;
    tell(message);
  } else if (message.type === "again") {
    heard = message;
    compare(message);
  } else if (message.type === "error") {
    saying($("said"), message.said);
    chosen = [];
    draw();
  }
}

const pace = () => PAUSES[scene.pause] * Number($("speed").value);

async function showNext() {
  showing = true;
  while (queue.length) {
    if (queue[0].type === "again") break; // told below, once nothing wipes it away
    scene = queue.shift();
    shown = performance.now();
    chosen = [];
    saying($("said"), "");
    heard = null;
    $("told").replaceChildren();
    $("compared").replaceChildren();
    searching = false;
    draw();
    await new Promise((done) => {
      hurry = done; // whoever acts waits no longer
      setTimeout(done, pace());
    });
  }
  showing = false;
  const left = queue.splice(0);
  draw();
  left.forEach(take);
}

// ---- what the person does

/** A card is played at once, or raised first and played by a second tap; several are raised and confirmed. */
function choose(token) {
  const again = chosen.includes(token);
  if (scene.needed === 1 && (again || !scene.cards || !$("twice").checked)) {
    change({ act: [token] });
    return;
  }
  if (again) chosen = chosen.filter((one) => one !== token);
  else if (scene.needed === 1) chosen = [token];
  else if (chosen.length < scene.needed) chosen.push(token);
  draw();
}

function wait(where) {
  heard = null;
  $(where).replaceChildren(label("p", "thinking"));
}

/** The second click of a double click does not answer what came between the two. */
function once(does) {
  return (event) => { if (event.detail < 2 || performance.now() - shown > 300) does(); };
}

function showReview(open) {
  $("page").hidden = $("leave").hidden = !open;
  $("table").hidden = open;
  document.body.classList.toggle("reviewing", open);
}

$("confirm").addEventListener("click", once(() => change({ act: chosen })));
$("next").addEventListener("click", once(() => change({ deal: true })));
$("undo").addEventListener("click", once(() => change({ undo: true })));
$("hint").addEventListener("click", () => send({ hint: true }));
$("search").addEventListener("click", () => { wait("told"); send({ search: true }); });
$("stop").addEventListener("click", () => send({ stop: true }));
$("again").addEventListener("click", () => { wait("compared"); send({ again: true }); });
$("leave").addEventListener("click", () => showReview(false));
$("help").addEventListener("click", () => document.body.classList.toggle("keys"));
$("name").addEventListener("change", () => { if (scene && !scene.watching) send({ name: $("name").value }); });
$("deals").addEventListener("input", () => {
  const match = Number($("deals").value) > 0;
  $("training").disabled = match;
  if (match) $("training").checked = false;
});
$("page").addEventListener("load", tellPage);

$("review").addEventListener("click", async () => {
  const place = fragment();
  const headers = { "X-Kibitz-Seat": place.get("seat") };
  const response = await fetch(`tables/${encodeURIComponent(place.get("table"))}/review`, { headers });
  if (!response.ok) {
    saying($("said"), await refusal(response));
    return;
  }
  $("page").src = URL.createObjectURL(await response.blob());
  showReview(true);
});

/** The review speaks the language of the table; in its frame it can keep none. */
function tellPage() {
  $("page").contentWindow.postMessage({ language }, "*");
}

document.addEventListener("keydown", (event) => {
  if (!scene || event.altKey || event.ctrlKey || event.metaKey || $("tricks").open) return;
  if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
  if (event.repeat) { // a key that is held asks once; Enter would press what has the focus
    if (event.key === "Enter") event.preventDefault();
    return;
  }
  const legal = [...$("hand").querySelectorAll("button:not(:disabled)")];
  const keyed = [...document.querySelectorAll("#table [data-key], #help")];
  if (["ArrowLeft", "ArrowRight"].includes(event.key) && legal.length) {
    const at = legal.indexOf(document.activeElement);
    legal[(at + (event.key === "ArrowRight" ? 1 : -1) + legal.length) % legal.length].focus();
  } else if (event.key !== "Enter" || !legal.includes(document.activeElement)) {
    const target = keyed.find((one) => one.dataset.key === event.key && !one.hidden && !one.disabled);
    if (!target) return;
    target.click();
  } else return;
  event.preventDefault();
});

/** A menu closes where something else is pressed. */
document.addEventListener("pointerdown", ({ target }) => {
  for (const menu of document.querySelectorAll(".menu[open]")) menu.open = menu.contains(target);
});
