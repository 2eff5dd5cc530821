// Two taxonomies side by side: a flow picture with names, and the same as a table.
import { clusterColor, css } from "./colors.js";
import { ask, items, make, number } from "./dom.js";
import { FACE, linesOf } from "./scene.js";

const FLOW_WIDE = 760, FLOW_ROW = 22, FLOW_GAP = 8, FLOW_BAR = 10, FLOW_TEXT = 240, FLOW_LINE = 15, FLOW_LINES = 3; // pixels; a row is high enough for its name

const shape = (name, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

const clipped = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

// The whole name in lines; of one that is made of long items, its beginning.
function written(context, name) {
  const lines = linesOf(context, name, FLOW_TEXT - 12);
  return lines.length > FLOW_LINES ? [...lines.slice(0, FLOW_LINES - 1), `${lines[FLOW_LINES - 1]}…`] : lines;
}

function label(lines, x, middle, attributes) {
  return shape("text", { x, y: middle, "dominant-baseline": "central", ...attributes }, ...lines.map((line, i) => shape("tspan", { x, y: middle + (i - (lines.length - 1) / 2) * FLOW_LINE }, line)));
}

const least = (lines) => Math.max(FLOW_ROW, FLOW_LINE * lines.length + 2);

// Bars of both sides: as tall as their share of the height, but never too low to read.
function column(groups, names, height) {
  const total = groups.reduce((sum, group) => sum + group.size, 0), spare = height - names.reduce((sum, lines) => sum + least(lines) + FLOW_GAP, 0);
  let y = 0;
  return groups.map((group, i) => {
    const h = least(names[i]) + Math.max(0, spare) * (group.size / Math.max(1, total)), bar = { y, h, used: 0, size: group.size };
    y += h + FLOW_GAP;
    return bar;
  });
}

export function flowPicture({ left, right, cells }, dark, go) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `13px ${FACE}`;
  const [mine, theirs] = [left, right].map((groups) => groups.map(({ name }) => written(context, name))), tall = (names) => names.reduce((sum, lines) => sum + least(lines) + FLOW_GAP, 40);
  const height = Math.max(380, tall(mine), tall(theirs)), a = column(left, mine, height), b = column(right, theirs, height);
  const from = FLOW_TEXT + FLOW_BAR, to = FLOW_WIDE - FLOW_TEXT - FLOW_BAR, picture = shape("svg", { viewBox: `0 0 ${FLOW_WIDE} ${height}`, class: "flows", role: "img", "aria-label": "Items that the groups of both sides share; the table below has the same numbers" });
  for (const [i, j, count] of [...cells].sort((p, q) => p[0] - q[0] || p[1] - q[1])) {
    const one = (a[i].h * count) / Math.max(1, a[i].size), two = (b[j].h * count) / Math.max(1, b[j].size), y = a[i].y + a[i].used, z = b[j].y + b[j].used, half = (from + to) / 2;
    a[i].used += one;
    b[j].used += two;
    picture.append(shape("path", { d: `M${from} ${y}C${half} ${y} ${half} ${z} ${to} ${z}L${to} ${z + two}C${half} ${z + two} ${half} ${y + one} ${from} ${y + one}Z`, fill: css(clusterColor(i, dark)), "fill-opacity": 0.4 },
      shape("title", {}, `${left[i].name} → ${right[j].name}: ${items(count)}`)));
  }
  left.forEach((group, i) => {
    const text = label(mine[i], FLOW_TEXT - 6, a[i].y + a[i].h / 2, { "text-anchor": "end" });
    if (group.id !== null && group.id !== undefined) { text.setAttribute("class", "link"); text.addEventListener("click", () => go(group.id)); }
    picture.append(shape("rect", { x: FLOW_TEXT, y: a[i].y, width: FLOW_BAR, height: a[i].h, fill: css(clusterColor(i, dark)) }), text);
  });
  right.forEach((group, j) => picture.append(shape("rect", { x: to, y: b[j].y, width: FLOW_BAR, height: b[j].h, class: "end" }),
    label(theirs[j], to + FLOW_BAR + 6, b[j].y + b[j].h / 2, {})));
  return picture;
}

// Shares of the rows as shades of the cells.
function crosstab({ left, right, cells }) {
  const count = left.map(() => right.map(() => 0));
  for (const [i, j, n] of cells) count[i][j] = n;
  const shown = right.map((_, j) => j).slice(0, 12);
  const cell = (i, j) => {
    const made = make("td", { class: "n" }, count[i][j] ? number(count[i][j]) : "");
    made.style.background = `color-mix(in srgb, var(--accent) ${Math.round((45 * count[i][j]) / Math.max(1, left[i].size))}%, transparent)`;
    return made;
  };
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Crosstab" }, make("table", { class: "crosstab" },
    make("thead", {}, make("tr", {}, make("td", {}), ...shown.map((j) => make("th", { scope: "col" }, clipped(right[j].name))), make("th", { scope: "col" }, "all"))),
    make("tbody", {}, ...left.map((group, i) => make("tr", {}, make("th", { scope: "row" }, group.name), ...shown.map((j) => cell(i, j)), make("td", { class: "n" }, number(group.size)))))));
}

export async function flowDialog(source, cut, dark, title, go) {
  const data = await source.flows(cut);
  ask(`${title} and ${data.other}`, (close) => [
    make("p", { class: "note" }, `Groups of this cut on the left, those of ${data.other} on the right; a band is the items that two of them share.`),
    flowPicture(data, dark, (id) => { close(); go(id); }), crosstab(data),
  ], "wide");
}
