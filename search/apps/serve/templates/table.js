// The table: a lobby that opens one, and the scenes that the server sends to this seat. All text goes in as text.

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

// ---- the lobby

async function lobby() {
  const about = await (await fetch("about")).json();
  const quiet = (said) => saying(h("span", { class: "quiet" }), said);
  for (const [name, { rating }] of Object.entries(about.levels)) {
    const share = Math.round(100 / (1 + 10 ** (-rating / 400)));
    $("levels").append(h("label", {},
      h("input", { type: "radio", name: "level", value: name, checked: name === about.first }),
      saying(h("b"), level(name)), h("span", { class: "bar", style: `--share: ${rating === null ? 0 : share}%` }),
      quiet(Object.hasOwn(texts.en.levels, name) ? [`levels.${name}`, {}] : ""),
      rating ? quiet(["page.strength", { share }]) : ""));
    $("rival").append(saying(h("option", { value: name, selected: name === about.first }), level(name)));
  }
  const task = () => saying($("rules"), about.missions[$("mission").value - 1] ?? ["page.any_mission", {}]);
  $("chapter").hidden = !about.missions.length;
  $("mission").max = about.missions.length;
  if (about.missions.length) task();
  else $("mission").value = 0;
  $("mission").addEventListener("input", task);
  $("people").max = about.seats;
  $("open").prepend($("who"));
  $("lobby").hidden = false;
  $("name").focus();
}

$("open").addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = { level: event.target.elements.level.value, rival: $("rival").value, training: $("training").checked };
  for (const id of ["people", "deals", "mission"]) asked[id] = Number($(id).value);
  const headers = { "Content-Type": "application/json", "X-Kibitz-Key": key ?? "" };
  const response = await fetch("tables", { method: "POST", headers, body: JSON.stringify(asked) });
  if (!response.ok) {
    saying($("refused"), await refusal(response));
    return;
  }
  const { table, seats, watch } = await response.json();
  const [mine, ...others] = Object.values(seats);
  kept("links", JSON.stringify({ table, others, watch }), "sessionStorage");
  location.hash = `table=${table}&seat=${mine}`;
});

/** The links to send, of who opened the table; each can be copied. */
function invite(table) {
  const opened = JSON.parse(kept("links", undefined, "sessionStorage") ?? "{}");
  if (opened.table !== table) return;
  const base = `${location.origin}${location.pathname}#table=${table}`;
  const line = (what, seat) => {
    const link = h("input", { readonly: true, value: `${base}&seat=${seat}` }), copy = label("button", "copy");
    copy.addEventListener("click", () => {
      link.select();
      document.execCommand("copy");
      copy.textContent = text("copied");
    });
    return h("div", {}, h("label", {}, label("span", what), link), copy);
  };
  $("links").replaceChildren(...opened.others.map((seat) => line("invite_seat", seat)), line("watchers", opened.watch));
  $("invite").hidden = false;
  $("invite").open = opened.others.length > 0;
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

// ---- drawing

const card = (name, className = "", who = "") => dress(h("span", { class: `card ${className}` }), name, who);

/** A name as a small card where it is one. */
const face = (name) => (parts(name) ? card(name, "small") : say(name));

const who = (number) => say(scene.table.places[number].name);

/** Have an element come from where another is, or go there. */
function move(one, other, away, options = {}) {
  if (still.matches || !one || !other) return;
  const from = one.getBoundingClientRect(), to = other.getBoundingClientRect();
  const [x, y] = [to.x - from.x + (to.width - from.width) / 2, to.y - from.y + (to.height - from.height) / 2];
  const there = { transform: `translate(${x}px, ${y}px) scale(${away ? 0.3 : 0.6})`, opacity: away ? 0 : 0.3 };
  one.animate(away ? [{}, there] : [there, {}], { duration: 260, easing: "ease-out", fill: "backwards", ...options });
}

function drawPlace(place, number) {
  const { places } = scene.table, leader = places.findIndex((one) => one.leads);
  const open = [...place.tasks, ...place.said].map(({ name, sign, meaning }) =>
    h("span", { class: "open", title: say(meaning) }, card(name, "small", say(meaning)), h("b", {}, sign)));
  const signs = [place.role && say(place.role), place.leads && scene.pause !== 2 && text("leads")].filter(Boolean);
  const unit = place.points === 1 ? ["table.point", {}] : scene.scales[0];
  const line = (name, said) => (said ? h("span", { class: name, title: said }, said) : "");
  const plate = h("div", { class: `plate ${place.to_play ? "to-play" : ""}` },
    line("seat", say(place.name)), line("name", named(place.player)), line("role", signs.join(" · ")),
    line("points", !scene.over && place.points ? `${place.points} ${say(unit)}` : ""), ...open);
  const order = (number - leader + places.length) % places.length;
  const laid = place.card && card(place.card.name, `trick ${place.card.faded ? "faded" : ""}`, who(number));
  laid?.style.setProperty("z-index", order);
  return h("div", { class: `place place-${number}` }, plate, laid ?? h("span", { class: "card empty" }));
}

function drawTable() {
  const felt = $("felt"), focused = document.activeElement?.id;
  const title = h("h1", { id: "title" }, say(scene.title));
  if (!scene.table) { // a game without cards, or without pictures
    felt.className = "table";
    felt.replaceChildren(title, h("pre", {}, scene.words));
    return;
  }
  const { places, middle, shown: rows, tricks, calls } = scene.table;
  const speaks = calls.length > 0 && !places.some((place) => place.card);
  felt.className = `table seats-${places.length}`;
  const drawn = places.map(drawPlace);
  const attempt = scene.attempt > 1 ? [h("p", {}, text("attempt", { number: scene.attempt }))] : [];
  const about = (scene.rules ? [scene.rules] : scene.headline ? middle.slice(0, 1) : middle)
    .filter((line) => !["table.dot", "skat.call"].includes(line[0])).map((line) => h("p", {}, say(line)));
  const open = rows.filter(([said]) => said[0] !== "table.your_hand").map(([said, cards]) =>
    h("p", {}, `${say(said)}: `, ...cards.map((one) => card(one.name, "small"))));
  const aside = places.some((place) => place.card) || !speaks && !open.length;
  felt.replaceChildren(...drawn, h("div", { class: "about" }, title, ...attempt, ...about),
    h("div", { class: aside ? "rows" : "rows middle" }, speaks ? auction(places, calls) : "", ...open));
  if (tricks.length) {
    const last = tricks.at(-1), winner = who(last.winner);
    const button = h("button", { id: "last", "aria-label": `${text("last")}: ${winner}` }, label("span", "last"),
      h("span", {}, ...inOrder(last).map(([, one]) => card(one.name, "small"))), h("span", {}, `▸ ${winner}`));
    button.addEventListener("click", showTricks);
    felt.append(button);
  }
  if (focused === "last") $("last")?.focus();
  const plates = felt.querySelectorAll(".plate"), laid = felt.querySelectorAll(".place > .card");
  const gone = scene.pause === 2 && performance.now() - shown > pace() - 20;
  for (const [number, place] of places.entries()) {
    if (before !== scene && place.card && before?.table?.places[number]?.card?.name !== place.card.name) {
      move(laid[number], number ? plates[number] : $("hand"), false);
    }
    if (scene.pause !== 2 || !place.card) continue;
    if (gone) laid[number].classList.add("gone");
    else move(laid[number], plates[tricks.at(-1).winner], true, { delay: pace() - 280, fill: "forwards" });
  }
}

/** The cards of a trick with their places, as they were played. */
function inOrder({ leader, cards }) {
  return cards.map((_, k) => (leader + k) % cards.length).map((number) => [number, cards[number]]);
}

/** A table of rows under their headings. */
function grid(heads, rows) {
  const head = heads.map((one) => (one ? h("th", { scope: "col" }, one) : h("td")));
  return h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
}

/** A table with a column a place. */
const byPlace = (rows) => grid(scene.table.places.map(({ name }) => say(name)), rows);

/** The calls in rows, each below its seat; the last rows where there are many. */
function auction(places, calls) {
  const rows = [];
  for (const [number, call] of calls) {
    if (rows.at(-1)?.slice(number).some(Boolean) ?? true) rows.push(places.map(() => ""));
    rows.at(-1)[number] = call;
  }
  return byPlace(rows.slice(-6).map((row) => h("tr", {}, ...row.map((call) => h("td", {}, call && say(call))))));
}

function showTricks() {
  const row = ({ leader, winner, cards }) => h("tr", {}, ...cards.map((one, number) =>
    h("td", { class: number === winner ? "won" : "" }, card(one.name, "small", who(number)),
      number === leader ? label("small", "leads") : "")));
  $("tricks").querySelector(".scroll").replaceChildren(byPlace(scene.table.tricks.map(row)));
  $("tricks").showModal();
}

/** What a seat holds, which stays in sight while it speaks. */
function held() {
  if (scene.cards) return scene.choices;
  return scene.table?.shown.find(([said]) => said[0] === "table.your_hand")?.[1] ?? [];
}

function drawHand() {
  const mine = asked(), cards = held(), focused = document.activeElement?.dataset?.token;
  if (before?.hand !== scene.hand) keys.clear();
  const free = [...KEYS].filter((key) => !cards.some(({ name }) => keys.get(name) === key));
  for (const { name } of cards) if (!keys.has(name)) keys.set(name, free.shift());
  const press = (made, { token, legal }) => {
    made.dataset.token = token;
    made.setAttribute("aria-pressed", String(chosen.includes(token)));
    made.classList.toggle("chosen", chosen.includes(token));
    made.disabled = resting || !(mine && legal);
    made.addEventListener("click", once(() => choose(token)));
    return made;
  };
  const words = scene.cards ? [] : scene.choices.map((choice, k) => press(h("button",
    { class: "word", "data-key": KEYS[k] ?? false, "aria-label": spoken(choice.name) }, face(choice.name)), choice));
  let gaps = 0;
  const fan = cards.map((choice, k) => {
    const apart = k > 0 && choice.group !== cards[k - 1].group;
    gaps += apart;
    const made = dress(h("button", { class: `card ${apart ? "apart" : ""}`, style: `--i: ${k}` }), choice.name);
    if (keys.get(choice.name)) made.dataset.key = keys.get(choice.name);
    return press(made, { token: -1, ...choice });
  });
  $("hand").replaceChildren(...(words.length ? [h("div", { class: "words" }, ...words)] : []),
    h("div", { class: "fan", style: `--n: ${Math.max(fan.length, 2)}; --gaps: ${gaps}` }, ...fan));
  $("own").classList.toggle("mine", mine);
  const focus = (token) => $("hand").querySelector(`button${token}:not(:disabled)`)?.focus({ preventScroll: true });
  if (focused) focus(`[data-token="${Number(focused)}"]`);
  if (mine && document.activeElement === document.body) focus("");
}

/** Whether this seat is asked for something, and all that led to it has been shown. */
const asked = () => queue.length === 0 && scene.your_turn;

function draw() {
  if (!scene) return;
  const last = queue.length === 0, asks = asked(), over = scene.over && !showing;
  drawTable();
  drawHand();
  const left = scene.needed - chosen.length;
  let prompt = asks ? say(scene.prompt) : "";
  if (asks && scene.needed > 1) prompt = text("choose", { prompt: scene.prompt, left });
  if (last && scene.waiting_for) prompt = text("waiting", { who: scene.waiting_for });
  $("prompt").textContent = prompt;
  $("confirm").hidden = !(asks && chosen.length > 0 && left === 0);
  $("end").hidden = !over;
  $("next").hidden = !over || scene.watching || scene.match_over;
  $("again").hidden = !over || scene.watching || scene.deals > 0;
  $("review").hidden = !over || scene.watching;
  $("undo").hidden = !(last && scene.can_undo);
  for (const id of ["confirm", "next", "undo"]) $(id).disabled = resting;
  $("hint").hidden = $("search").hidden = !(asks && scene.training);
  $("stop").hidden = !searching;
  if (over) drawEnd();
  if (before !== scene) happened(prompt);
  before = scene;
}

/** The result of a hand, and how the match stands. */
function drawEnd() {
  $("headline").textContent = say(scene.headline || scene.title);
  const places = scene.table?.places ?? scene.names.map((name) => ({ name, player: "" }));
  const hands = scene.deals ? `${scene.hand}/${scene.deals}` : scene.hand;
  const row = (place, number) => h("tr", {},
    h("th", { scope: "row" }, `${say(place.name)} `, h("span", { class: "quiet" }, named(place.player))),
    h("td", {}, h("b", {}, scene.points[number])), h("td", {}, scene.totals[number]));
  $("score").replaceChildren(scene.chances ? h("p", {}, text("done", { done: scene.totals[0], all: scene.hand }))
    : grid(["", say(scene.scales[1]), text("so_far", { hands })], places.map(row)));
}

/** Say what was played, for who does not see it. */
function happened(prompt) {
  const places = scene.table?.places ?? [], old = before?.table?.places ?? [];
  const played = places.filter(({ card }, number) => card && card.name !== old[number]?.card?.name)
    .map(({ name, card }) => `${say(name)}: ${spoken(card.name)}`);
  const end = scene.pause === 2 ? scene.table.middle.map(say) : [];
  $("happened").textContent = [...played, ...end, say(scene.headline), prompt].filter(Boolean).join(". ");
}

const units = (value, unit) => (unit === "chance" ? `${value.toFixed(0)} %` : value.toFixed(unit === "points" ? 1 : 2));

function tell(hint) {
  searching = hint.searching;
  $("stop").hidden = !searching;
  const told = (value) => units(value, hint.unit);
  const columns = ["action", "policy", hint.unit, ...(hint.searched ? ["visits", "mean"] : [])];
  const rows = hint.actions.map((one) => {
    const share = (100 * one.probability).toFixed(1);
    const values = [told(one.value), ...(hint.searched ? [one.visits, one.mean === null ? "-" : told(one.mean)] : [])];
    const bar = h("td", { class: "bar", style: `--share: ${share}%` }, say(`${share} %`));
    return h("tr", {}, h("td", {}, face(one.name)), bar, ...values.map((value) => h("td", {}, say(value))));
  });
  const unit = hint.unit === "chance" ? "" : [`page.${hint.unit}`, {}];
  const expected = ["page.expects", { value: told(hint.value), unit }];
  const searched = ["page.searched", { expected, simulations: hint.simulations }];
  $("told").replaceChildren(h("p", {}, say(hint.searched ? searched : expected)),
    h("div", { class: "scroll" }, grid(columns.map((name) => text(name)), rows)));
}

/** The same deal by the rival, beside what the person made. */
function compare({ player, points, yours, hands, ahead, half }) {
  const counted = `${hands}${scene?.deals ? `/${scene.deals}` : ""}`, scale = scene?.chances ? 100 : 1;
  const by = `${(scale * Math.abs(ahead)).toFixed(1)}${half === null ? "" : ` ± ${(scale * half).toFixed(1)}`}`;
  const unit = [scene?.chances ? "page.percent" : "page.points_a_hand", {}];
  const made = (value) => (scene?.chances ? [value ? "crew.success" : "crew.failure", {}] : value);
  $("compared").replaceChildren(
    h("p", {}, text("compared", { yours: made(yours), player: level(player), points: made(points) })),
    h("p", {}, text(ahead < 0 ? "behind" : "ahead", { by, unit, hands: counted })),
  );
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

/** What a person chose once stays. */
$("twice").checked = matchMedia("(pointer: coarse)").matches;
for (const id of ["speed", "four", "twice", "name"]) {
  const box = $(id), ticked = box.type === "checkbox", before = kept(id);
  const keep = () => document.body.classList.toggle("four", $("four").checked);
  if (before !== undefined && ticked) box.checked = before === "1";
  else if (before !== undefined) box.value = before;
  box.addEventListener("change", () => {
    kept(id, ticked ? (box.checked ? "1" : "") : box.value);
    keep();
  });
  keep();
}
const key = kept("key", fragment().get("key") || undefined, "sessionStorage");
$("home").setAttribute("href", key ? `#key=${encodeURIComponent(key)}` : "#");
addEventListener("hashchange", () => location.reload());
translate();
if (fragment().get("table")) {
  invite(fragment().get("table"));
  sit();
  $("settings").open = !$("name").value && $("invite").hidden;
} else lobby();
