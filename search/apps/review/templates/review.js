// Chooses the deal and the language, and leaves out decisions that cost less than what is asked.
const chooser = document.getElementById("deal");
const least = document.getElementById("least");

function choose() {
  const number = Number(chooser.value);
  history.replaceState(null, "", `#deal=${number}&step=1`);
  show();
}

function leaveOut() {
  for (const section of document.querySelectorAll(".step")) {
    section.classList.toggle("left-out", Number(section.dataset.cost) < Number(least.value));
  }
  go(1);
}

// A link to a decision shows it, whatever was left out.
function followed(event) {
  least.value = 0;
  for (const section of document.querySelectorAll(".step")) section.classList.remove("left-out");
  location.hash = event.currentTarget.getAttribute("href");
  event.preventDefault();
}

/** Deals are chosen by their headlines; options cannot hold names of people apart from texts. */
function translate() {
  translateTexts();
  document.title = `${document.querySelector("h1").textContent} - Kibitz`;
  for (const option of chooser?.options ?? []) {
    const headline = deals[option.index].querySelector("h3").textContent;
    option.textContent = `${headline}, ${say(["review.lost", { points: option.dataset.lost }])}`;
  }
}

// The table whose page this is a part of says its language.
addEventListener("message", ({ data }) => {
  if (Object.hasOwn(texts, data?.language)) speak(data.language);
});

if (chooser) {
  for (const link of document.querySelectorAll("main a[href^='#deal=']")) link.addEventListener("click", followed);
  chooser.addEventListener("change", choose);
  least.addEventListener("input", leaveOut);
  addEventListener("hashchange", () => { chooser.value = place().deal; });
  chooser.value = place().deal;
}
translate();
