// A lasso around points of the map: what is in it as a list, as a file, and moved into a group.
import { ask, byId, items, make, number } from "./dom.js";

const CORNERS = 60, LASSO_PAGE = 50;

export class Lasso {
  constructor(map, source, { edit, go, filter, list }) {
    Object.assign(this, { map, source, edit, go, filter, list, on: false, path: null });
    byId("lasso").addEventListener("click", () => this.turn(!this.on));
  }

  turn(on) {
    this.on = on;
    if (!on) this.path = this.map.lasso = null;
    byId("lasso").setAttribute("aria-pressed", String(on));
    byId("stage").classList.toggle("drawing", on);
  }

  begin(x, y) { this.path = this.map.lasso = [this.map.plane(x, y)]; }
  add(x, y) { this.path?.push(this.map.plane(x, y)); }

  async end() {
    const path = this.path ?? [], step = Math.max(1, Math.ceil(path.length / CORNERS)), corners = path.filter((_, i) => i % step === 0);
    if (corners.length < 3) return this.turn(false);
    const where = { polygon: corners.flat().map((value) => Number(value.toPrecision(9))).join(","), ...(this.filter() ? { filter: this.filter() } : {}) };
    await this.show(where);
  }

  async show(where) {
    const found = await this.source.selection(where), panel = byId("lassoed");
    const list = make("ul", { class: "rows" }), more = make("button", { type: "button" }, "Show more");
    let offset = 0;
    const add = (page) => {
      list.append(...page.items.map((item) => make("li", {}, this.list(item))));
      offset += page.items.length;
      more.hidden = offset >= found.total;
    };
    add(found);
    more.addEventListener("click", async () => add(await this.source.selection({ ...where, offset, limit: LASSO_PAGE })));
    const link = (text, format) => make("a", { href: this.source.exportUrl({ what: "table", format, ...where }), download: "" }, text);
    const close = make("button", { type: "button", onclick: () => this.turn(false) }, "Let go");
    panel.replaceChildren(make("h2", {}, `${items(found.total)} in the lasso`),
      make("div", { class: "actions" }, ...(found.total ? [link("As CSV", "csv"), link("As Parquet", "parquet")] : []), ...(this.source.canWrite && found.total ? [make("button", { type: "button", onclick: () => this.move(where, found.total) }, "Move to…")] : []), close),
      ...(found.groups.length ? [make("h3", {}, "They are in"), make("ul", { class: "rows" }, ...found.groups.map((group) => make("li", {}, make("button", { type: "button", onclick: () => this.go(group.id) }, group.name, " ", make("small", {}, `${number(group.count)} of its ${number(group.size)}`), make("span", { class: "bar", "width-share": group.share })))))] : []),
      make("h3", {}, "Items"), list, more);
    this.shown();
  }

  move(where, total) {
    ask(`Move ${items(total)} into which group?`, (close) => {
      const list = make("ul", { class: "rows" });
      const input = make("input", { type: "text", id: "target", autofocus: true, oninput: async () => {
        if (!input.value.trim()) return;
        const { results } = await this.source.search(input.value);
        list.replaceChildren(...results.filter((hit) => hit.row === undefined).slice(0, 12).map((hit) => make("li", {},
          make("button", { type: "button", onclick: () => { close(); this.turn(false); this.edit({ op: "move", ...where, to: hit.node }); } }, hit.text))));
      } });
      return [make("label", { for: "target" }, "Name of the group "), input, list];
    });
  }
}
