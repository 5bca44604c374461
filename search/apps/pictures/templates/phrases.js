// The texts of a page in the language of its reader. What the server says is English; other languages have phrases in
// their file: texts, and patterns with holes, `{0}` for anything, `{1#}` for a number and `{2=}` for what stays as it
// is. What stands in another hole is translated in the same way. Names that people chose are never given to `phrase`.
// A page has a function `translate`, which is called when its language changes.

const HOLE = /\{(\d)([#=]?)\}/g;
const JOINT = " · "; // between lines that the server joins; no phrase reaches over it
const LONGEST = 200; // letters of a text with holes; what is longer came from a file, and would be tried for ever
const texts = JSON.parse(document.getElementById("texts").textContent);
const languages = document.getElementById("language");
const phrasebooks = {};
const preferred = (navigator.language || "en").startsWith("de") ? "de" : "en";
let language = Object.hasOwn(texts, kept()) ? kept() : preferred;
let unphrased = (said) => said.replace(/[JQ](?=[♦♥♠♣])/g, text); // cards, numbers; tests ask here what has no phrase

const text = (key) => texts[language][key] ?? key;

/** The language that was chosen before, or now; browsers keep nothing for some files and frames. */
function kept(chosen) {
  try {
    if (chosen) localStorage.language = chosen;
    return localStorage.language;
  } catch {
    return undefined;
  }
}

function speak(chosen) {
  language = chosen;
  kept(chosen);
  translate();
}

/** The phrases of a language for this page; of its patterns the longest come first, as they say most. */
function phrasebook(language) {
  const groups = document.body.dataset.phrases.split(" ").map((group) => texts[language].phrases?.[group]);
  const all = Object.assign({}, ...groups);
  const length = (pattern) => pattern.replace(HOLE, "").length;
  const patterns = Object.keys(all).filter((one) => one.includes("{"));
  patterns.sort((one, other) => length(other) - length(one));
  const compiled = patterns.map((pattern) => {
    const plain = pattern.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
    const hole = (_, number, kind) => (kind === "#" ? "([-+]?\\d+(?:\\.\\d+)?)" : "(.+?)");
    return [new RegExp(`^${plain.replace(HOLE, hole)}$`), all[pattern]];
  });
  return { exact: new Map(Object.entries(all)), compiled };
}

function phrase(said) {
  if (said.includes(JOINT)) return said.split(JOINT).map(phrase).join(JOINT);
  const { exact, compiled } = (phrasebooks[language] ??= phrasebook(language));
  if (exact.has(said)) return exact.get(said);
  if (said.length > LONGEST) return unphrased(said);
  for (const [pattern, meant] of compiled) {
    const found = pattern.exec(said);
    const filled = (_, hole, kind) => (kind === "=" ? found[Number(hole) + 1] : phrase(found[Number(hole) + 1]));
    if (found) return meant.replace(HOLE, filled);
  }
  return unphrased(said);
}

/** Have an element say what the server said, now and after a change of language. */
function saying(made, said) {
  made.dataset.phrase = said;
  made.textContent = phrase(said);
  return made;
}

/** All texts of the page, and what stands in elements with an empty `data-phrase`. */
function translateTexts() {
  document.documentElement.lang = language;
  languages.value = language;
  languages.parentElement.hidden = false;
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = text(one.dataset.text);
  for (const one of document.querySelectorAll("[data-phrase]")) {
    saying(one, one.dataset.phrase || one.textContent.trim().replace(/\s+/g, " "));
  }
}

languages.addEventListener("change", () => speak(languages.value));
