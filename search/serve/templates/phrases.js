// What the server says, in the language of the page. The server speaks English; other languages have phrases in their
// file: texts, and patterns with holes, `{0}` for anything and `{1#}` for a number. What stands in a hole is translated
// in the same way. Names that people chose are never given to `phrase`.

const HOLE = /\{(\d)(#?)\}/g;
const JOINT = " · "; // between lines that the server joins; no phrase reaches over it
const phrasebooks = {};
let unphrased = (said) => said.replace(/[JQ](?=[♦♥♠♣])/g, text); // cards, numbers; tests ask here what has no phrase

/** The phrases of a language for this game; of its patterns the longest come first, as they say most. */
function phrasebook(language) {
  const { common, [document.body.dataset.game]: own } = texts[language].phrases ?? {};
  const all = { ...common, ...own };
  const length = (pattern) => pattern.replace(HOLE, "").length;
  const patterns = Object.keys(all).filter((one) => one.includes("{"));
  patterns.sort((one, other) => length(other) - length(one));
  const compiled = patterns.map((pattern) => {
    const plain = pattern.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
    return [new RegExp(`^${plain.replace(HOLE, (_, hole, number) => (number ? "(-?\\d+)" : "(.+?)"))}$`), all[pattern]];
  });
  return { exact: new Map(Object.entries(all)), compiled };
}

function phrase(said) {
  if (said.includes(JOINT)) return said.split(JOINT).map(phrase).join(JOINT);
  const { exact, compiled } = (phrasebooks[language] ??= phrasebook(language));
  if (exact.has(said)) return exact.get(said);
  for (const [pattern, meant] of compiled) {
    const found = pattern.exec(said);
    if (found) return meant.replace(HOLE, (_, hole) => phrase(found[Number(hole) + 1]));
  }
  return unphrased(said);
}

/** Have an element say what the server said, now and after a change of language. */
function saying(made, said) {
  made.dataset.phrase = said;
  made.textContent = phrase(said);
  return made;
}
