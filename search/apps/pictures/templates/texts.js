// The texts of a page in the language of its reader. The server sends `[id, what stands in its holes]`; what is no list
// is the same in all languages, but for jacks, queens and colours. A page has a function `translate`, which is called
// when its language changes.

const texts = JSON.parse(document.getElementById("texts").textContent);
const languages = document.getElementById("language");
const preferred = (navigator.language || "en").startsWith("de") ? "de" : "en";
let language = Object.hasOwn(texts, kept("language")) ? kept("language") : preferred;

/** What was chosen before, or now; browsers keep nothing for some files and frames. */
function kept(name, chosen, where = "localStorage") {
  try {
    if (chosen !== undefined) window[where][name] = chosen;
    return window[where][name];
  } catch {
    return undefined;
  }
}

function speak(chosen) {
  language = chosen;
  kept("language", chosen);
  translate();
}

const NUMBERS = ["value", "points", "by"]; // holes in which numbers stand

/** A number with the decimal sign of the language; other text stays. */
function decimal(said) {
  const number = language === "de" && /^[-+±\d.%() ]+$/.test(said);
  return number ? said.replace(/(\d)\.(?=\d)/g, "$1,") : said;
}

function say(said) {
  if (!Array.isArray(said)) {
    return String(said).replace(/[JQ](?=[♦♥♠♣])/g, (letter) => text(letter))
      .replace(/^[PBGYR](?=\d($|[ :>ω]))/, (suit) => `${text(suit)} `);
  }
  const [group, name] = said[0].split(".");
  return texts[language][group][name].replace(/\{(\w+)\}/g,
    (_, hole) => (NUMBERS.includes(hole) ? decimal(say(said[1][hole])) : say(said[1][hole])));
}

const number = (value) => say(["table.number", { value }]);

const text = (name, holes = {}) => say([`page.${name}`, holes]);

/** Have an element say what the server said, now and after a change of language. */
function saying(made, said) {
  made.dataset.said = JSON.stringify(said);
  made.textContent = say(said);
  return made;
}

/** All texts of the page. */
function translateTexts() {
  document.documentElement.lang = language;
  languages.value = language;
  languages.parentElement.hidden = false;
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = text(one.dataset.text);
  for (const one of document.querySelectorAll("[data-said]")) saying(one, JSON.parse(one.dataset.said));
  for (const one of document.querySelectorAll("[data-label]")) {
    one.setAttribute("aria-label", say(JSON.parse(one.dataset.label)));
  }
}

languages.addEventListener("change", () => speak(languages.value));
