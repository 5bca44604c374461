// The lobby, which opens a table, what a person chose once, and how the page begins.

async function lobby() {
  const about = await (await fetch("about")).json();
  const quiet = (said) => saying(h("span", { class: "quiet" }), said);
  for (const [name, { rating }] of Object.entries(about.levels)) {
    const share = Math.round(100 / (1 + 10 ** (-rating / 400)));
    $("levels").append(h("label", {},
      h("input", { type: "radio", name: "level", value: name, checked: name === about.first }),
      saying(h("b"), level(name)), h("span", { class: "bar", style: `--share: ${rating === null ? 0 : share}%` }),
      quiet(Object.hasOwn(texts.en.levels, name) ? [`levels.${name}`, {}] : ""),
      rating ? quiet(["page.strength", { share }]) : ""));
    $("rival").append(saying(h("option", { value: name, selected: name === about.first }), level(name)));
  }
  const task = () => saying($("rules"), about.missions[$("mission").value - 1] ?? ["page.any_mission", {}]);
  $("chapter").hidden = !about.missions.length;
  $("mission").max = about.missions.length;
  if (about.missions.length) task();
  else $("mission").value = 0;
  $("mission").addEventListener("input", task);
  $("people").max = about.seats;
  $("open").prepend($("who"));
  $("lobby").hidden = false;
  $("name").focus();
}

$("open").addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = { level: event.target.elements.level.value, rival: $("rival").value, training: $("training").checked };
  for (const id of ["people", "deals", "mission"]) asked[id] = Number($(id).value);
  const headers = { "Content-Type": "application/json", "X-Kibitz-Key": key ?? "" };
  const response = await fetch("tables", { method: "POST", headers, body: JSON.stringify(asked) });
  if (!response.ok) {
    saying($("refused"), await refusal(response));
    return;
  }
  const { table, seats, watch } = await response.json();
  const [mine, ...others] = Object.values(seats);
  kept("links", JSON.stringify({ table, others, watch }), "sessionStorage");
  location.hash = `table=${table}&seat=${mine}`;
});

/** The links to send, of who opened the table; each can be copied. */
function invite(table) {
  const opened = JSON.parse(kept("links", undefined, "sessionStorage") ?? "{}");
  if (opened.table !== table) return;
  const base = `${location.origin}${location.pathname}#table=${table}`;
  const line = (what, seat) => {
    const link = h("input", { readonly: true, value: `${base}&seat=${seat}` }), copy = label("button", "copy");
    copy.addEventListener("click", () => {
      link.select();
      document.execCommand("copy");
      copy.textContent = text("copied");
    });
    return h("div", {}, h("label", {}, label("span", what), link), copy);
  };
  $("links").replaceChildren(...opened.others.map((seat) => line("invite_seat", seat)), line("watchers", opened.watch));
  $("invite").hidden = false;
  $("invite").open = opened.others.length > 0;
}

/** What a person chose once stays. */
$("twice").checked = matchMedia("(pointer: coarse)").matches;
for (const id of ["speed", "four", "twice", "name"]) {
  const box = $(id), ticked = box.type === "checkbox", before = kept(id);
  const keep = () => document.body.classList.toggle("four", $("four").checked);
  if (before !== undefined && ticked) box.checked = before === "1";
  else if (before !== undefined) box.value = before;
  box.addEventListener("change", () => {
    kept(id, ticked ? (box.checked ? "1" : "") : box.value);
    keep();
  });
  keep();
}
const key = kept("key", fragment().get("key") || undefined, "sessionStorage");
$("home").setAttribute("href", key ? `#key=${encodeURIComponent(key)}` : "#");
addEventListener("hashchange", () => location.reload());
translate();
if (fragment().get("table")) {
  invite(fragment().get("table"));
  sit();
  $("settings").open = !$("name").value && $("invite").hidden;
} else lobby();
