// Columns of the items: what the points are coloured by, and filters beside the map. The bars of a column count the items
// that pass the filters of all the others.
import { binColor, css } from "./colors.js";
import { byId, debounce, items, make, number } from "./dom.js";

const FEW = 8; // values of a category that are listed at first

export class ColumnPanel {
  constructor(source, meta, { dark, changed, colored }) {
    Object.assign(this, { source, dark, changed, colored, chosen: new Map(), by: null, counts: null, open: new Set() });
    this.ask = debounce(60, () => this.count().catch(() => {}));
    this.start(meta);
  }

  start(meta) {
    this.columns = meta.columns ?? [];
    this.total = meta.n;
    byId("colorby").replaceChildren(make("option", { value: "" }, "group"), ...this.columns.map((column, i) => make("option", { value: i }, column.name)));
    byId("colorby").value = this.by ?? "";
  }

  // Filters as they stand in an address: column:bin.bin,column:bin
  get filter() {
    return [...this.chosen].filter(([, bins]) => bins.size).map(([i, bins]) => `${i}:${[...bins].sort((a, b) => a - b).join(".")}`).join(",");
  }

  set filter(text) {
    this.chosen = new Map((text ?? "").split(",").filter((part) => /^\d+:[\d.]+$/.test(part)).map((part) => part.split(":")).map(([i, bins]) => [Number(i), new Set(bins.split(".").map(Number))]));
    for (const i of this.chosen.keys()) if (i >= this.columns.length) this.chosen.delete(i);
  }

  get column() { return this.by === null ? null : this.columns[this.by]; }

  async count() {
    if (!this.columns.length) return;
    const filter = this.filter, answer = await this.source.counts(filter);
    if (filter !== this.filter) return;
    this.counts = answer;
    this.whole ??= filter ? await this.source.counts("") : answer;
    this.show();
  }

  colorBy(index) {
    this.by = index;
    byId("colorby").value = index ?? "";
    this.colored();
    this.show();
  }

  choose(index, bins) {
    if (bins?.size) this.chosen.set(index, bins);
    else this.chosen.delete(index);
    this.changed();
    this.ask();
  }

  clear() {
    this.chosen.clear();
    this.changed();
    this.ask();
  }

  show() {
    const filtered = byId("filtered"), counts = this.counts;
    filtered.hidden = !this.filter || !counts;
    if (!counts) return;
    filtered.replaceChildren(`${number(counts.total)} of ${items(this.whole.total)} pass the filters `, make("button", { type: "button", onclick: () => this.clear() }, "Show all"));
    const held = document.activeElement?.dataset?.key, parts = this.columns.map((column, i) => this.section(column, i));
    byId("columns").replaceChildren(make("h2", {}, "Columns"), make("p", { class: "note" }, counts.sample ? "Counts of the items in this file." : "Click or drag over bars to show only those items."), ...parts);
    if (held) byId("columns").querySelector(`[data-key="${held}"]`)?.focus();
  }

  section(column, i) {
    const head = make("h3", {}, column.name), tools = make("div", { class: "actions small" },
      make("button", { type: "button", "data-key": `c${i}`, "aria-pressed": String(this.by === i), onclick: () => this.colorBy(this.by === i ? null : i) }, "Colour by it"));
    if (this.chosen.get(i)?.size) tools.append(make("button", { type: "button", "data-key": `x${i}`, onclick: () => this.choose(i) }, "Clear"));
    return make("section", { class: "column", "aria-label": column.name }, head, column.kind === "category" ? this.rows(column, i) : this.bars(column, i), tools);
  }

  paint(i, bin) {
    return css(binColor(this.by === i ? this.columns[i] : { kind: "category", bins: ["all"] }, this.by === i ? bin : 0, this.dark()));
  }

  // Categories: a row a value, with all of it behind what passes.
  rows(column, i) {
    const now = this.counts.columns[i], all = this.whole.columns[i], bins = this.chosen.get(i) ?? new Set(), most = Math.max(...all, 1);
    const order = [...column.bins.keys(), ...(all.at(-1) ? [255] : [])], shown = this.open.has(i) ? order : order.slice(0, FEW);
    const toggle = (bin) => {
      const next = new Set(bins);
      if (!next.delete(bin)) next.add(bin);
      this.choose(i, next);
    };
    const list = make("ul", { class: "rows bins" }, ...shown.map((bin) => {
      const at = bin === 255 ? column.bins.length : bin, bar = make("span", { class: "bar" }), back = make("span", { class: "bar all", "width-share": all[at] / most }, bar);
      bar.style.width = `${(100 * now[at]) / Math.max(1, all[at])}%`;
      bar.style.background = this.paint(i, bin);
      return make("li", {}, make("button", { type: "button", "data-key": `${i}-${bin}`, "aria-pressed": String(bins.has(bin)), onclick: () => toggle(bin) },
        make("span", { class: "name" }, bin === 255 ? "no value" : column.bins[bin]), make("small", {}, number(now[at])), back));
    }));
    if (order.length > shown.length) list.append(make("li", {}, make("button", { type: "button", class: "more", onclick: () => { this.open.add(i); this.show(); } }, `${order.length - shown.length} more`)));
    return list;
  }

  // Numbers and times: bars to drag over, and two sliders that do the same.
  bars(column, i) {
    const now = this.counts.columns[i], all = this.whole.columns[i], bins = this.chosen.get(i), n = column.bins.length, most = Math.max(...all.slice(0, n), 1);
    const picture = make("div", { class: "histogram", "aria-hidden": "true" }, ...column.bins.map((name, bin) => {
      const bar = make("span", { class: "part" }), back = make("span", { class: "whole-bar" }), cell = make("span", { class: "cell", title: `${name}: ${number(now[bin])} of ${number(all[bin])}` }, back, bar);
      back.style.height = `${(100 * all[bin]) / most}%`;
      bar.style.height = `${(100 * now[bin]) / most}%`;
      bar.style.background = this.paint(i, bin);
      if (bins && !bins.has(bin)) cell.classList.add("off");
      return cell;
    }));
    const low = bins?.size ? Math.min(...bins) : 0, high = bins?.size ? Math.max(...bins) : n - 1;
    const range = (a, b) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      this.choose(i, from === 0 && to === n - 1 ? null : new Set(Array.from({ length: to - from + 1 }, (_, k) => from + k)));
    };
    const binAt = (event) => {
      const box = picture.getBoundingClientRect();
      return Math.max(0, Math.min(n - 1, Math.floor(((event.clientX - box.left) / box.width) * n)));
    };
    let from = null;
    picture.addEventListener("pointerdown", (event) => { from = binAt(event); picture.setPointerCapture(event.pointerId); });
    picture.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = binAt(event);
      [...picture.children].forEach((cell, bin) => cell.classList.toggle("off", bin < Math.min(from, to) || bin > Math.max(from, to)));
    });
    picture.addEventListener("pointerup", (event) => { if (from !== null) range(from, binAt(event)); from = null; });
    const slider = (name, value, set) => make("input", { type: "range", min: 0, max: n - 1, value, "data-key": `${name}${i}`, "aria-label": `${column.name}, ${name}`, "aria-valuetext": column.bins[value], onchange: (event) => set(Number(event.target.value)) });
    return make("div", {}, picture, make("div", { class: "ends" }, make("span", {}, bins?.size ? column.bins[low].split(" to ")[0] : column.low), make("span", {}, bins?.size ? column.bins[high].split(" to ").at(-1) : column.high)),
      make("div", { class: "sliders" }, slider("from", low, (value) => range(value, high)), slider("to", high, (value) => range(low, value))));
  }

  // What the colours mean, for the legend: rows of a category, or the two ends of a scale.
  legend() {
    const column = this.column;
    if (column.kind !== "category") return { low: column.low, high: column.high, colors: column.bins.map((_, bin) => css(binColor(column, bin, this.dark()))) };
    return { rows: column.bins.slice(0, 12).map((name, bin) => ({ name, bin, count: this.counts?.columns[this.by]?.[bin], color: css(binColor(column, bin, this.dark())) })), more: column.bins.length - 12 };
  }
}
