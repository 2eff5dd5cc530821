// The card of a cluster: what it is about, who is in it, what it splits into, and what can be done with it.
import { ask, items, make, number, percent } from "./dom.js";

const PAGE = 50;

export class Card {
  constructor(element, source, meta, actions) {
    Object.assign(this, { element, source, meta, actions });
    this.turn = 0;
  }

  async show(node) {
    const turn = ++this.turn;
    const data = await this.source.card(node.id);
    if (turn !== this.turn) return; // a later click was answered first
    data.groups = (data.children ?? []).filter((child) => child.size > 1); // single items are in the list of all items
    const about = [
      make("h2", {}, data.name),
      make("p", { class: "facts" }, this.facts(data)),
      this.buttons(node, data),
    ];
    if (data.text && data.text !== data.name) about.push(make("p", { class: "whole" }, data.text));
    if (data.leaf) about.push(...await this.leaf(node, data));
    if (turn !== this.turn) return;
    if (data.note) about.push(make("p", { class: "note" }, data.note));
    data.groups.sort((a, b) => b.size - a.size);
    const parts = data.groups.length ? [make("h3", {}, `Parts (${number(data.groups.length)})`), this.parts(data)] : [];
    if (!node.parent) about.push(...parts); // nothing sets the whole apart; what it is made of says more
    if (data.terms?.length && node.parent) {
      about.push(make("h3", {}, "What sets it apart"), make("ul", { class: "terms" }, ...data.terms.map((term) => make("li", {}, term))));
    }
    if (data.also?.length) {
      about.push(make("h3", {}, "Also in"), this.list(data.also.map((other) => this.nodeButton(other, other.note))));
    }
    about.push(...this.examples(node.parent ? "Central items" : "Some of the items", data.central), ...(node.parent ? this.examples("At the border", data.boundary) : []));
    if (data.classes?.length && !data.leaf) about.push(make("h3", {}, "Labels"), this.bars(data.classes));
    if (node.parent) about.push(...parts);
    if (!data.leaf) about.push(this.pages(node, data));
    this.element.replaceChildren(...about);
    this.element.scrollTop = 0;
    this.actions.shown?.();
  }

  facts(data) {
    if (data.share === 1) return items(data.size);
    const share = data.share === undefined ? "" : `, ${percent(data.share)} of all`;
    const cohesion = data.cohesion === undefined || data.cohesion === null ? "" : `, cohesion ${data.cohesion.toFixed(2)}`; // the share of all spread that is not in it
    const height = data.height ? `, height ${Number(data.height.toPrecision(3))}` : "";
    return items(data.size) + share + height + cohesion;
  }

  // An item: its class, its picture, and what is most like it.
  async leaf(node, data) {
    const found = [];
    if (this.meta.images) found.push(make("div", { class: "thumbs large" }, this.thumb({ row: data.row, text: data.name })));
    if (data.columns?.length) found.push(make("table", { class: "values" }, make("tbody", {}, ...data.columns.map(({ name, value }) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value))))));
    if (this.meta.vectors) {
      const { results } = await this.source.like(data.row);
      found.push(make("h3", {}, "Most like it"), this.list(results.slice(0, 8).map((other) =>
        make("span", { class: "item" }, ...(this.meta.images ? [make("span", { class: "thumb" }, this.thumb(other)), " "] : []), make("button", { type: "button", class: "text", onclick: () => this.actions.go(other.node, other.row) }, other.text), " ", make("small", {}, other.path)))));
    }
    return found;
  }

  list(rows) {
    return make("ul", { class: "rows" }, ...rows.map((row) => make("li", {}, row)));
  }

  nodeButton(record, extra) {
    return make("button", { type: "button", onclick: () => this.actions.go(record.id) }, record.name, " ", make("small", {}, extra));
  }

  // Items are texts, or pictures where the server has thumbnails of them.
  examples(title, list) {
    if (!list?.length) return [];
    if (this.meta.images) return [make("h3", {}, title), make("ul", { class: "thumbs" }, ...list.map((item) => make("li", {}, this.thumb(item))))];
    return [make("h3", {}, title), this.list(list.map((item) => this.item(item)))];
  }

  thumb(item) {
    const url = this.source.imageUrl(item.row ?? item.picture);
    if (!url) return make("span", { class: "note" }, item.text);
    const image = make("img", { src: url, alt: item.text, loading: "lazy", title: item.text });
    image.addEventListener("error", () => image.replaceWith(make("span", { class: "note" }, item.text)));
    return image;
  }

  item(item) {
    const line = make("span", { class: "item" });
    if (this.meta.images && (item.row ?? item.picture) !== undefined) line.append(make("span", { class: "thumb" }, this.thumb(item)), " ");
    line.append(item.row === undefined ? item.text : make("button", { type: "button", class: "text", onclick: () => this.actions.go(item.row, item.row) }, item.text));
    if (item.label !== undefined) line.append(" ", make("small", {}, String(item.label)));
    if (item.row !== undefined && this.meta.vectors) {
      line.append(" ", make("button", { type: "button", class: "like", onclick: () => this.like(item) }, "more like this"));
    }
    return line;
  }

  async like(item) {
    const { results } = await this.source.like(item.row);
    ask("More like this", (close) => [
      make("p", { class: "note" }, item.text),
      this.list(results.map((other) => make("button", { type: "button", onclick: () => { close(); this.actions.go(other.node, other.row); } }, other.text))),
    ]);
  }

  bars(rows) {
    return this.list(rows.map((row) => make("span", { class: "item" }, row.name, " ", make("small", {}, `${number(row.count)}, ${percent(row.share)}`),
      make("span", { class: "bar", "width-share": row.share }))));
  }

  parts(data) {
    const rows = data.groups.map((child) => make("button", { type: "button", onclick: () => this.actions.go(child.id) },
      make("span", { class: "dot", "data-node": child.id, "aria-hidden": "true", hidden: true }), child.name, " ", make("small", {}, items(child.size)), make("span", { class: "bar", "width-share": child.size / data.size })));
    const alone = data.alone ?? data.children.length - data.groups.length;
    if (alone) rows.push(make("span", { class: "item note" }, `and ${items(alone)} in no part`));
    return this.list(rows);
  }

  buttons(node, data) {
    const row = make("div", { class: "actions" });
    const add = (text, action) => row.append(make("button", { type: "button", onclick: action }, text));
    if (node.parent) add("Zoom in here", () => this.actions.zoom(node));
    if (this.meta.below && data.leaf) add("Open this group", () => { location.href = `below/${data.row}/`; });
    if (this.meta.compare) add("Compare", () => this.actions.compare(node));
    if (this.source.canWrite && data.leaf && node.parent && !this.meta.below) {
      add("Move to…", () => this.move(node));
      add("Hide", () => this.actions.edit({ op: "hide", node: node.id }));
    }
    if (this.source.canWrite && !data.leaf) {
      add("Rename", () => this.rename(node, data));
      if (node.parent) {
        add("Merge with…", () => this.choose(node, "Merge with which sibling?", node.parent.children.filter((v) => v !== node), (other) => ({ op: "merge", node: node.id, with: other.id })));
        add("Move to…", () => this.move(node));
        add("Hide", () => this.actions.edit({ op: "hide", node: node.id }));
      }
      if (data.groups.length) add("Collapse", () => this.actions.edit({ op: "collapse", node: node.id }));
    }
    return row;
  }

  rename(node, data) {
    ask("Rename", (close) => {
      const input = make("input", { type: "text", id: "new-name", value: data.name, maxlength: 300, autofocus: true, onfocus: () => input.select() });
      const form = make("form", { onsubmit: (event) => {
        event.preventDefault();
        close();
        this.actions.edit({ op: "rename", node: node.id, name: input.value });
      } }, make("label", { for: "new-name" }, "Name"), input, make("button", { type: "submit" }, "Save"));
      return [form];
    });
  }

  choose(node, title, list, action) {
    ask(title, (close) => [this.list(list.map((other) => make("button", { type: "button", onclick: () => { close(); this.actions.edit(action(other)); } },
      other.name, " ", make("small", {}, items(other.size)))))]);
  }

  // Any cluster that the page has seen may take it, found by a word of its name.
  move(node) {
    ask("Move into which cluster?", (close) => {
      const list = make("ul", { class: "rows" });
      const input = make("input", { type: "text", id: "target", autofocus: true, oninput: async () => {
        if (!input.value.trim()) return;
        const { results } = await this.source.search(input.value);
        list.replaceChildren(...results.filter((hit) => hit.row === undefined && hit.node !== node.id).slice(0, 12).map((hit) => make("li", {},
          make("button", { type: "button", onclick: () => { close(); this.actions.edit({ op: "move", node: node.id, to: hit.node }); } }, hit.text))));
      } });
      return [make("label", { for: "target" }, "Name of the cluster "), input, list];
    });
  }

  pages(node, data) {
    const section = make("section", {}, make("h3", {}, `All items (${number(data.n_items ?? data.size)})`));
    const sort = make("select", { "aria-label": "Order of the items" },
      ...[["tree", "as in the tree"], ["text", "by text"], ["row", "by row"]].map(([value, text]) => make("option", { value }, text)));
    const list = make("ul", { class: "rows" });
    const more = make("button", { type: "button" }, "Show more");
    let offset = 0;
    const load = async () => {
      const page = await this.source.items(node.id, offset, PAGE, sort.value);
      list.append(...page.items.map((item) => make("li", {}, this.item(item))));
      offset += page.items.length;
      more.hidden = offset >= page.total || page.items.length === 0;
      if (page.note && offset < page.total) list.append(make("li", { class: "note" }, page.note));
    };
    // An undo may have taken the cluster away while its items were on their way: the next card comes then.
    const tryLoad = () => load().catch((error) => { if (section.isConnected) list.append(make("li", { class: "note" }, error.message)); });
    sort.addEventListener("change", () => { offset = 0; list.replaceChildren(); tryLoad(); });
    more.addEventListener("click", tryLoad);
    section.append(sort, list, more);
    tryLoad();
    return section;
  }
}
