// Steps through deals, but those that are left out: "#deal=2&step=5" is the fifth step of the second one

const deals = [...document.querySelectorAll("#deals .deal")];
const slider = document.getElementById("step");

function clamped(text, most) {
  return Math.min(Math.max(Number.parseInt(text, 10) || 1, 1), most);
}

function place() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const deal = clamped(asked.get("deal"), deals.length);
  const steps = deals[deal - 1].querySelectorAll(".step:not(.left-out)");
  return { deal, steps, step: clamped(asked.get("step"), steps.length) };
}

function show() {
  const { deal, steps, step } = place();
  deals.forEach((article, i) => { article.hidden = i !== deal - 1; });
  deals[deal - 1].querySelectorAll(".step").forEach((section) => { section.hidden = section !== steps[step - 1]; });
  document.querySelectorAll("#deals nav a").forEach((link, i) => link.classList.toggle("here", i === deal - 1));
  slider.max = steps.length;
  slider.value = step;
  document.getElementById("where").textContent = `${step} / ${steps.length}`;
  dispatchEvent(new Event("shown"));
}

function go(step) {
  history.replaceState(null, "", `#deal=${place().deal}&step=${step}`);
  show();
}

if (deals.length) {
  document.getElementById("back").addEventListener("click", () => go(place().step - 1));
  document.getElementById("on").addEventListener("click", () => go(place().step + 1));
  slider.addEventListener("input", () => go(slider.value));
  document.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by && event.target !== slider && !event.altKey && !event.ctrlKey && !event.metaKey) go(place().step + by);
  });
  addEventListener("hashchange", show);
  show();
}
