// The icicle: a row a depth (or as tall as its branch is long), a box a node, as wide as its share of the items.
// The window is a stretch of the items.
import { Scene, ease } from "./scene.js";

const ROW = 46, TALL = 132, ITEM = 300, PAST = 26; // heights of rows in view, at least and at most, of items, and of rows above the view

export class Icicle extends Scene {
  constructor(nodes) {
    super(nodes);
    this.byHeight = false;
    this.deepest = 1; // row of the picture drawn last
    this.tall = ROW;
    this.reset();
  }

  reset() {
    this.cap = this.nodes.root.height;
    this.from = this.nodes.root.first;
    this.to = this.from + this.nodes.root.size;
    this.top = 0;
    this.goal = null;
  }

  // The deepest known node that fills the window.
  focus() {
    let node = this.nodes.root;
    for (;;) {
      const next = node.children?.find((child) => child.first <= this.from + 1e-9 && child.first + child.size >= this.to - 1e-9);
      if (!next) return node;
      node = next;
    }
  }

  zoomTo(node, animate = true) {
    const goal = { from: node.first, to: node.first + node.size, top: Math.max(0, node.depth), cap: node.height || this.nodes.root.height };
    if (!animate) {
      Object.assign(this, goal, { goal: null });
      return;
    }
    this.goal = { ...goal, start: performance.now(), was: { from: this.from, to: this.to, top: this.top, cap: this.cap } };
  }

  // Moves on towards the goal; true while there is more to do.
  step(now) {
    const growing = this.grow();
    if (!this.goal) return growing;
    const t = Math.min(1, (now - this.goal.start) / 320), s = ease(t);
    for (const key of ["from", "to", "top", "cap"]) this[key] = this.goal.was[key] * (1 - s) + this.goal[key] * s;
    if (t === 1) {
      this.from = this.goal.from;
      this.to = this.goal.to;
      this.top = this.goal.top;
      this.cap = this.goal.cap;
      this.goal = null;
    }
    return this.goal !== null || growing;
  }

  // Rows become as tall as the deepest one in sight leaves room for, a little with every picture.
  grow() {
    const room = (this.tallest - PAST * Math.min(this.top, 3) - ROW) / Math.max(1, this.deepest - this.top);
    const wanted = Math.max(ROW, Math.min(TALL, room || ROW));
    this.tall = Math.abs(wanted - this.tall) < 1 ? wanted : this.tall + 0.35 * (wanted - this.tall);
    return this.tall !== wanted;
  }

  wheel(x, y, factor, width) {
    const root = this.nodes.root, at = this.from + (x / width) * (this.to - this.from);
    const span = Math.min(root.size, Math.max(1, (this.to - this.from) * factor));
    this.from = Math.min(Math.max(root.first, at - (x / width) * span), root.first + root.size - span);
    this.to = this.from + span;
    this.goal = null;
    this.settle();
  }

  settle() {
    const focus = this.focus();
    this.top = focus.depth;
    this.cap = focus.height || this.nodes.root.height;
  }

  pan(dx, dy, width) {
    const root = this.nodes.root, span = this.to - this.from;
    this.from = Math.min(Math.max(root.first, this.from - (dx / width) * span), root.first + root.size - span);
    this.to = this.from + span;
    this.goal = null;
    this.settle();
  }

  rows() {
    const lift = Math.max(0, PAST * (this.top - 3)); // only the last three rows of the past are shown
    const below = (d) => (d < 1 ? ROW * d : ROW + this.tall * (d - 1)); // the cluster in view needs no more than its name
    const yOf = (d) => (d < this.top ? PAST * d : PAST * this.top + below(d - this.top)) - lift;
    // Nothing is below an item: it may be taller, for its text.
    const end = (node) => (node.kids ? yOf(node.depth + 1) : Math.max(yOf(node.depth + 1), Math.min(this.tallest, yOf(node.depth) + ITEM)));
    return (node) => [yOf(node.depth), end(node)];
  }

  // From the height at which a cluster joins others down to the height at which it falls apart.
  heights(height) {
    const yOf = (h) => PAST + (1 - h / (this.cap || 1)) * (height - PAST);
    return (node) => [Math.max(0, node.parent ? yOf(node.parent.height) : 0), node.kids ? Math.max(0, yOf(node.height)) : height];
  }

  // Rows above the cluster in view are thin; everything narrower than a pixel is left to its parent's colour.
  draw(ctx, width, height, style) {
    this.boxes = [];
    const scale = width / (this.to - this.from), span = this.byHeight ? this.heights(height) : this.rows();
    this.tallest = height;
    this.deepest = 0;
    let row = [this.nodes.root];
    let drawn = 0;
    while (row.length && drawn < 6000) {
      const next = [];
      for (const node of row) {
        const x0 = Math.max(0, (node.first - this.from) * scale), x1 = Math.min(width, (node.first + node.size - this.from) * scale);
        if (x1 <= 0 || x0 >= width) continue;
        const w = x1 - x0;
        if (w < 1) continue;
        const [y, bottom] = span(node), h = bottom - y;
        if (y > height) continue;
        if (y + h > 0 && h > 0.5) {
          drawn++;
          this.deepest = Math.max(this.deepest, node.depth);
          this.paint(ctx, { node, x: x0, y, w, h: h - 1 }, style, { x: x0, y, w, h: h - 1, size: h > 30 ? 13 : 12 });
        }
        if (w > 4 && node.kids) {
          const children = this.nodes.children(node);
          if (children) next.push(...children);
        }
      }
      row = next;
    }
  }
}
