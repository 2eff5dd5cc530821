// The map: items as points, similar ones near each other, with the names of groups on their islands. The server sends a
// sample of the items in sight; coming closer brings more of them.
import { COLORS, binColor, clusterColor, css, grey, mix } from "./colors.js";
import { Dots } from "./dots.js";
import { arrange, arrangeItems, chosen, isOpen, write } from "./labels.js";
import { Scene, ease } from "./scene.js";
import { shades } from "./shades.js";
import { Sight } from "./sight.js";

const MARGIN = 34, CLOSEST = 4000, REACH = 9; // pixels around the map, the largest zoom, and of the pointer
const QUICK = 12000; // points drawn while the picture moves
const MARKED = 3000; // of what a search found
const OPENS = 1.15; // the zoom from which a group that is too large for the picture gives way to its parts
const NAMED = 120, APART = 400; // items in sight that are written beside their points, and that names of groups keep off
const AGAIN = 200; // how bad it is to use a colour again

// The same points in an order in which every beginning is spread evenly over all of them.
function mixed(places, colors) {
  const n = places.length / 2, step = Math.max(1, Math.round(n * 0.6180339887)), pairs = new Float32Array(2 * n), words = new Uint32Array(n), from = new Uint32Array(colors.buffer);
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  let by = step;
  while (gcd(by, n) > 1) by++;
  for (let i = 0, at = 0; i < n; i++, at = (at + by) % n) {
    pairs[2 * i] = places[2 * at];
    pairs[2 * i + 1] = places[2 * at + 1];
    words[i] = from[at];
  }
  return [pairs, new Uint8Array(words.buffer)];
}

export class PointMap extends Scene {
  constructor(nodes, source, onNews) {
    super(nodes);
    Object.assign(this, { source, onNews, dots: new Dots(), islands: [], starts: [], ends: [], color: new Map(), names: [], keep: [], only: {}, column: null, found: null, itemBoxes: [], texts: new Map() });
    this.x = this.y = new Float64Array(0);
    this.place = new Uint32Array(0);
    this.bounds = { left: 0, top: 0, right: 1, bottom: 1 };
    this.reset();
  }

  async load() {
    this.texts = new Map(); // of items, by place
    const [{ islands }] = await Promise.all([this.source.islands(), this.fetch()]);
    this.islands = islands;
    const middle = (values) => Float64Array.from(values).sort(), at = (values, share) => values[Math.round(share * (values.length - 1))] ?? share;
    const x = middle(this.x), y = middle(this.y); // a few lonely points must not make everything else small
    this.bounds = { left: at(x, 0.002), right: at(x, 0.998), top: at(y, 0.002), bottom: at(y, 0.998) };
    this.lit = null;
    this.onNews();
  }

  async fetch(left = 0, top = 0, side = 1) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.window = [left, top, side];
    const buffer = await this.source.points({ left, top, side, ...this.only });
    if (turn !== this.turn) return;
    const data = new DataView(buffer);
    const window = [0, 8, 16].map((at) => data.getFloat64(at, true)), count = data.getUint32(28, true), unit = window[2] / 65535;
    this.whole = (data.getUint32(24, true) === 1 && side >= 1) || this.source.sampled === true;
    this.place = new Uint32Array(data.buffer.slice(32, 32 + 4 * count));
    const across = new Uint16Array(data.buffer.slice(32 + 4 * count, 32 + 6 * count)), down = new Uint16Array(data.buffer.slice(32 + 6 * count, 32 + 8 * count));
    this.x = Float64Array.from(across, (value) => window[0] + value * unit);
    this.y = Float64Array.from(down, (value) => window[1] + value * unit);
    this.codes = this.only.column === undefined ? null : new Uint8Array(data.buffer.slice(32 + 8 * count, 32 + 9 * count));
    this.lit = null;
    this.onNews();
  }

  // Items that a search finds, in the same part of the plane.
  async light(q) {
    this.q = q;
    if (!q) this.found = null;
    else {
      const [left, top, side] = this.window ?? [0, 0, 1], { column: _, ...only } = this.only;
      const data = new DataView(await this.source.points({ left, top, side, ...only, q })), count = data.getUint32(28, true), step = Math.ceil(count / MARKED) || 1;
      if (q !== this.q) return;
      const at = (from, origin) => Array.from({ length: Math.floor((count + step - 1) / step) }, (_, i) => origin + (data.getUint16(from + 2 * i * step, true) * data.getFloat64(16, true)) / 65535);
      this.found = { x: at(32 + 4 * count, data.getFloat64(0, true)), y: at(32 + 6 * count, data.getFloat64(8, true)) };
    }
    this.onNews();
  }

  // The place of the plane at a pixel.
  plane(x, y) {
    const { scale, left, top } = this.last;
    return [(x - left) / scale, (y - top) / scale];
  }

  // Show only items that pass the filters, coloured by a column (null: by their group).
  async show(filter, column, index) {
    const only = { ...(filter ? { filter } : {}), ...(column ? { column: index } : {}) }, same = JSON.stringify(only) === JSON.stringify(this.only);
    Object.assign(this, { column, only });
    if (!same || !this.window) await this.fetch(...(this.window ?? []));
  }

  // After a zoom the server may know more points than are drawn.
  refine() {
    clearTimeout(this.wait);
    if (this.whole) { this.wait = setTimeout(() => this.onColours?.(), 160); return; }
    this.wait = setTimeout(() => {
      const { x, y, zoom } = this.camera, side = Math.min(1, 1.6 / zoom), inside = (v) => Math.max(0, Math.min(1 - side, v - side / 2));
      this.onColours?.();
      this.fetch(inside(x), inside(y), side).then(() => this.q && this.light(this.q)).catch(() => {});
    }, 160);
  }

  reset() {
    this.camera = { x: null, y: null, zoom: 1 };
    this.goal = null;
  }

  focus() { return this.nodes.root; }

  step(now) {
    if (!this.goal) return false;
    const { start, was, camera } = this.goal, t = Math.min(1, (now - start) / 450), s = ease(t);
    const zoom = was.zoom ** (1 - s) * camera.zoom ** s, share = was.zoom === camera.zoom ? s : (1 / was.zoom - 1 / zoom) / (1 / was.zoom - 1 / camera.zoom);
    this.camera = t === 1 ? camera : { zoom, x: was.x + (camera.x - was.x) * share, y: was.y + (camera.y - was.y) * share };
    if (t === 1) this.goal = null;
    return true;
  }

  // The part of the plane that the picture shows.
  view(width, height) {
    const { left, right, top, bottom } = this.bounds, c = this.camera;
    const aside = width >= 640 ? this.aside ?? 0 : 0; // beside the legend, where there is room
    const unit = Math.min((width - aside - 2 * MARGIN) / Math.max(right - left, 1e-9), (height - 2 * MARGIN) / Math.max(bottom - top, 1e-9));
    if (c.x === null) Object.assign(c, { x: (left + right) / 2, y: (top + bottom) / 2 });
    const scale = unit * c.zoom, middle = (width + aside) / 2;
    return { scale, left: middle - c.x * scale, top: height / 2 - c.y * scale, unit, middle };
  }

  // Clusters of a cut are stretches of the line of items. Where the picture is so close that one fills it, its parts have
  // colours of their own.
  colour(cut) {
    this.cut = cut;
    this.key = null;
    this.color = new Map();
    this.recolour(1, Infinity);
  }

  // The groups above those of the cut.
  above() {
    if (this.aboveOf?.cut === this.cut && this.aboveOf?.islands === this.islands) return this.aboveOf.found;
    const parent = new Map(this.islands.map((each) => [each.id, each.parent])), found = new Set();
    for (const id of this.cut?.nodes ?? []) for (let v = parent.get(id); v !== undefined && !found.has(v); v = parent.get(v)) found.add(v);
    this.aboveOf = { cut: this.cut, islands: this.islands, found };
    return found;
  }

  recolour(scale, side) {
    if (this.key !== null && this.colouredAt === `${scale} ${side}`) return false; // a move sideways changes nothing
    this.colouredAt = `${scale} ${side}`;
    const island = new Map(this.islands.map((each) => [each.id, each])), parts = new Map(), found = [];
    for (const each of this.islands) parts.set(each.parent, parts.get(each.parent) ?? []).get(each.parent).push(each);
    const visit = (id, start, end) => {
      const inside = isOpen(island.get(id), scale, side) ? (parts.get(id) ?? []).toSorted((a, b) => a.first - b.first) : [];
      let at = start;
      if (inside.length > 1) for (const part of inside) {
        if (part.first > at) found.push([id, at, part.first]);
        visit(part.id, part.first, part.first + part.size);
        at = part.first + part.size;
      }
      if (at < end) found.push([id, at, end]);
    };
    this.cut?.nodes.forEach((id, i) => visit(id, this.cut.starts?.[i] ?? 0, this.cut.ends?.[i] ?? 0));
    const key = found.map(([id]) => id).join();
    if (key === this.key) return false;
    this.key = key;
    [this.nodesOfCut, this.starts, this.ends] = [0, 1, 2].map((i) => found.map((each) => each[i]));
    this.spread([...new Set(this.nodesOfCut)].map((id, i) => ({ id, i, island: island.get(id) })));
    return true;
  }

  // Groups that are near each other get colours that are far apart; those that have one keep it.
  spread(groups) {
    const seen = [], color = new Map(), known = (id) => this.color.has(id);
    const sorted = groups.sort((a, b) => (b.island?.size ?? 0) - (a.island?.size ?? 0));
    const palette = Array.from({ length: COLORS }, (_, i) => clusterColor(i, false));
    const alike = palette.map((one) => palette.map((two) => Math.exp(-Math.hypot(one[0] - two[0], one[1] - two[1], one[2] - two[2]) / 70)));
    for (const { id, i, island: here } of [...sorted.filter((each) => known(each.id)), ...sorted.filter((each) => !known(each.id))]) {
      let best = this.color.get(id) ?? i % COLORS;
      if (here && !known(id) && seen.length < 300) {
        const cost = palette.map((_, c) => 0.02 * c + seen.reduce((sum, other) => sum + (other.color === c ? AGAIN : 0) + alike[c][other.color] / (0.003 + (other.x - here.x) ** 2 + (other.y - here.y) ** 2), 0));
        best = cost.indexOf(Math.min(...cost));
      }
      if (here) seen.push({ x: here.x, y: here.y, color: best });
      color.set(id, best);
    }
    this.color = color;
    this.names = sorted.filter((each) => each.island).map((each) => ({ ...each.island, color: color.get(each.id) }));
    this.lit = null;
  }

  zoomTo(node, animate = true) {
    let goal = { x: (this.bounds.left + this.bounds.right) / 2, y: (this.bounds.top + this.bounds.bottom) / 2, zoom: 1 };
    if (node.parent) {
      const island = this.islands.find((each) => each.id === node.id), xs = [], ys = [];
      for (let i = 0; i < this.place.length; i++) if (this.place[i] >= node.place && this.place[i] < node.place + node.size) { xs.push(this.x[i]); ys.push(this.y[i]); }
      if (!island && !xs.length) return;
      const low = (values) => values.sort((a, b) => a - b)[Math.floor(0.04 * values.length)], high = (values) => values[Math.ceil(0.96 * (values.length - 1))];
      const box = xs.length > 8 ? { left: low(xs), right: high(xs), top: low(ys), bottom: high(ys) } : null;
      const at = box ?? { left: island?.x ?? xs[0], right: island?.x ?? xs[0], top: island?.y ?? ys[0], bottom: island?.y ?? ys[0] };
      const span = Math.max((at.right - at.left) / Math.max(this.bounds.right - this.bounds.left, 1e-9), (at.bottom - at.top) / Math.max(this.bounds.bottom - this.bounds.top, 1e-9), 0.02);
      goal = { x: (at.left + at.right) / 2, y: (at.top + at.bottom) / 2, zoom: Math.max(1, Math.min(CLOSEST, 0.8 / span)) };
    }
    if (animate && this.camera.x !== null) this.goal = { camera: goal, was: { ...this.camera }, start: performance.now() };
    else Object.assign(this, { camera: goal, goal: null });
    this.refine();
  }

  wheel(x, y, factor, width, height) {
    const { scale, left, top, unit, middle } = this.view(width, height), zoom = Math.max(0.5, Math.min(CLOSEST, this.camera.zoom / factor));
    const atX = (x - left) / scale, atY = (y - top) / scale, next = unit * zoom;
    this.camera = { zoom, x: atX - (x - middle) / next, y: atY - (y - height / 2) / next };
    this.goal = null;
    this.moved();
    this.refine();
  }

  // While the picture moves, some of the points stand for all.
  moved() {
    this.quick = true;
    clearTimeout(this.calm);
    this.calm = setTimeout(() => { this.quick = false; this.onNews(); }, 140);
  }

  pan(dx, dy, width, height) {
    const { scale } = this.view(width, height);
    this.camera.x -= dx / scale;
    this.camera.y -= dy / scale;
    this.goal = null;
    this.moved();
    this.refine();
  }

  // Colours of the points, and the soft regions: anew when the cut, the choice or the points change.
  paints(style) {
    const pick = style.selected, chosenNode = pick?.parent && pick.kids ? pick : null;
    if (this.lit?.pick === chosenNode && this.lit.dark === style.dark) return this.lit;
    const n = this.x.length, colors = new Uint8Array(4 * n), places = new Float32Array(2 * n);
    const palette = this.codes && this.column ? Array.from({ length: 256 }, (_, code) => binColor(this.column, code, style.dark)) : Array.from({ length: COLORS }, (_, i) => clusterColor(i, style.dark));
    const none = grey(style.dark);
    let cluster = 0;
    for (let i = 0; i < n; i++) {
      while (cluster < this.starts.length && this.ends[cluster] <= this.place[i]) cluster++;
      const inCut = cluster < this.starts.length && this.starts[cluster] <= this.place[i];
      const color = this.codes && this.column ? palette[this.codes[i]] : inCut ? palette[this.color.get(this.nodesOfCut[cluster]) ?? 0] : none;
      const inside = !chosenNode || (this.place[i] >= chosenNode.place && this.place[i] < chosenNode.place + chosenNode.size);
      colors.set([...color, inside ? 215 : 40], 4 * i);
      places[2 * i] = this.x[i];
      places[2 * i + 1] = this.y[i];
    }
    this.dots.load(...mixed(places, colors));
    const [dx, dy] = [0.06 * (this.bounds.right - this.bounds.left), 0.06 * (this.bounds.bottom - this.bounds.top)];
    const { left, right, top, bottom } = this.whole || this.camera.zoom < 1.5 ? this.bounds : { left: Math.min(...this.x), right: Math.max(...this.x), top: Math.min(...this.y), bottom: Math.max(...this.y) };
    const soft = n ? shades(this.x, this.y, colors, { left: left - dx, right: right + dx, top: top - dy, bottom: bottom + dy }) : null;
    this.lit = { pick: chosenNode, dark: style.dark, colors, soft };
    return this.lit;
  }

  draw(ctx, width, height, style) {
    const view = this.view(width, height), { scale, left, top } = view;
    const far = this.camera.zoom < OPENS, side = Math.min(width, height); // from afar, the groups of the cut as they are
    if (!this.goal && !this.column && this.recolour(scale, far ? Infinity : side)) this.onColours?.();
    const { colors, soft } = this.paints(style);
    if (soft && ctx.drawImage) {
      ctx.imageSmoothingEnabled = true;
      ctx.globalAlpha = Math.min(1, 3 / this.camera.zoom); // close by, points say more than regions
      ctx.drawImage(soft.canvas, soft.left * scale + left, soft.top * scale + top, soft.side * scale, soft.side * scale);
      ctx.globalAlpha = 1;
    }
    const size = Math.max(2.2, Math.min(12, Math.sqrt((0.1 * width * height) / (1 + this.x.length)) * Math.min(2.5, Math.sqrt(this.camera.zoom))));
    if (!ctx.drawImage || !this.dots.draw(ctx, width, height, view, size, this.quick || this.goal ? QUICK : Infinity)) this.oneByOne(ctx, width, height, view, size, colors);
    this.marks(ctx, style, view, size);
    this.mark(ctx, style, view, size);
    this.sight = new Sight(this, view, width, height);
    const candidates = chosen(this.islands, this.nodes.root.id, scale, side, { whole: new Set(far ? this.cut?.nodes : []), above: this.above() }, this.sight);
    const away = size / 2 + 1, few = this.sight.place.length <= APART, dots = few ? this.sight.x.map((x, i) => ({ x: x - away, y: this.sight.y[i] - away, w: 2 * away, h: 2 * away })) : [];
    this.boxes = arrange(ctx, candidates, { width, height, sight: this.sight, scale, face: style.face, total: this.nodes.root.size, far, dots }, this.keep);
    const ink = style.dark ? [238, 241, 244] : [16, 21, 26];
    for (const box of this.boxes) {
      const index = this.column ? undefined : this.colorOf(box.island);
      box.ink = index === undefined ? style.ink : css(mix(clusterColor(index, style.dark), ink, 0.62));
      write(ctx, box, style, box.ink);
    }
    this.itemTexts(ctx, width, height, style, size);
    this.last = view;
  }

  // Where there are few items in sight, one reads them.
  itemTexts(ctx, width, height, style, size) {
    this.itemBoxes = [];
    const here = this.sight.place;
    if (!here.length || here.length > NAMED || !(this.whole || this.nodes.root.size <= NAMED || this.camera.zoom > 1)) return;
    const missing = [...here].filter((place) => !this.texts.has(place));
    if (missing.length) {
      for (const place of missing) this.texts.set(place, "");
      this.source.texts(missing).then(({ texts }) => { missing.forEach((place, i) => this.texts.set(place, texts[i] ?? "")); this.onNews(); }).catch(() => {});
    }
    const items = [...here].map((place, i) => ({ x: this.sight.x[i], y: this.sight.y[i], text: this.texts.get(place) })).filter(({ text }) => text);
    this.itemBoxes = arrangeItems(ctx, items, { width, height, face: style.face, away: size / 2 + 1 }, [...this.boxes, ...this.keep]);
    for (const box of this.itemBoxes) write(ctx, box, style, style.ink);
  }

  // The coloured groups in sight, or all of them before the first picture.
  namesInView() {
    return this.sight && this.camera.zoom >= 1.2 ? this.names.filter((island) => this.sight.at(island)) : this.names;
  }

  colorOf(island) {
    for (let i = this.starts.length - 1; i >= 0; i--) if (this.starts[i] <= island.first && island.first + island.size <= this.ends[i]) return this.color.get(this.nodesOfCut[i]);
    return undefined;
  }

  oneByOne(ctx, width, height, { scale, left, top }, size, colors) {
    const round = this.x.length < 15000 || !ctx.drawImage;
    for (let i = 0; i < this.x.length; i++) {
      const x = this.x[i] * scale + left, y = this.y[i] * scale + top;
      if (x < -size || y < -size || x > width + size || y > height + size) continue;
      ctx.globalAlpha = colors[4 * i + 3] / 255;
      ctx.fillStyle = `rgb(${colors[4 * i]} ${colors[4 * i + 1]} ${colors[4 * i + 2]})`;
      if (!round) {
        ctx.fillRect(x - size / 2, y - size / 2, size, size);
        continue;
      }
      ctx.beginPath();
      ctx.arc(x, y, size / 2, 0, 2 * Math.PI);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
  }

  // What a search found, and the lasso.
  marks(ctx, style, { scale, left, top }, size) {
    ctx.strokeStyle = style.mark;
    ctx.lineWidth = 1.5;
    for (let i = 0; i < (this.found?.x.length ?? 0); i++) {
      ctx.beginPath();
      ctx.arc(this.found.x[i] * scale + left, this.found.y[i] * scale + top, Math.max(3.5, size * 0.8), 0, 2 * Math.PI);
      ctx.stroke();
    }
    if (!this.lasso?.length) return;
    ctx.lineWidth = 2;
    ctx.beginPath();
    this.lasso.forEach(([x, y], i) => ctx[i ? "lineTo" : "moveTo"](x * scale + left, y * scale + top));
    ctx.lineTo(this.lasso[0][0] * scale + left, this.lasso[0][1] * scale + top);
    ctx.stroke();
  }

  // A selected item stands out.
  mark(ctx, style, { scale, left, top }, size) {
    const pick = style.selected;
    if (!pick || pick.kids) return;
    const i = this.place.indexOf(pick.place);
    if (i < 0) return;
    ctx.strokeStyle = style.mark;
    ctx.lineWidth = 3;
    ctx.beginPath();
    ctx.arc(this.x[i] * scale + left, this.y[i] * scale + top, size + 5, 0, 2 * Math.PI);
    ctx.stroke();
  }

  // What is under the pointer: a name {id}, an item {place}, or nothing.
  pick(x, y) {
    const box = this.boxes.find((each) => x >= each.x && x < each.x + each.w && y >= each.y && y < each.y + each.h);
    if (box) return { id: box.island.id, name: box.island.name, size: box.island.size };
    if (!this.last) return null;
    const { scale, left, top } = this.last, atX = (x - left) / scale, atY = (y - top) / scale;
    let best = -1, near = (REACH / scale) ** 2;
    for (let i = 0; i < this.x.length; i++) {
      const d = (this.x[i] - atX) ** 2 + (this.y[i] - atY) ** 2;
      if (d < near) [best, near] = [i, d];
    }
    return best < 0 ? null : { place: this.place[best], index: best };
  }

  // Where an item of the sample was drawn.
  screen(place) {
    const i = this.place.indexOf(place), { scale, left, top } = this.last;
    return i < 0 ? null : [this.x[i] * scale + left, this.y[i] * scale + top];
  }

  hit() { return null; }
}
