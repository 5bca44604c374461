// Cards as pictures of our own: SVG made from a name such as "10♥" or "P9" (a pink 9 of The Crew).

const DRAWN = ["svg", "g", "path", "text", "rect"];
const SUITS = { "♦": "D", "♥": "H", "♠": "S", "♣": "C" };
const SHAPES = {
  D: "M50 3C60 24 72 39 88 50 72 61 60 76 50 97 40 76 28 61 12 50 28 39 40 24 50 3Z",
  H: "M50 93C18 65 4 47 4 28 4 13 15 5 27 5c10 0 18 6 23 16C55 11 63 5 73 5c12 0 23 8 23 23 0 19-14 37-46 65Z",
  S: "M50 3c6 20 44 36 44 60 0 13-10 21-21 21-8 0-15-4-19-11 1 11 5 18 12 24H34c7-6 11-13 12-24-4 7-11 11-19 11"
    + "C16 84 6 76 6 63 6 39 44 23 50 3Z",
  C: "M50 3a21 21 0 0 1 16 35 22 22 0 1 1-12 37c0 10 4 17 12 22H34c8-5 12-12 12-22a22 22 0 1 1-12-37A21 21 0 0 1 50 3Z",
  P: "M50 20a30 30 0 0 1 29 22c14-2 20-1 20 4 0 6-7 11-19 16a30 30 0 0 1-58 1C8 66 1 65 1 60c0-5 7-11 20-16"
    + "A30 30 0 0 1 50 20Z",
  B: "M50 3c7 14 34 37 34 62a34 32 0 0 1-68 0C16 40 43 17 50 3Z",
  G: "M50 8 96 90H4Z",
  Y: "M50 3 62 37H98L69 58 80 93 50 72 20 93 31 58 2 37H38Z",
  R: "M50 2c16 14 22 32 20 54l16 18v18L66 82H34L14 92V74l16-18C28 34 34 16 50 2Z",
};
const CROWNS = {
  K: "M6 40 0 12 13 26 20 6 27 26 40 12 34 40Z",
  Q: "M6 40C6 22 12 16 20 8 28 16 34 22 34 40ZM17 6a3 3 0 1 1 6 0Z",
  J: "M4 40C2 22 14 12 36 14 26 22 32 30 36 40Z",
};
/** Of a plain card: pips in each side column, and where the middle one has some, from the top (0) to the bottom (1). */
const PIPS = {
  A: [0, 0.5], 2: [0, 0, 1], 3: [0, 0, 0.5, 1], 4: [2], 5: [2, 0.5], 6: [3], 7: [3, 0.25], 8: [3, 0.25, 0.75],
  9: [4, 0.5], 10: [4, 0.17, 0.83],
};

/** An element with attributes; what is inside goes in as text or as elements. */
function h(tag, attributes = {}, ...inside) {
  const space = DRAWN.includes(tag) ? "http://www.w3.org/2000/svg" : document.documentElement.namespaceURI;
  const made = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside);
  return made;
}

/** Rank and suit of a card's name; undefined for other names. */
const parts = (name) => {
  const found = /^(?:(10|[2-9JQKA])([♦♥♠♣])|([PBGYR])(\d))$/.exec(name);
  const [, rank, suit, colour, number] = found ?? [];
  return found && { rank: rank ?? number, suit: SUITS[suit] ?? colour, letter: number ?? say(name).slice(0, -1) };
};

function spoken(name) {
  const card = parts(name);
  return card ? `${text(card.suit)} ${card.letter}` : say(name);
}

/** A suit's shape, ``size`` of 60 wide, its middle at ``x``, ``y``. */
function shape(suit, x, y, size, turned) {
  const scale = size / (turned ? -100 : 100);
  return h("path", { d: SHAPES[suit], transform: `translate(${x} ${y}) scale(${scale}) translate(-50 -50)` });
}

/** A part of a large card, upright or upside down. */
const half = (turned, ...inside) => h("g", turned ? { transform: "rotate(180 30 45)" } : {}, ...inside);

function middle({ rank, suit, letter }) {
  if ("PBGYR".includes(suit)) return [shape(suit, 31, 47, 36)];
  const crown = CROWNS[rank];
  if (!crown) {
    const [sides, ...centre] = PIPS[rank], at = (part) => 16 + 58 * part, size = rank === "A" ? 30 : 11;
    const column = [...Array(sides).keys()].map((row) => row / (sides - 1));
    const pip = (x) => (part) => shape(suit, x, at(part), size, part > 0.5);
    return [...column.map(pip(20.5)), ...column.map(pip(39.5)), ...centre.map(pip(30))];
  }
  const court = (turned) => half(turned,
    h("path", { d: crown, class: "crown", transform: "translate(20 14) scale(.5)" }), shape(suit, 20, 45, 7));
  return [h("rect", { x: 15, y: 10, width: 30, height: 70, rx: 3, class: "court" }), court(false), court(true),
    h("text", { x: 30, y: 52.5, class: "large" }, letter)];
}

/** Give an element the picture of a card, its colours, and words for who does not see it. */
function dress(made, name, who = "") {
  const card = parts(name);
  made.dataset.card = name;
  if (!card) {
    made.textContent = name;
    return made;
  }
  made.dataset.suit = card.suit;
  if (made.tagName !== "BUTTON") made.setAttribute("role", "img");
  made.setAttribute("aria-label", who ? `${who}: ${spoken(name)}` : spoken(name));
  const narrow = card.rank === "10" ? { textLength: 13, lengthAdjust: "spacingAndGlyphs" } : {};
  const rank = (x, y) => h("text", { x, y, class: "rank", ...narrow }, card.letter);
  const index = (turned) => half(turned, rank(8.5, 16), shape(card.suit, 8.5, 24, 10));
  made.replaceChildren(made.classList.contains("small")
    ? h("svg", { viewBox: "0 0 38 22", "aria-hidden": "true" }, rank(11, 17), shape(card.suit, 28, 11, 13))
    : h("svg", { viewBox: "0 0 60 90", "aria-hidden": "true" }, index(false), index(true), ...middle(card)));
  return made;
}

/** Cards that came with the page; in another language some have another letter. */
function dressAll() {
  for (const one of document.querySelectorAll("span[data-card]")) dress(one, one.dataset.card);
}
