// Where the page's data come from: the server, or, in a page exported to a file, the data written into it.
// Both answer the same calls, so nothing else knows which it is.

export class Offline extends Error {}

export class ServerSource {
  constructor() {
    const url = new URL(location.href);
    this.token = url.searchParams.get("token") ?? "";
    try { // a frame of another page may have no storage
      this.token ||= sessionStorage.getItem("cladify-token") ?? "";
      if (this.token) sessionStorage.setItem("cladify-token", this.token);
    } catch { /* the address has it */ }
    this.onState = () => {};
    this.live = true;
  }

  get canWrite() {
    return this.token !== "";
  }

  async request(path, options) {
    let answer;
    try {
      answer = await fetch(path, options);
    } catch {
      this.lost();
      throw new Offline("The server does not answer.");
    }
    if (!this.live) {
      this.live = true;
      this.onState(true);
    }
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(body.error ?? `The server answered ${answer.status}.`);
    return body;
  }

  lost() {
    if (!this.live) return;
    this.live = false;
    this.onState(false);
    const again = async () => {
      if (this.live) return;
      try {
        await this.request("api/meta");
      } catch {
        setTimeout(again, 1500);
      }
    };
    setTimeout(again, 1500);
  }

  ask(path, values = {}) {
    const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));
    return this.request(`api/${path}${query.size ? "?" + query : ""}`);
  }

  meta() { return this.ask("meta"); }
  children(ids) { return this.ask("children", { ids: ids.join(",") }); }
  card(id) { return this.ask("card", { node: id }); }
  items(id, offset, limit, sort) { return this.ask("items", { node: id, offset, limit, sort }); }
  search(text) { return this.ask("search", { q: text }); }
  cut(by) { return this.ask("cut", by); }
  like(item) { return this.ask("like", { item }); }
  compare(id) { return this.ask("compare", { node: id }); }
  points(window) { return this.ask("points", window); }
  path(id) { return this.ask("path", { node: id }); }

  edit(action) {
    return this.request("api/edit", {
      method: "POST",
      headers: { "content-type": "application/json", "x-cladify-token": this.token },
      body: JSON.stringify(action),
    });
  }

  exportUrl(what) {
    return "api/export?" + new URLSearchParams(what);
  }
}

// One record a node, in columns: parents before children, root first. What the file leaves out is counted, not shown.
export class EmbeddedSource {
  constructor(data) {
    this.data = data;
    this.canWrite = false;
    this.onState = () => {};
    this.kids = data.parent.map(() => []);
    data.parent.forEach((parent, i) => { if (parent >= 0) this.kids[parent].push(i); });
  }

  record(i) {
    const d = this.data;
    return { id: i, size: d.size[i], height: d.height[i], name: d.name[i], kids: this.kids[i].length };
  }

  async meta() { return this.data.meta; }

  async children(ids) {
    return { children: Object.fromEntries(ids.map((i) => [i, this.kids[i].map((kid) => this.record(kid))])) };
  }

  async card(id) {
    const kids = this.kids[id].map((kid) => this.record(kid));
    return {
      ...this.record(id), share: this.data.size[id] / this.data.size[0], terms: this.data.terms[id] ?? [],
      central: this.data.examples[id] ?? [], boundary: [], children: kids, n_items: this.data.size[id],
    };
  }

  async items(id) {
    const shown = (this.data.examples[id] ?? []).map((text) => ({ text }));
    return { items: shown, total: this.data.size[id], note: "The file holds examples; the explorer shows every item." };
  }

  async search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = [];
    for (let i = 0; i < this.data.name.length && hits.length < 400; i++) {
      const name = this.data.name[i].toLowerCase();
      const inside = [name, ...(this.data.terms[i] ?? []), ...(this.data.examples[i] ?? [])].join("\n").toLowerCase();
      if (words.every((word) => inside.includes(word))) {
        const inName = words.every((word) => name.includes(word));
        hits.push({ node: i, text: this.data.name[i], size: this.data.size[i], rank: inName ? 0 : 1 });
      }
    }
    hits.sort((a, b) => a.rank - b.rank || b.size - a.size);
    return { results: hits.slice(0, 30), total: hits.length };
  }

  // Splits the highest nodes until there are enough: the same rule as the tree's own cut by count.
  async cut({ n, level }) {
    const wanted = level === undefined ? n : undefined;
    if (wanted === undefined) return this.data.cuts[level];
    const nodes = [0];
    while (nodes.length < wanted) {
      let best = -1;
      nodes.forEach((v, i) => {
        if (this.kids[v].length && nodes.length - 1 + this.kids[v].length <= wanted &&
          (best < 0 || this.data.height[v] > this.data.height[nodes[best]])) best = i;
      });
      if (best < 0) break;
      nodes.splice(best, 1, ...this.kids[nodes[best]]);
    }
    const sizes = nodes.map((v) => this.data.size[v]).sort((a, b) => a - b);
    return { nodes, n: nodes.length, smallest: sizes[0], median: sizes[sizes.length >> 1], largest: sizes.at(-1) };
  }

  async path(id) {
    const path = [];
    for (let i = id; i >= 0; i = this.data.parent[i]) path.unshift(this.record(i));
    return { path };
  }

  exportUrl() { return null; }
}
