// The Poincaré disk: the cluster in focus in the middle, everything else ever smaller towards the rim (Sarkar's layout).
// Every node has a frame of its own, with itself in the middle and its parent straight behind; frames are moved by Möbius
// maps z -> (a z + b) / (b* z + a*), kept as [a, b] and composed from the focus outwards, so that no depth loses digits.
import { Scene, ease, fit } from "./scene.js";

const OPEN = 1.45; // half of the cone, in radians, that a cluster's parts have to themselves
const SMALLEST = 0.02, ITEMS = 0.45; // of the disk: what is smaller is not opened, or not into single items

const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c]; // of complex numbers
const plus = ([a, b], [c, d]) => [a + c, b + d];
const star = ([a, b]) => [a, -b];
const turn = (angle) => [[Math.cos(angle / 2), Math.sin(angle / 2)], [0, 0]];

function compose([a, b], [c, d]) {
  return [plus(times(a, c), times(b, star(d))), plus(times(a, d), times(b, star(c)))];
}

function inverse([a, b]) { return [star(a), [-b[0], -b[1]]]; }

function shift([x, y]) {
  const s = 1 / Math.sqrt(Math.max(1 - x * x - y * y, 1e-12));
  return [[s, 0], [x * s, y * s]];
}

// Where the middle of a frame is: b / a*.
function middle([a, b]) {
  const n = a[0] * a[0] + a[1] * a[1];
  return times(b, [a[0] / n, a[1] / n]);
}

export class Disk extends Scene {
  constructor(nodes) {
    super(nodes);
    this.reset();
  }

  reset() {
    this.at = this.nodes.root;
    this.view = [[1, 0], [0, 0]]; // from the focus's frame to the picture
    this.frames = new Map();
    this.goal = null;
  }

  focus() { return this.at; }

  // From a child's frame to its parent's: turned to its direction, moved forward by the length of the branch.
  frameOf(child) {
    for (const node of this.nodes.pathOf(child.parent)) if (node.fan?.list !== node.children) this.fan(node);
    return child.parent.fan.frame.get(child);
  }

  // Children share the cone of their parent by their sizes. A branch is as long as its own cone needs to open to about a
  // right angle at its end: tan(after / 2) = tan(before / 2) (1 + d) / (1 - d). So no two cones meet anywhere.
  fan(parent) {
    const list = parent.children, weight = list.map((node) => node.size ** 0.45), total = weight.reduce((a, b) => a + b, 0);
    const half = parent.cone ?? Math.PI, frame = new Map();
    let angle = parent.parent ? -half : -Math.PI / 2;
    list.forEach((node, i) => {
      const before = Math.min((weight[i] / total) * half, 0.45 * Math.PI), ratio = Math.tan(OPEN / 2) / Math.tan(before / 2);
      const d = Math.max(0.45, Math.min(0.94, (ratio - 1) / (ratio + 1)));
      node.cone = 2 * Math.atan((Math.tan(before / 2) * (1 + d)) / (1 - d));
      angle += (weight[i] / total) * half;
      frame.set(node, compose(turn(angle), shift([d, 0])));
      angle += (weight[i] / total) * half;
    });
    parent.fan = { list, frame };
  }

  zoomTo(node, animate = true) {
    const seen = this.frames.get(node);
    this.at = node;
    this.view = seen ?? [[1, 0], [0, 0]];
    if (!seen || !animate) {
      this.view = [[1, 0], [0, 0]];
      this.goal = null;
      return;
    }
    this.goal = { start: performance.now(), from: middle(this.view), turned: compose(shift(middle(this.view).map((v) => -v)), this.view) };
  }

  step(now) {
    if (!this.goal) return false;
    const { start, from, turned } = this.goal, t = Math.min(1, (now - start) / 420), s = 1 - ease(t);
    this.view = compose(shift([from[0] * s, from[1] * s]), turned);
    if (t === 1) this.goal = null;
    return this.goal !== null;
  }

  // Towards the pointer, or back towards the root.
  wheel(x, y, factor, width, height) {
    const p = this.inDisk(x, y, width, height), much = Math.min(0.35, Math.abs(Math.log(factor)));
    const root = this.frames.get(this.nodes.root), to = factor < 1 || !root ? p : middle(root).map((v) => 0.8 * v);
    this.move([-to[0] * much, -to[1] * much]);
  }

  pan(dx, dy, width, height) {
    const r = this.radius(width, height);
    this.move([(0.7 * dx) / r, (0.7 * dy) / r]);
  }

  move(by) {
    this.goal = null;
    this.view = compose(shift(by), this.view);
    let best = this.at, near = Infinity;
    for (const [node, frame] of this.frames) { // the node next to the middle carries the picture from now on
      const [x, y] = middle(compose(shift(by), frame)), d = x * x + y * y;
      if (d < near && !node.more) [best, near] = [node, d];
    }
    if (best !== this.at) {
      this.view = compose(shift(by), this.frames.get(best));
      this.at = best;
    }
  }

  radius(width, height) { return Math.min(width, height) / 2 - 12; }

  inDisk(x, y, width, height) {
    const r = this.radius(width, height), p = [(x - width / 2) / r, (y - height / 2) / r], long = Math.hypot(...p);
    return long < 0.95 ? p : p.map((v) => (0.95 * v) / long);
  }

  draw(ctx, width, height, style) {
    this.boxes = [];
    this.frames = new Map();
    const r = this.radius(width, height), cx = width / 2, cy = height / 2;
    ctx.strokeStyle = style.neutral;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.arc(cx, cy, r, 0, 2 * Math.PI);
    ctx.stroke();
    const dots = [], queue = [{ node: this.at, frame: this.view, from: null }];
    while (queue.length && dots.length < 4000) {
      const { node, frame, from } = queue.shift(), z = middle(frame), room = 1 - z[0] ** 2 - z[1] ** 2;
      this.frames.set(node, frame);
      dots.push({ node, z, room });
      if (room < SMALLEST) continue;
      const around = ((node.kids && this.nodes.children(node)) || []).filter((child) => child.kids || room > ITEMS || style.lit.has(child.id) || child === style.selected);
      for (const child of around) if (child !== from) queue.push(this.branch(ctx, { node: child, frame: compose(frame, this.frameOf(child)), from: node }, z, r, cx, cy, style));
      if (node.parent && node.parent !== from) queue.push(this.branch(ctx, { node: node.parent, frame: compose(frame, inverse(this.frameOf(node))), from: node }, z, r, cx, cy, style));
    }
    dots.sort((a, b) => a.room - b.room);
    for (const dot of dots) this.dot(ctx, dot, r, cx, cy, style);
    const taken = [];
    for (const dot of dots.reverse()) this.label(ctx, dot, r, cx, cy, style, taken);
  }

  // A straight line of the hyperbolic plane: a chord of the Klein model, bent back.
  branch(ctx, next, z, r, cx, cy, style) {
    const end = middle(next.frame), klein = (p) => p.map((v) => (2 * v) / (1 + p[0] ** 2 + p[1] ** 2)), a = klein(z), b = klein(end);
    ctx.strokeStyle = style.lit.has(next.node.id) && style.lit.has(next.from.id) ? style.mark : style.line;
    ctx.lineWidth = style.lit.has(next.node.id) && style.lit.has(next.from.id) ? 3 : Math.max(0.4, 1.6 * (1 - end[0] ** 2 - end[1] ** 2));
    ctx.beginPath();
    for (let i = 0; i <= 8; i++) {
      const t = i / 8, x = a[0] * (1 - t) + b[0] * t, y = a[1] * (1 - t) + b[1] * t, bend = 1 + Math.sqrt(Math.max(0, 1 - x * x - y * y));
      ctx[i ? "lineTo" : "moveTo"](cx + (r * x) / bend, cy + (r * y) / bend);
    }
    ctx.stroke();
    return next;
  }

  dot(ctx, { node, z, room }, r, cx, cy, style) {
    const size = Math.max(1.2, room * (node.kids ? 6 + 9 * (node.size / this.nodes.root.size) ** 0.35 : 5)), x = cx + r * z[0], y = cy + r * z[1];
    ctx.fillStyle = style.fill(node);
    ctx.beginPath();
    ctx.arc(x, y, size, 0, 2 * Math.PI);
    ctx.fill();
    if (style.hits(node)) {
      ctx.strokeStyle = style.mark;
      ctx.lineWidth = 2.5;
      ctx.beginPath();
      ctx.arc(x, y, size + 1, 0, 2 * Math.PI);
      ctx.stroke();
    }
    if (node === style.selected) {
      ctx.strokeStyle = style.ink;
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.arc(x, y, size + 2, 0, 2 * Math.PI);
      ctx.stroke();
    }
    const reach = Math.max(size, 6);
    this.boxes.push({ node, x: x - reach, y: y - reach, w: 2 * reach, h: 2 * reach });
  }

  // Names where there is room: the nearest first, none over another.
  label(ctx, { node, z, room }, r, cx, cy, style, taken) {
    if (room < (node.kids ? 0.1 : 0.3) || taken.length > 60) return;
    const size = Math.round(9 + 6 * room), x = cx + r * z[0], y = cy + r * z[1] - size - 6 * room;
    ctx.font = `${node === this.at ? "600 " : ""}${size}px ${style.face}`;
    const text = fit(ctx, node.name, 60 + 150 * room), w = ctx.measureText(text).width;
    const box = [x - w / 2 - 3, y - size * 0.7, w + 6, size * 1.4];
    if (!text || taken.some((b) => box[0] < b[0] + b[2] && b[0] < box[0] + box[2] && box[1] < b[1] + b[3] && b[1] < box[1] + box[3])) return;
    taken.push(box);
    ctx.fillStyle = style.veil;
    ctx.fillRect(...box);
    ctx.fillStyle = style.ink;
    ctx.textBaseline = "middle";
    ctx.textAlign = "center";
    ctx.fillText(text, x, y);
    ctx.textAlign = "left";
  }
}
