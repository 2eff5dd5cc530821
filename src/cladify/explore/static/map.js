// The map: clusters as regions inside regions, siblings in their order, so that neighbours are alike. Names appear as
// one comes closer. Places are relative to the parent's region: any depth of zoom keeps its digits.
import { Scene, ease } from "./scene.js";

const FRAME = 0.008, HEAD = 0.085; // room around the children, and for the name above them, as shares of the region

export class TreeMap extends Scene {
  constructor(nodes) {
    super(nodes);
    this.layouts = new Map();
    this.reset();
  }

  reset() {
    this.layouts.clear();
    this.camera = { x: 0, y: 0, w: 1 };
    this.goal = null;
  }

  focus() {
    let node = this.nodes.root, area = { x: 0, y: 0, w: 1, h: 1 };
    for (;;) {
      const c = this.camera;
      const next = node.children?.find((child) => {
        const box = this.place(child, area);
        return box.x <= c.x + c.w * 0.08 && box.y <= c.y + c.w * 0.08 && box.x + box.w >= c.x + c.w * 0.92 && box.y + box.h >= c.y + c.w * 0.92;
      });
      if (!next) return node;
      area = this.place(next, area);
      node = next;
    }
  }

  // The region of a node inside its parent's region.
  place(node, area) {
    if (!this.layouts.has(node.id)) this.arrange(node.parent);
    const box = this.layouts.get(node.id);
    return { x: area.x + box.x * area.w, y: area.y + box.y * area.h, w: box.w * area.w, h: box.h * area.h };
  }

  // Strips: children in their order fill a row until its boxes would become flatter by one more.
  arrange(parent) {
    const inner = { x: FRAME, y: HEAD, w: 1 - 2 * FRAME, h: 1 - HEAD - FRAME };
    const total = parent.size, list = parent.children;
    const area = inner.w * inner.h;
    let y = inner.y, i = 0;
    while (i < list.length) {
      let end = i, sum = 0, worst = Infinity;
      while (end < list.length) {
        const more = sum + list[end].size;
        const height = ((more / total) * area) / inner.w;
        let ratio = 0;
        for (let j = i; j <= end; j++) {
          const w = (list[j].size / more) * inner.w;
          ratio += Math.max(w / height, height / w);
        }
        ratio /= end - i + 1;
        if (ratio > worst) break;
        worst = ratio;
        sum = more;
        end++;
      }
      const height = ((sum / total) * area) / inner.w;
      let x = inner.x;
      for (let j = i; j < end; j++) {
        const w = (list[j].size / sum) * inner.w;
        this.layouts.set(list[j].id, { x, y, w, h: height });
        x += w;
      }
      y += height;
      i = end;
    }
  }

  regionOf(node) {
    let area = { x: 0, y: 0, w: 1, h: 1 };
    for (const step of this.nodes.pathOf(node).slice(1)) area = this.place(step, area);
    return area;
  }

  zoomTo(node, animate = true) {
    const region = this.regionOf(node);
    const w = Math.max(region.w, region.h) * 1.02;
    const goal = { x: region.x + region.w / 2 - w / 2, y: region.y + region.h / 2 - w / 2, w };
    if (!animate) {
      this.camera = goal;
      this.goal = null;
      return;
    }
    this.goal = { camera: goal, start: performance.now(), was: { ...this.camera } };
  }

  step(now) {
    if (!this.goal) return false;
    const t = Math.min(1, (now - this.goal.start) / 420), s = ease(t), { was, camera } = this.goal;
    const w = was.w ** (1 - s) * camera.w ** s;
    const share = was.w === camera.w ? s : (was.w - w) / (was.w - camera.w);
    this.camera = { w, x: was.x + (camera.x - was.x) * share, y: was.y + (camera.y - was.y) * share };
    if (t === 1) {
      this.camera = camera;
      this.goal = null;
    }
    return this.goal !== null;
  }

  wheel(x, y, factor, width, height) {
    const side = Math.max(width, height), c = this.camera;
    const w = Math.min(1.05, Math.max(1e-12, c.w * factor));
    const atX = c.x + (x / side) * c.w, atY = c.y + (y / side) * c.w;
    this.camera = { w, x: atX - (x / side) * w, y: atY - (y / side) * w };
    this.goal = null;
  }

  pan(dx, dy, width, height) {
    const side = Math.max(width, height);
    this.camera.x -= (dx / side) * this.camera.w;
    this.camera.y -= (dy / side) * this.camera.w;
    this.goal = null;
  }

  // A region opens once there is room for names in it: before that, it is one box with its own name.
  draw(ctx, width, height, style) {
    this.boxes = [];
    const c = this.camera, sx = width / c.w, sy = height / c.w;
    const stack = [{ node: this.nodes.root, area: { x: 0, y: 0, w: 1, h: 1 } }];
    let drawn = 0;
    while (stack.length && drawn < 5000) {
      const { node, area } = stack.pop();
      const x = (area.x - c.x) * sx, y = (area.y - c.y) * sy, w = area.w * sx, h = area.h * sy;
      if (x > width || y > height || x + w < 0 || y + h < 0 || w < 2 || h < 2) continue;
      drawn++;
      const open = node.kids && w > 64 && h > 56 ? this.nodes.children(node) : null;
      // The name stays in sight while its region reaches beyond the picture.
      const left = Math.max(x, 0), right = Math.min(x + w, width), band = h * HEAD;
      const tall = open ? Math.min(band, 26) : Math.min(h, 22);
      const top = open ? Math.min(Math.max(y + (band - tall) / 2, 0), y + band - tall) : Math.max(y, 0);
      this.paint(ctx, { node, x, y, w, h }, style, { x: left, y: top, w: right - left, h: tall, size: open ? Math.max(10, Math.min(18, tall * 0.72)) : 12, bold: open });
      if (open) for (const child of open) stack.push({ node: child, area: this.place(child, area) });
    }
  }
}
