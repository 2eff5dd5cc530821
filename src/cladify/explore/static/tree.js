// The tree from left to right: a column a depth, a box a group, as tall as its share but never too low to read. What
// does not fit is one line of names, and "12 more".
import { inkOn } from "./colors.js";
import { number } from "./dom.js";
import { Scene, fit } from "./scene.js";

const LOW = 19, TALL = 26, FIRST = 118, COLUMN = 230, COUNT = 48; // heights of rows, widths of columns and of counts

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

  // Rows of the parts of a group within its height: the largest that fit, and one row that names others.
  rows(parts, top, height) {
    const sorted = [...parts].sort((a, b) => (a.more ? 1 : 0) - (b.more ? 1 : 0) || b.size - a.size);
    const room = Math.floor(height / LOW), all = sorted.length <= room && !sorted.at(-1).more;
    const shown = all ? sorted : sorted.filter((part) => !part.more).slice(0, Math.max(0, room - 1));
    const total = shown.reduce((sum, part) => sum + part.size, 0), spare = height - LOW * (shown.length + (all ? 0 : 1));
    let y = top;
    const rows = shown.map((node) => {
      const h = LOW + Math.max(0, spare) * (node.size / total), row = { node, y, h };
      y += h;
      return row;
    });
    if (!all) rows.push({ node: null, y, h: top + height - y, rest: sorted.slice(shown.length) });
    return rows;
  }

  draw(ctx, width, height, style) {
    this.boxes = [];
    this.shortened = 0; // names that are not drawn in full
    const columns = Math.max(1, Math.min(4, Math.floor((width - FIRST) / COLUMN))), wide = (width - FIRST) / columns;
    const left = (depth) => (depth === 0 ? 0 : FIRST + (depth - 1) * wide);
    const stack = [{ node: this.top, depth: 0, y: 0, h: height }];
    while (stack.length) {
      const { node, depth, y, h, rest, parent } = stack.pop(), x = left(depth);
      if (!node) {
        this.others(ctx, { node: parent, x, y, w: width - x, h }, style, rest);
        continue;
      }
      const w = (node.kids && depth < columns ? left(depth + 1) : width) - x, size = h >= TALL && depth < 2 ? 14 : 13;
      this.paint(ctx, { node, x, y, w: w - 1, h: h - 1 }, style, { x: x + 2, y, w: w - (node.kids ? COUNT : 6), h: h - 1, size, bold: depth === 0 });
      if (node.kids) this.count(ctx, node, x + w - 8, h < 2 * LOW ? y + h / 2 : y + 5 + size * 0.62, style);
      if (!node.kids || depth === columns) continue;
      const parts = this.nodes.children(node);
      if (parts?.length) for (const row of this.rows(parts, y, h)) stack.push({ ...row, depth: depth + 1, parent: node });
    }
  }

  count(ctx, node, x, y, style) {
    ctx.font = `11px ${style.face}`;
    ctx.fillStyle = inkOn(style.color(node));
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    ctx.fillText(number(node.size), x, y);
    ctx.textAlign = "left";
  }

  // Parts that have no row of their own: as many of their names as fit, and how many more there are.
  others(ctx, box, style, rest) {
    this.boxes.push(box);
    if (box.h < 11) return;
    ctx.font = `12px ${style.face}`;
    ctx.fillStyle = style.ink;
    ctx.textBaseline = "middle";
    const many = rest.reduce((sum, part) => sum + (part.more ? Number(/\d+/.exec(part.name)?.[0] ?? 1) : 1), 0), names = rest.filter((part) => !part.more).map((part) => part.name);
    let text = `${number(many)} more`, used = 0;
    for (const name of names) {
      const longer = [...names.slice(0, used), name].join(" · "), left = many - used - 1, tried = left ? `${longer} · ${number(left)} more` : longer;
      if (ctx.measureText(tried).width > box.w - 16) break;
      [text, used] = [tried, used + 1];
    }
    if (!used && names.length) { // not even one name fits: a part of it
      const tail = many > 1 ? ` · ${number(many - 1)} more` : "", part = fit(ctx, names[0], box.w - 16 - ctx.measureText(tail).width);
      if (part) text = part + tail;
    }
    if (text.includes("…")) this.shortened++;
    ctx.fillText(text, box.x + 8, box.y + box.h / 2);
  }
}
