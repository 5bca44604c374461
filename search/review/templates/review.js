// Chooses the deal, and leaves out decisions that cost less than what is asked.
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

if (chooser) {
  chooser.addEventListener("change", choose);
  least.addEventListener("input", leaveOut);
  addEventListener("hashchange", () => { chooser.value = place().deal; });
  chooser.value = place().deal;
}
