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

{% include "deals.js" %}

// ---- a page that is served

const version = document.body.dataset.version;
if (version) {
  const look = async () => {
    try {
      if (await (await fetch("version")).text() !== version) location.reload();
    } catch {
      document.getElementById("live").textContent = "The server has ended; this is the run as it was then.";
    }
    setTimeout(look, 5000);  // behind the answer: a storage may be slow
  };
  setTimeout(look, 5000);
}
