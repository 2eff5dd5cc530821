// The report: how good the groups are, and which of them to look at first.
import { make, number } from "./dom.js";

const WHAT = {
  score: ["Score", "neighbours that share an item's group at the levels, beyond chance; to compare taxonomies of the same items"],
  cohesion: ["Cohesion", "how much closer items of a group are than all items"],
  neighbors: ["Neighbours inside", "share of items' nearest neighbours that are in their group"],
  confusion: ["Confusion", "share that is in a sibling"],
  coherence: ["Coherence of keywords", "how often the keywords of a group come together"],
  name_items: ["Names that fit", "share of items nearer to the name of their group than to a sibling's"],
  duplicates: ["Repeated items", "share of items that repeat another"],
};

export async function showReport(element, source, go) {
  element.replaceChildren(make("h2", {}, "Report"), make("p", { class: "note", role: "status" }, "Measuring…"));
  const { overall, look_first: looks } = await source.report();
  const rows = Object.entries(WHAT).filter(([key]) => typeof overall[key] === "number").map(([key, [name, why]]) =>
    make("tr", {}, make("th", { scope: "row" }, name, make("small", {}, why)), make("td", { class: "n" }, overall[key].toFixed(2))));
  const list = looks.map((look) => make("li", {}, make("button", { type: "button", onclick: () => go(look.id) }, look.name, ...look.reasons.map((reason) => make("small", {}, reason)))));
  element.replaceChildren(make("h2", {}, "Report"),
    make("p", { class: "facts" }, `${number(overall.n_items)} items in ${number(overall.n_groups)} groups${overall.n_measured < overall.n_items ? `, measured on ${number(overall.n_measured)}` : ""}`),
    make("h3", {}, "Look at these first"), list.length ? make("ul", { class: "rows looks" }, ...list) : make("p", {}, "No group stands out."),
    make("h3", {}, "All groups together"), make("table", { class: "values" }, make("tbody", {}, ...rows)));
}
