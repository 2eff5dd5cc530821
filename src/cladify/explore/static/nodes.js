// The part of the tree that the page knows: nodes come in as they become visible, and stay.
// A node is drawn at `first`, after its elder siblings; `place` is where it is on the line of all items, hidden ones too.

export class Nodes {
  constructor(source, onNews) {
    this.source = source;
    this.onNews = onNews;
    this.known = new Map();
    this.wanted = new Set();
    this.asking = false;
  }

  start(record) {
    this.known.clear();
    this.wanted.clear();
    this.root = this.add(record, null, 0);
  }

  add(record, parent, first) {
    const node = { ...record, parent, first, place: record.first ?? first, depth: parent ? parent.depth + 1 : 0, children: record.kids ? null : [] };
    this.known.set(node.id, node);
    return node;
  }

  fill(node, records) {
    let at = node.first;
    node.children = records.map((record) => {
      const child = this.add(record, node, at);
      at += record.size;
      return child;
    });
  }

  get(id) { return this.known.get(id); }

  // Children, or null while they are on their way.
  children(node) {
    if (node.children === null && !this.wanted.has(node.id)) {
      this.wanted.add(node.id);
      queueMicrotask(() => this.fetch());
    }
    return node.children;
  }

  async fetch() {
    if (this.asking || this.wanted.size === 0) return;
    this.asking = true;
    const ids = [...this.wanted].slice(0, 60);
    try {
      const answer = await this.source.children(ids);
      for (const id of ids) {
        const node = this.known.get(id);
        if (!answer.children[id]) continue; // more than one answer holds; it stays wanted
        if (node) this.fill(node, answer.children[id]);
        this.wanted.delete(id);
      }
      this.onNews();
    } catch {
      setTimeout(() => this.fetch(), 1500);
    } finally {
      this.asking = false;
    }
    if (this.wanted.size) this.fetch();
  }

  // Everything from the root to a node that may not be known yet.
  async reach(id) {
    if (this.known.has(id)) return this.known.get(id);
    const { path } = await this.source.path(id);
    for (const step of path) {
      const node = this.known.get(step.id) ?? this.bring(step, path);
      if (!node) return null;
      if (step.id !== id && node.children === null) {
        const answer = await this.source.children([node.id]);
        this.fill(node, answer.children[node.id]);
      }
    }
    return this.known.get(id) ?? null;
  }

  // One of very many siblings, which came as one box: it comes out of that box.
  bring(record, path) {
    const parent = this.known.get(path[path.indexOf(record) - 1]?.id), rest = parent?.children?.at(-1);
    if (!rest?.more) return null;
    const node = this.add(record, parent, rest.first);
    rest.size -= node.size;
    rest.first += node.size;
    parent.children.splice(-1, rest.size > 0 ? 0 : 1, node);
    return node;
  }

  pathOf(node) {
    const path = [];
    for (let v = node; v; v = v.parent) path.unshift(v);
    return path;
  }
}
