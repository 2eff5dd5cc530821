// Where the page's data come from: the server, or, in a page exported to a file, the data written into it.
// Both answer the same calls, so nothing else knows which it is.

export class Offline extends Error {}
export class Stale extends Error {} // the document was changed by another page or program

export class ServerSource {
  constructor() {
    this.token = ""; // only in a frame; elsewhere the browser has a cookie
    this.canWrite = false;
    this.version = null; // of the document that is shown
    this.editing = 0;
    this.onState = () => {};
    this.onChange = () => {};
    this.live = true;
  }

  // Exchange the code of the address, which works once, for the right to edit, and take it out of the address.
  async begin() {
    const url = new URL(location.href), code = url.searchParams.get("code");
    if (!code) return;
    url.searchParams.delete("code");
    history.replaceState(null, "", url.pathname + url.search + url.hash);
    const { token } = await this.post("session", { code });
    this.token = token ?? "";
  }

  async request(path, options, read = (answer) => answer.json().catch(() => ({}))) {
    const known = this.version;
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
    const body = await (answer.ok ? read(answer) : answer.json().catch(() => ({})));
    if (answer.status === 409) throw new Stale(body.error);
    if (!answer.ok) throw new Error(body.error ?? `The server answered ${answer.status}.`);
    const seen = answer.headers.get("x-cladify-version");
    if (seen && known && seen !== known && known === this.version && !this.editing) this.onChange();
    return body;
  }

  post(path, data) {
    const headers = { "content-type": "application/json", ...(this.token ? { "x-cladify-token": this.token } : {}) };
    return this.request(`api/${path}`, { method: "POST", headers, body: JSON.stringify(data) });
  }

  // Whether the document is another one than the page shows.
  async changed() {
    const known = this.version, { version } = await this.ask("version");
    return known === this.version && !this.editing && version !== known;
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

  async meta() {
    const meta = await this.ask("meta");
    this.version = meta.version;
    this.canWrite = meta.can_edit || this.token !== "";
    return meta;
  }

  children(ids) { return this.ask("children", { ids: ids.join(",") }); }
  card(id) { return this.ask("card", { node: id }); }
  items(id, offset, limit, sort) { return this.ask("items", { node: id, offset, limit, sort }); }
  search(text) { return this.ask("search", { q: text }); }
  cut(by) { return this.ask("cut", by); }
  like(item) { return this.ask("like", { item }); }
  compare(id) { return this.ask("compare", { node: id }); }
  islands() { return this.ask("islands"); }
  at(place) { return this.ask("at", { place }); }
  texts(places) { return this.ask("texts", { places: places.join(",") }); }
  points(window) { return this.request("api/points?" + new URLSearchParams(window), {}, (answer) => answer.arrayBuffer()); }
  counts(filter) { return this.ask("counts", { filter: filter || undefined }); }
  hits(q) { return this.ask("hits", { q }); }
  selection(where) { return this.ask("selection", where); }
  report() { return this.ask("report"); }
  flows(cut) { return this.ask("flows", cut); }
  path(id) { return this.ask("path", { node: id }); }

  async edit(action) {
    this.editing++;
    try {
      const made = await this.post("edit", { ...action, version: this.version });
      this.version = made.version;
      return made;
    } finally {
      this.editing--;
    }
  }

  imageUrl(row) { return `api/image?item=${row}`; }

  exportUrl(what) {
    return "api/export?" + new URLSearchParams(what);
  }
}

// One record a node, in columns: parents before children, root first. What the file leaves out is counted, not shown.
export class EmbeddedSource {
  constructor(data) {
    this.data = data;
    this.sampled = true; // there are no more points than these
    this.version = null;
    this.canWrite = false;
    this.onState = () => {};
    this.kids = data.parent.map(() => []);
    data.parent.forEach((parent, i) => { if (parent >= 0) this.kids[parent].push(i); });
  }

  record(i) {
    const d = this.data;
    return { id: i, size: d.size[i], height: d.height[i], name: d.name[i], kids: this.kids[i].length, first: d.spans?.[i][0] };
  }

  async begin() {}
  async changed() { return false; }
  async meta() { return this.data.meta; }

  async children(ids) {
    return { children: Object.fromEntries(ids.map((i) => [i, this.kids[i].map((kid) => this.record(kid))])) };
  }

  async card(id) {
    const kids = this.kids[id].map((kid) => this.record(kid));
    return {
      ...this.record(id), share: this.data.size[id] / this.data.size[0], terms: this.data.terms[id] ?? [],
      classes: (this.data.classes[id] ?? []).map(([name, count, share]) => ({ name, count, share })),
      central: this.examples(id), boundary: [], children: kids, n_items: this.data.size[id],
    };
  }

  async items(id) {
    return { items: this.examples(id), total: this.data.size[id], note: "The file holds examples; the explorer shows every item." };
  }

  // Items of a group that are written into the file, with their pictures where there is one.
  examples(id) { return (this.data.examples[id] ?? []).map(([text, row]) => ({ text, picture: row })); }
  imageUrl(row) { return this.data.pictures?.[row] ?? null; }

  async search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = [];
    for (let i = 0; i < this.data.name.length && hits.length < 400; i++) {
      const name = this.data.name[i].toLowerCase();
      const inside = [name, ...(this.data.terms[i] ?? []), ...(this.data.examples[i] ?? []).map(([text]) => text)].join("\n").toLowerCase();
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
    if (wanted === undefined) return this.along(this.data.cuts[level]);
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
    return this.along({ nodes, n: nodes.length, smallest: sizes[0], median: sizes[sizes.length >> 1], largest: sizes.at(-1) });
  }

  // A cut with the stretches of its clusters along the line of items.
  along(cut) {
    const spans = this.data.spans;
    if (!spans) return cut;
    const nodes = [...cut.nodes].sort((a, b) => spans[a][0] - spans[b][0]);
    return { ...cut, nodes, starts: nodes.map((v) => spans[v][0]), ends: nodes.map((v) => spans[v][1]) };
  }

  async islands() { return { islands: this.data.islands }; }

  bytes(text) { return Uint8Array.from(atob(text), (char) => char.charCodeAt(0)); }

  get sample() {
    if (!this.held) {
      const buffer = this.bytes(this.data.points).buffer, count = new DataView(buffer).getUint32(28, true), at = (from, Kind, size) => new Kind(buffer.slice(from, from + size * count));
      this.held = { head: buffer.slice(0, 24), places: at(32, Uint32Array, 4), x: at(32 + 4 * count, Uint16Array, 2), y: at(32 + 6 * count, Uint16Array, 2), codes: this.data.codes.map((text) => this.bytes(text)) };
      this.held.index = new Map([...this.held.places].map((place, i) => [place, i]));
    }
    return this.held;
  }

  // Which of the sample pass the filters of all columns but one.
  passed(filter, without = -1) {
    const { places, codes } = this.sample, parts = (filter ?? "").split(",").filter(Boolean).map((part) => part.split(":")).map(([i, bins]) => [Number(i), new Set(bins.split(".").map(Number))]).filter(([i]) => i !== without);
    return [...places.keys()].filter((k) => parts.every(([i, bins]) => bins.has(codes[i][k])));
  }

  async points({ filter, column, q } = {}) {
    const { head, places, x, y, codes } = this.sample, words = (q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const kept = this.passed(filter).filter((k) => words.every((word) => (this.data.texts[k] ?? "").toLowerCase().includes(word)));
    const pick = (Kind, values) => new Uint8Array(Kind.from(kept, (k) => values[k]).buffer);
    const parts = [new Uint8Array(head), new Uint8Array(Uint32Array.of(1, kept.length).buffer), pick(Uint32Array, places), pick(Uint16Array, x), pick(Uint16Array, y), ...(column === undefined ? [] : [pick(Uint8Array, codes[column])])];
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let end = 0;
    for (const part of parts) { all.set(part, end); end += part.length; }
    return all.buffer;
  }

  async counts(filter) {
    const { codes } = this.sample, columns = this.data.meta.columns.map(({ bins }, i) => {
      const count = new Array(bins.length + 1).fill(0);
      for (const k of this.passed(filter, i)) count[Math.min(codes[i][k], bins.length)]++;
      return count;
    });
    return { total: this.passed(filter).length, columns, sample: true };
  }

  async hits(q) {
    if (!this.data.points) return { places: [], total: 0 };
    const data = new DataView(await this.points({ q })), count = data.getUint32(28, true);
    return { places: [...new Uint32Array(data.buffer.slice(32, 32 + 4 * count))], total: count };
  }

  // The texts of the sample.
  async at(place) {
    const i = this.sample.index.get(place);
    return { text: this.data.texts[i] ?? `item ${place}`, path: [], columns: this.data.meta.columns.map(({ name, bins }, c) => ({ name, value: bins[this.sample.codes[c][i]] })).filter(({ value }) => value !== undefined).slice(0, 6) };
  }

  async texts(places) { return { texts: places.map((place) => this.data.texts[this.sample.index.get(place)] ?? "") }; }

  async path(id) {
    const path = [];
    for (let i = id; i >= 0; i = this.data.parent[i]) path.unshift(this.record(i));
    return { path };
  }

  exportUrl() { return null; }
}
