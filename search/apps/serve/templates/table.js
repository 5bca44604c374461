// The table: a lobby that opens one, and the scenes that the server sends to this seat. All text goes in as text.

const $ = (id) => document.getElementById(id);
const PAUSES = [0, 450, 1500]; // milliseconds after a scene, by its pause
let socket = null;
let scene = null;
let chosen = [];
let queue = [];
let searching = false;
let hurry = () => {};
let showing = false;
let resting = false; // until the answer to what changes the table
let shown = 0; // when the scene came
let heard = null; // the hint or comparison that is on the page

const fragment = () => new URLSearchParams(location.hash.slice(1));

function element(tag, content = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = content;
  made.className = className;
  return made;
}

function label(tag, key) {
  const made = element(tag, text(key));
  made.dataset.text = key;
  return made;
}

/** The name of a level of the game. */
const level = (name) => (Object.hasOwn(texts.en.words, name) ? [`words.${name}`, {}] : name);

/** Why the server refuses something. */
const refusal = async (response) => JSON.parse(response.headers.get("X-Kibitz-Text")) ?? (await response.text());

function translate() {
  translateTexts();
  tellPage();
  if (heard) take(heard);
  if (scene) draw();
}

// ---- the lobby

async function lobby() {
  const about = await (await fetch("about")).json();
  for (const select of [$("level"), $("rival")]) {
    for (const [name, { rating }] of Object.entries(about.levels)) {
      const option = saying(element("option"), rating === null ? level(name) : ["words.rated", { level: level(name), rating: `${rating > 0 ? "+" : ""}${rating}` }]);
      option.value = name;
      select.append(option);
    }
    select.value = about.first;
  }
  $("people").max = about.seats;
  $("lobby").hidden = false;
  $("name").focus();
}

$("open").addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = { level: $("level").value, people: Number($("people").value), training: $("training").checked };
  Object.assign(asked, { rival: $("rival").value, deals: Number($("deals").value) });
  const key = fragment().get("key") ?? "";
  const headers = { "Content-Type": "application/json", "X-Kibitz-Key": key };
  const response = await fetch("tables", { method: "POST", headers, body: JSON.stringify(asked) });
  if (!response.ok) {
    saying($("refused"), await refusal(response));
    return;
  }
  const { table, seats, watch } = await response.json();
  const [mine, ...others] = Object.values(seats);
  const link = (seat) => `${location.origin}${location.pathname}#table=${table}&seat=${seat}`;
  const lines = (links) => links.flatMap((one) => [element("br"), element("span", link(one))]);
  const invited = others.length ? [label("span", "invite"), ...lines(others), element("br")] : [];
  $("links").replaceChildren(...invited, label("span", "watchers"), ...lines([watch]));
  $("links").hidden = false;
  history.replaceState(null, "", link(mine));
  sit();
});

// ---- the connection

function sit() {
  $("lobby").hidden = true;
  $("table").hidden = false;
  const place = fragment();
  const base = location.href.split("#")[0].replace(/^http/, "ws");
  socket = new WebSocket(new URL(`tables/${encodeURIComponent(place.get("table"))}`, base));
  socket.addEventListener("open", () => {
    saying($("said"), "");
    socket.send(JSON.stringify({ seat: place.get("seat"), name: $("name").value || sessionStorage.name || "" }));
    if ($("name").value) sessionStorage.name = $("name").value;
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
    const { hands, ahead, half } = message;
    const sure = half === null ? "" : ` ± ${half.toFixed(1)}`;
    const by = `${Math.abs(ahead).toFixed(1)}${sure}`;
    const counted = `${hands}${scene?.deals ? `/${scene.deals}` : ""}`;
    const compared = { yours: message.yours, player: level(message.player), points: message.points };
    $("told").replaceChildren(
      element("p", text("compared", compared)),
      element("p", text(ahead < 0 ? "behind" : "ahead", { by, hands: counted })),
    );
  } else if (message.type === "error") {
    saying($("said"), message.said);
    chosen = [];
    draw();
  }
}

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
    searching = false;
    draw();
    await new Promise((done) => {
      hurry = done; // whoever acts waits no longer
      setTimeout(done, PAUSES[scene.pause] * Number($("speed").value));
    });
  }
  showing = false;
  const left = queue.splice(0);
  draw();
  left.forEach(take);
}

// ---- drawing

function spoken(name) {
  const suits = { "♦": "D", "♥": "H", "♠": "S", "♣": "C" };
  const suit = suits[name.at(-1)];
  return suit ? `${text(suit)} ${name.slice(0, -1)}` : name;
}

function card(one, extra = "") {
  const made = element("span", "", `card ${one.red ? "red" : ""} ${one.faded ? "faded" : ""} ${extra}`);
  const name = say(one.name);
  made.append(element("b", name.slice(0, -1)), name.slice(-1));
  made.setAttribute("aria-label", spoken(name));
  made.setAttribute("role", "img");
  return made;
}

function drawTable() {
  const felt = $("felt");
  if (!scene.table) { // a game without cards, or without pictures
    felt.className = "table";
    felt.replaceChildren(element("pre", scene.words));
    return;
  }
  const { places, middle, shown } = scene.table;
  felt.className = `table seats-${places.length}`;
  const drawn = places.map((place, number) => {
    const made = element("div", "", `place place-${number}`);
    const player = Array.isArray(place.player) ? say(place.player) : place.player; // a name that somebody chose
    const who = `${say(place.name)} ${player}`.trim();
    const name = element("span", who, place.to_play ? "name to-play" : "name");
    const points = [say(place.role), place.points ? String(place.points) : ""].filter(Boolean).join(", ");
    const laid = place.card ? card(place.card) : element("span", "", "card empty");
    made.append(name, laid, element("span", points, "points"));
    return made;
  });
  const centre = element("div", "", "middle");
  for (const line of middle) centre.append(element("p", say(line)));
  for (const [said, cards] of shown) {
    const row = element("p", `${say(said)}: `);
    row.append(...cards.map((one) => card(one, "small")));
    centre.append(row);
  }
  felt.replaceChildren(...drawn, centre);
}

function drawHand() {
  const last = queue.length === 0;
  const mine = last && scene.your_turn;
  let group = scene.choices[0]?.group;
  const drawn = [];
  for (const choice of scene.choices) {
    if (scene.cards && choice.group !== group) drawn.push(element("span", "", "gap"));
    group = choice.group;
    const made = element("button", "", scene.cards ? `card ${choice.red ? "red" : ""}` : "word");
    const name = say(choice.name);
    const [rank, suit] = scene.cards ? [name.slice(0, -1), name.slice(-1)] : [name, ""];
    made.append(element("b", rank), suit);
    made.setAttribute("aria-label", spoken(name));
    made.setAttribute("aria-pressed", String(chosen.includes(choice.token)));
    made.dataset.token = choice.token;
    made.classList.toggle("chosen", chosen.includes(choice.token));
    made.disabled = resting || !(mine && choice.legal);
    made.addEventListener("click", once(() => choose(choice.token)));
    drawn.push(made);
  }
  const focused = document.activeElement?.dataset?.token;
  $("hand").replaceChildren(...drawn);
  if (focused) $("hand").querySelector(`[data-token="${Number(focused)}"]`)?.focus();
}

function draw() {
  if (!scene) return;
  $("title").textContent = say(scene.title);
  drawTable();
  drawHand();
  const last = queue.length === 0;
  const left = scene.needed - chosen.length;
  const asks = scene.your_turn && last;
  let prompt = asks ? say(scene.prompt) : "";
  if (asks && scene.needed > 1) prompt = text("choose", { prompt: scene.prompt, left });
  if (last && scene.waiting_for) prompt = text("waiting", { who: scene.waiting_for });
  $("prompt").textContent = prompt;
  $("confirm").hidden = !(asks && scene.needed > 1 && left === 0);
  $("next").hidden = !(last && scene.over) || scene.watching || scene.match_over;
  $("again").hidden = !(last && scene.over) || scene.watching || scene.deals > 0;
  $("review").hidden = !(last && scene.over) || scene.watching;
  $("undo").hidden = !(last && scene.can_undo);
  for (const id of ["confirm", "next", "undo"]) $(id).disabled = resting;
  $("hint").hidden = $("search").hidden = !(asks && scene.training);
  $("stop").hidden = !searching;
  const names = (scene.names ?? []).map(say);
  const totals = (scene.totals ?? []).map((total, number) => `${names[number]} ${total}`);
  const now = scene.points.map((points, number) => `${names[number] ?? number}: ${points}`);
  const sums = totals.length ? [`Σ ${totals.join(", ")}`] : [];
  $("score").textContent = [...(now.length ? [now.join(", ")] : []), ...sums].join(" · ");
  $("remarks").textContent = scene.remarks.map(say).join(" · ");
}

function tell(hint) {
  searching = hint.searching;
  $("stop").hidden = !searching;
  const table = element("table");
  const head = element("tr");
  const told = (value) => value.toFixed(hint.unit === "points" ? 1 : 2);
  const columns = ["action", "policy", hint.unit, ...(hint.searched ? ["visits", "mean"] : [])];
  head.append(...columns.map((key) => element("th", text(key))));
  table.append(head);
  for (const one of hint.actions) {
    const row = element("tr");
    const share = element("td", `${(100 * one.probability).toFixed(1)} %`, "bar");
    share.style.setProperty("--share", `${(100 * one.probability).toFixed(1)}%`);
    row.append(element("td", say(one.name)), share, element("td", told(one.value)));
    const mean = one.mean === null ? "-" : told(one.mean);
    if (hint.searched) row.append(element("td", String(one.visits)), element("td", mean));
    table.append(row);
  }
  const expected = ["page.expects", { value: told(hint.value), unit: [`page.${hint.unit}`, {}] }];
  const searched = ["page.searched", { expected, simulations: hint.simulations }];
  $("told").replaceChildren(element("p", say(hint.searched ? searched : expected)), table);
}

// ---- what the person does

function choose(token) {
  if (scene.needed === 1) {
    change({ act: [token] });
    return;
  }
  if (chosen.includes(token)) chosen = chosen.filter((one) => one !== token);
  else if (chosen.length < scene.needed) chosen.push(token);
  draw();
}

function wait() {
  heard = null;
  $("told").replaceChildren(label("p", "thinking"));
}

/** The second click of a double click does not answer what came between the two. */
function once(does) {
  return (event) => { if (event.detail < 2 || performance.now() - shown > 300) does(); };
}

$("confirm").addEventListener("click", once(() => change({ act: chosen })));
$("next").addEventListener("click", once(() => { $("page").hidden = true; change({ deal: true }); }));
$("undo").addEventListener("click", once(() => change({ undo: true })));
$("hint").addEventListener("click", () => send({ hint: true }));
$("search").addEventListener("click", () => { wait(); send({ search: true }); });
$("stop").addEventListener("click", () => send({ stop: true }));
$("again").addEventListener("click", () => { wait(); send({ again: true }); });
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
  $("page").hidden = false;
});

/** The review speaks the language of the table; in its frame it can keep none. */
function tellPage() {
  $("page").contentWindow.postMessage({ language }, "*");
}

document.addEventListener("keydown", (event) => {
  if (!scene || event.altKey || event.ctrlKey || event.metaKey) return;
  if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
  if (event.repeat) { // a key that is held asks once; Enter would press what has the focus
    if (event.key === "Enter") event.preventDefault();
    return;
  }
  const legal = [...$("hand").querySelectorAll("button:not(:disabled)")];
  const number = "1234567890abc".indexOf(event.key);
  const shortcuts = { h: "hint", g: "search", s: "stop", u: "undo", n: "next" };
  if (number >= 0 && legal[number]) legal[number].click();
  else if (["ArrowLeft", "ArrowRight"].includes(event.key) && legal.length) {
    const at = legal.indexOf(document.activeElement);
    legal[(at + (event.key === "ArrowRight" ? 1 : -1) + legal.length) % legal.length].focus();
  } else if (event.key === "Enter" && !$("confirm").hidden && !legal.includes(document.activeElement)) {
    $("confirm").click();
  } else if (shortcuts[event.key] && !$(shortcuts[event.key]).hidden) $(shortcuts[event.key]).click();
  else return;
  event.preventDefault();
});

translate();
if (fragment().get("table")) sit();
else lobby();
