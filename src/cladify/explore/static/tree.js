// The tree from left to right: a column a depth, a box a group, as tall as its share but never too low for its whole
// name. What does not fit is one line of whole names, and "12 more".
import { inkOn } from "./colors.js";
import { number } from "./dom.js";
import { Scene, linesOf } from "./scene.js";

const LOW = 19, SPACING = 1.2, TALL = 26, FIRST = 112, COLUMN = 230; // heights of rows and lines, widths of columns
const HEAD = 14, LETTER = 13, COUNT = 11, LEFT = 6, RIGHT = 8, BESIDE = 8, LOOKED_AT = 40; // letters, room around names, and names to try

export class SideTree extends Scene {
  constructor(nodes) {
    super(nodes);
    this.reset();
  }

  reset() { this.top = this.nodes.root; }
  focus() { return this.top; }
  step() { return false; }
  zoomTo(node) { this.top = node; }
  pan() {}

  // Towards the group under the pointer, or back.
  wheel(x, y, factor) {
    this.turned = (this.turned ?? 0) + Math.log(factor);
    if (Math.abs(this.turned) < 0.4) return;
    if (this.turned > 0) this.top = this.top.parent ?? this.top;
    else {
      let node = this.hit(x, y);
      while (node && node.parent !== this.top && node !== this.top) node = node.parent;
      if (node?.kids) this.top = node;
    }
    this.turned = 0;
  }

  // The lines of a node's name in a box so wide, beside its count.
  label(ctx, node, width, size, bold, style) {
    ctx.font = `${COUNT}px ${style.face}`;
    const aside = node.kids ? ctx.measureText(number(node.size)).width + BESIDE : 0;
    ctx.font = `${bold ? "600 " : ""}${size}px ${style.face}`;
    return linesOf(ctx, node.name, Math.max(30, width - LEFT - RIGHT - aside));
  }

  // Rows of the parts of a group within its height: the largest that fit, and one row that names others.
  rows(parts, top, height, low) {
    const sorted = [...parts].sort((a, b) => (a.more ? 1 : 0) - (b.more ? 1 : 0) || b.size - a.size).slice(0, 2 + Math.floor(height / LOW));
    const whole = sorted.length === parts.length && !sorted.at(-1).more && sorted.reduce((sum, part) => sum + low(part), 0) <= height;
    let spare = height - (whole ? 0 : LOW), count = 0;
    while (count < sorted.length && !sorted[count].more && low(sorted[count]) <= spare) spare -= low(sorted[count++]);
    const shown = sorted.slice(0, count), total = shown.reduce((sum, part) => sum + part.size, 0);
    let y = top;
    const rows = shown.map((node) => {
      const h = low(node) + Math.max(0, spare) * (node.size / total), row = { node, y, h };
      y += h;
      return row;
    });
    const rest = parts.filter((part) => !shown.includes(part)).sort((a, b) => b.size - a.size);
    if (rest.length) rows.push({ node: null, y, h: top + height - y, rest });
    return rows;
  }

  draw(ctx, width, height, style) {
    this.boxes = [];
    this.texts = [];
    const columns = Math.max(1, Math.min(4, Math.floor((width - FIRST) / COLUMN))), wide = (width - FIRST) / columns;
    const left = (depth) => (depth === 0 ? 0 : FIRST + (depth - 1) * wide);
    const across = (node, depth) => (node.kids && depth < columns ? left(depth + 1) : width) - left(depth);
    const stack = [{ node: this.top, depth: 0, y: 0, h: height }];
    while (stack.length) {
      const { node, depth, y, h, rest, parent } = stack.pop(), x = left(depth);
      if (!node) {
        this.others(ctx, { node: parent, x, y, w: width - x, h }, style, rest);
        continue;
      }
      const w = across(node, depth), bold = depth === 0;
      this.paint(ctx, { node, x, y, w: w - 1, h: h - 1 }, style);
      const at = (size) => this.label(ctx, node, w, size, bold, style), large = h >= TALL && depth < 2 ? at(HEAD) : null;
      const size = large && large.length * HEAD * SPACING + 4 <= h ? HEAD : LETTER, name = size === HEAD ? large : at(LETTER);
      const ink = inkOn(style.color(node)), line = size * SPACING, first = h < 2 * LOW ? y + (h - 1 - (name.length - 1) * line) / 2 : y + 5 + size * 0.62;
      this.texts.push([x + LEFT, first - line / 2, Math.max(0, ...name.map((text) => ctx.measureText(text).width)), name.length * line]);
      name.forEach((text, i) => this.write(ctx, text, x + LEFT, first + i * line, ink));
      if (node.kids) this.count(ctx, node, x + w - RIGHT, first, ink, style);
      if (!node.kids || depth === columns) continue;
      const parts = this.nodes.children(node), low = (part) => Math.max(LOW, 4 + LETTER * SPACING * this.label(ctx, part, across(part, depth + 1), LETTER, false, style).length);
      if (parts?.length) for (const row of this.rows(parts, y, h, low)) stack.push({ ...row, depth: depth + 1, parent: node });
    }
  }

  write(ctx, text, x, y, ink) {
    ctx.fillStyle = ink;
    ctx.textBaseline = "middle";
    ctx.fillText(text, x, y);
  }

  count(ctx, node, x, y, ink, style) {
    ctx.font = `${COUNT}px ${style.face}`;
    ctx.textAlign = "right";
    this.write(ctx, number(node.size), x, y, ink);
    ctx.textAlign = "left";
  }

  // Parts that have no row of their own: as many of their names as fit, and how many more there are.
  others(ctx, box, style, rest) {
    this.boxes.push(box);
    if (box.h < 11) return;
    ctx.font = `12px ${style.face}`;
    const many = rest.reduce((sum, part) => sum + (part.more ? Number(/\d+/.exec(part.name)?.[0] ?? 1) : 1), 0), names = rest.filter((part) => !part.more).map((part) => part.name);
    const kids = rest.some((part) => part.kids), alone = rest.length === this.nodes.children(box.node)?.length; // none of them has a row
    let text = alone ? (kids ? `${number(many)} parts` : "") : `${number(many)} more`, used = 0; // how many items, the group says
    const said = [];
    for (const name of names.slice(0, LOOKED_AT)) {
      const longer = [...said, name].join(" · "), left = many - used - 1, tried = left ? `${longer} · ${number(left)} more` : longer;
      if (ctx.measureText(tried).width > box.w - LEFT - RIGHT) {
        if (kids && used) break; // groups by their size, items as they fit
        continue;
      }
      said.push(name);
      [text, used] = [tried, used + 1];
    }
    if (!text) return;
    this.texts.push([box.x + LEFT, box.y + box.h / 2 - 7, ctx.measureText(text).width, 14]);
    this.write(ctx, text, box.x + LEFT, box.y + box.h / 2, style.ink);
  }
}
