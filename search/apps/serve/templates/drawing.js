// What the page shows of the scene that the server sent last.

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
  if (tricks.length) felt.append(lastTrick(tricks.at(-1)));
  if (focused === "last") $("last")?.focus();
  moveCards(places, tricks);
}

/** The last trick in small, which opens all of them. */
function lastTrick(trick) {
  const winner = who(trick.winner);
  const button = h("button", { id: "last", "aria-label": `${text("last")}: ${winner}` }, label("span", "last"),
    h("span", {}, ...inOrder(trick).map(([, one]) => card(one.name, "small"))), h("span", {}, `▸ ${winner}`));
  button.addEventListener("click", showTricks);
  return button;
}

/** A card comes from who plays it; a trick that has ended moves to who took it. */
function moveCards(places, tricks) {
  const plates = $("felt").querySelectorAll(".plate"), laid = $("felt").querySelectorAll(".place > .card");
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
    const bar = h("td", { class: "bar", style: `--share: ${share}%` }, number(`${share} %`));
    return h("tr", {}, h("td", {}, face(one.name)), bar, ...values.map((value) => h("td", {}, number(value))));
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
