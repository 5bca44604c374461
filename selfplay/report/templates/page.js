// Draws the charts, steps through the deals, and reloads a served page when its run has changed.
"use strict";

// ---- charts

function themed(layout) {
  const css = getComputedStyle(document.documentElement);
  const colour = (name) => css.getPropertyValue(name).trim();
  const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--quiet") };
  return {
    ...layout,
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    font: { color: colour("--ink"), size: 12 },
    hoverlabel: { bgcolor: colour("--paper"), bordercolor: colour("--line") },
    xaxis: { ...layout.xaxis, ...axis },
    yaxis: { ...layout.yaxis, ...axis },
  };
}

function drawCharts() {
  for (const figure of document.querySelectorAll("figure")) {
    const { data, layout } = JSON.parse(figure.querySelector("script").textContent);
    const options = { responsive: true, displaylogo: false, displayModeBar: false };
    Plotly.react(figure.querySelector(".plot"), data, themed(layout), options);
  }
}

drawCharts();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawCharts);

// ---- deals: "#deal=2&step=5" is the fifth step of the second one

const deals = [...document.querySelectorAll("#deals .deal")];
const slider = document.getElementById("step");

function clamped(text, most) {
  return Math.min(Math.max(Number.parseInt(text, 10) || 1, 1), most);
}

function place() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const deal = clamped(asked.get("deal"), deals.length);
  const steps = deals[deal - 1].querySelectorAll(".step");
  return { deal, steps, step: clamped(asked.get("step"), steps.length) };
}

function show() {
  const { deal, steps, step } = place();
  deals.forEach((article, i) => { article.hidden = i !== deal - 1; });
  steps.forEach((section, i) => { section.hidden = i !== step - 1; });
  document.querySelectorAll("#deals nav a").forEach((link, i) => link.classList.toggle("here", i === deal - 1));
  slider.max = steps.length;
  slider.value = step;
  document.getElementById("where").textContent = `step ${step} of ${steps.length}`;
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

// ---- a page that is served

const version = document.body.dataset.version;
if (version) {
  setInterval(async () => {
    try {
      if (await (await fetch("version")).text() !== version) location.reload();
    } catch {
      document.getElementById("live").textContent = "The server has ended; this is the run as it was then.";
    }
  }, 5000);
}
