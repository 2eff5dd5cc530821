// Dialogs: what can be taken away, how two trees compare, and the keys.
import { ask, items, make, number, percent } from "./dom.js";
import { SvgContext } from "./svg.js";

const clip = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

// Files of the whole, of the selected part, and of the items that pass the filters.
export function exportDialog({ source, embedded, cut, filter, selected, canvas, title, view, size, paint }) {
  const link = (text, what) => make("li", {}, make("a", { href: source.exportUrl(what), download: "" }, text)), only = filter ? { filter } : {}, of = filter ? ", of the items that pass the filters" : "";
  const keep = (blob, ending) => {
    const url = URL.createObjectURL(blob), name = title.replace(/[^\w-]+/g, "-").slice(0, 60) || "cladify";
    make("a", { href: url, download: `${name}-${view}.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const svg = () => {
    const sheet = new SvgContext(...size, document.createElement("canvas").getContext("2d"));
    paint(sheet, ...size);
    return new Blob([sheet.toString()], { type: "image/svg+xml" });
  };
  ask("Export", () => [make("ul", { class: "rows" },
    ...(embedded ? [] : [
      link(`Labels of this cut, CSV${of}`, { what: "labels", format: "csv", ...cut, ...only }),
      link(`Labels of this cut, Parquet${of}`, { what: "labels", format: "parquet", ...cut, ...only }),
      link(`Table of all levels, CSV${of}`, { what: "table", format: "csv", ...only }),
      link(`Table of all levels, Parquet${of}`, { what: "table", format: "parquet", ...only }),
      link("Whole tree, Newick", { what: "newick" }),
      link("Whole tree, nested JSON", { what: "json" }),
      ...(selected?.parent && selected.kids ? [
        link(`“${clip(selected.name)}” and below, Newick`, { what: "newick", node: selected.id }),
        link(`“${clip(selected.name)}” and below, nested JSON`, { what: "json", node: selected.id }),
      ] : []),
    ]),
    make("li", {}, make("button", { type: "button", onclick: () => canvas.toBlob((blob) => keep(blob, "png")) }, "This picture, PNG")),
    make("li", {}, make("button", { type: "button", onclick: () => keep(svg(), "svg") }, "This picture, SVG")))]);
}

export async function compareDialog(source, id, flow) {
  const data = await source.compare(id);
  ask(`Compared with ${data.other}`, (close) => [
    make("div", { class: "actions" }, make("button", { type: "button", id: "flow", onclick: () => { close(); flow(); } }, "All groups side by side")),
    make("p", {}, `Agreement of the two trees: ${data.agreement.map(({ name, value }) => `${name} ${value.toFixed(3)}`).join(", ")}.`),
    make("p", { class: "note" }, data.size === 1 ? `Where “${data.name}” is in the other tree:` : `Where the ${items(data.size)} of “${data.name}” are in the other tree:`),
    make("table", {}, make("thead", {}, make("tr", {}, ...["Its cluster there, by some of the items", "Shared, of its size", "Share"].map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, ...data.rows.map((row) => make("tr", {}, make("td", {}, row.name), make("td", { class: "n" }, `${number(row.shared)} of ${number(row.size)}`),
      make("td", { class: "n" }, percent(row.share)))))),
  ]);
}

export function helpDialog() {
  const keys = [["Click", "select a cluster and zoom in"], ["Wheel, pinch, + −", "zoom"], ["Drag", "move"], ["Lasso, or Shift and drag", "select items of the map"], ["Arrow keys", "parent, first part, siblings"],
    ["Enter / Escape", "zoom in / out"], ["Home", "the whole tree"], ["/", "search"], ["Ctrl Z", "undo an edit"]];
  ask("Keys and gestures", () => [make("dl", {}, ...keys.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]))]);
}
