// Chooses the player, the deal and the language, and leaves out decisions that cost less than what is asked.
const chooser = document.getElementById("deal");
const least = document.getElementById("least");
const player = document.getElementById("player");
const links = [...document.querySelectorAll("main a[href^='#deal=']")];

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

/** A link to a decision shows it, whatever was left out. */
function follow(link) {
  least.value = 0;
  for (const section of document.querySelectorAll(".step")) section.classList.remove("left-out");
  history.replaceState(null, "", link.getAttribute("href"));
  show();
}

/** Mark the decision that is shown, and its deal. */
function here() {
  chooser.value = place().deal;
  for (const link of links) link.classList.toggle("here", link.getAttribute("href") === location.hash);
}

/** Leave the decisions and deals of one player, or of all, and show the costliest. */
function choosePlayer() {
  for (const one of document.querySelectorAll("#costliest li, #deal option, .tile")) {
    one.hidden = player.value !== "" && one.dataset.player !== player.value;
  }
  const link = links.find((one) => one.closest("#costliest li:not([hidden])"));
  const deal = [...chooser.options].find((one) => !one.hidden);
  if (link) follow(link);
  else if (deal) {
    chooser.value = deal.value;
    choose();
  }
}

/** Deals are chosen by their headlines and what was lost in them. */
function translate() {
  translateTexts();
  dressAll();
  document.title = `${document.querySelector("h1").textContent} - Kibitz`;
  for (const option of chooser?.options ?? []) {
    const headline = deals[option.index].querySelector("h3").textContent;
    option.textContent = `${headline}, ${option.textContent}`;
  }
}

// The table whose page this is a part of says its language.
addEventListener("message", ({ data }) => {
  if (Object.hasOwn(texts, data?.language)) speak(data.language);
});

if (chooser) {
  for (const link of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      follow(link);
    });
  }
  chooser.addEventListener("change", choose);
  least.addEventListener("input", leaveOut);
  player?.addEventListener("change", choosePlayer);
  addEventListener("shown", here);
  if (!location.hash && links.length) follow(links[0]);
  here();
}
document.querySelector(".top").hidden = parent !== window; // a table has its own
translate();
