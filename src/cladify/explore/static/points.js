// The items at given places in the plane (UMAP, t-SNE, a map), coloured by the cluster of the cut they are in.
import { clusterColor, css, mix } from "./colors.js";
import { Scene } from "./scene.js";

export class Points extends Scene {
  constructor(nodes, source, onNews) {
    super(nodes);
    Object.assign(this, { source, onNews, labels: null, wait: null });
    this.take({ x: [], y: [], step: [], window: [0, 0, 1], whole: false });
    this.reset();
  }

  // Points come as whole numbers in a window, with steps along the line of items.
  take({ x, y, step, window: [left, top, unit], whole }) {
    let at = 0;
    this.x = x.map((value) => left + value * unit);
    this.y = y.map((value) => top + value * unit);
    this.place = step.map((value) => (at += value));
    this.whole = whole;
    this.cached = null;
  }

  async load(left = 0, top = 0, side = 1) {
    this.take(await this.source.points({ left, top, side }));
    this.onNews();
  }

  // After a zoom the server may know more points than are drawn.
  refine() {
    clearTimeout(this.wait);
    this.wait = setTimeout(() => {
      const { x, y, w } = this.camera;
      if (w >= 1) this.load().catch(() => {});
      else this.load(x - w, y - w, 3 * w).catch(() => {});
    }, 150);
  }

  reset() { this.camera = { x: 0, y: 0, w: 1 }; }
  focus() { return this.nodes.root; }
  step() { return false; }

  // Clusters of a cut are stretches of the line of items: here they begin.
  colour(cut) {
    this.labels = cut.starts ?? null;
  }

  zoomTo(node) {
    if (!node.parent) {
      this.reset();
      return this.refine();
    }
    const end = node.place + node.size;
    let left = 1, right = 0, top = 1, bottom = 0;
    for (let i = 0; i < this.x.length; i++) {
      if (this.place[i] < node.place || this.place[i] >= end) continue;
      left = Math.min(left, this.x[i]); right = Math.max(right, this.x[i]);
      top = Math.min(top, this.y[i]); bottom = Math.max(bottom, this.y[i]);
    }
    if (right < left) return;
    const w = Math.min(1, Math.max(right - left, bottom - top, 1e-3) * 1.1);
    this.camera = { w, x: (left + right - w) / 2, y: (top + bottom - w) / 2 };
    this.refine();
  }

  wheel(x, y, factor, width, height) {
    const c = this.camera, w = Math.min(2, Math.max(1e-5, c.w * factor)), [side, left, top] = this.frame(width, height);
    this.camera = { w, x: c.x + ((x - left) / side) * (c.w - w), y: c.y + ((y - top) / side) * (c.w - w) };
    this.refine();
  }

  pan(dx, dy, width, height) {
    const [side] = this.frame(width, height);
    this.camera.x -= (dx / side) * this.camera.w;
    this.camera.y -= (dy / side) * this.camera.w;
    this.refine();
  }

  // The square of the plane in view lies in the middle of the picture.
  frame(width, height) {
    const side = Math.min(width, height) * 0.96;
    return [side, (width - side) / 2, (height - side) / 2];
  }

  draw(ctx, width, height, style) {
    this.boxes = [];
    const c = this.camera, [side, left, top] = this.frame(width, height), scale = side / c.w;
    const size = Math.max(2, Math.min(7, Math.sqrt((0.25 * width * height) / (1 + this.x.length))));
    const pick = style.selected, chosen = pick?.parent ? (pick.kids || !pick.parent.parent ? pick : pick.parent) : null;
    const rank = this.ranks(), colors = Array.from({ length: 24 }, (_, i) => css(mix(clusterColor(i, style.dark), style.dark ? [255, 255, 255] : [0, 0, 0], 0.15)));
    for (let i = 0; i < this.x.length; i++) {
      const px = left + (this.x[i] - c.x) * scale, py = top + (this.y[i] - c.y) * scale;
      if (px < -4 || py < -4 || px > width + 4 || py > height + 4) continue;
      const inside = !chosen || (this.place[i] >= chosen.place && this.place[i] < chosen.place + chosen.size);
      ctx.globalAlpha = inside ? 0.9 : 0.15;
      ctx.fillStyle = rank ? colors[rank[i] % 24] : style.ink;
      ctx.fillRect(px - size / 2, py - size / 2, size, size);
      this.boxes.push({ node: null, at: this.place[i], x: px - 5, y: py - 5, w: 10, h: 10 });
    }
    ctx.globalAlpha = 1;
    if (!pick || pick.kids) return;
    const i = this.place.indexOf(pick.place); // an item that was searched for stands out
    if (i < 0) return;
    ctx.strokeStyle = style.mark;
    ctx.lineWidth = 3;
    ctx.beginPath();
    ctx.arc(left + (this.x[i] - c.x) * scale, top + (this.y[i] - c.y) * scale, size + 5, 0, 2 * Math.PI);
    ctx.stroke();
  }

  // The item under the pointer is asked for by its place; the page knows the cluster of the cut around it.
  hit(x, y) {
    let best = null, near = 64;
    for (const box of this.boxes) {
      const d = (box.x + 5 - x) ** 2 + (box.y + 5 - y) ** 2;
      if (d < near) [best, near] = [box, d];
    }
    if (!best) return null;
    let node = this.nodes.root;
    for (;;) {
      const next = node.children?.find((child) => !child.more && child.place <= best.at && best.at < child.place + child.size);
      if (!next) return node;
      node = next;
    }
  }

  ranks() {
    if (!this.labels) return null;
    if (this.cached?.labels === this.labels) return this.cached.rank;
    const starts = this.labels, rank = new Int32Array(this.x.length);
    for (let i = 0; i < rank.length; i++) {
      let low = 0, high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= this.place[i]) low = middle;
        else high = middle - 1;
      }
      rank[i] = low;
    }
    this.cached = { labels: this.labels, rank };
    return rank;
  }
}
