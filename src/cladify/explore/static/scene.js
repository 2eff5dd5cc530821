// What the pictures share: the boxes drawn last, finding the one under the pointer, and text that fits.
import { css } from "./colors.js";

export const FACE = 'system-ui, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif';

export class Scene {
  constructor(nodes) {
    this.nodes = nodes;
    this.boxes = []; // of groups: {node, x, y, w, h}
    this.texts = []; // and of names: [x, y, w, h]
  }

  // The topmost box drawn at a point.
  hit(x, y) {
    for (let i = this.boxes.length - 1; i >= 0; i--) {
      const box = this.boxes[i];
      if (x >= box.x && x < box.x + box.w && y >= box.y && y < box.y + box.h) return box.node;
    }
    return null;
  }

  boxOf(node) {
    return this.boxes.find((box) => box.node === node);
  }

  paint(ctx, box, style) {
    const { node, x, y, w, h } = box;
    this.boxes.push(box);
    const color = style.color(node);
    ctx.fillStyle = css(color);
    ctx.fillRect(x, y, w, h);
    if (w > 3 && h > 3) {
      ctx.strokeStyle = style.edge;
      ctx.lineWidth = 1;
      ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    }
    const found = style.hits(node);
    if (found) { // the share that a search found, never too narrow to be seen
      ctx.fillStyle = style.mark;
      ctx.fillRect(x, y + h - 4, Math.max(6, (w * found) / node.size), 4);
    }
    if (style.lit.has(node.id)) {
      ctx.strokeStyle = style.mark;
      ctx.lineWidth = 3;
      ctx.strokeRect(x + 1.5, y + 1.5, Math.max(w - 3, 1), Math.max(h - 3, 1));
    }
    if (node === style.selected) {
      ctx.strokeStyle = style.ink;
      ctx.lineWidth = 2;
      ctx.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), Math.max(h - 2, 1));
    }
  }
}

// As much of a text as fits, with an ellipsis; nothing where not even three letters do.
export function fit(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : text.slice(0, low).trimEnd() + "…";
}

// A whole text on as many lines as it needs, broken at spaces, and inside words that are wider than a line.
export function linesOf(ctx, text, width) {
  const wide = (part) => ctx.measureText(part).width > width, found = [];
  let line = "";
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word;
    if (!wide(longer)) { line = longer; continue; }
    if (line) found.push(line);
    line = word;
    while (wide(line)) {
      let end = 1;
      while (end < line.length && !wide(line.slice(0, end + 1))) end++;
      const soft = Math.max(...[..."-_/.:,&"].map((mark) => line.lastIndexOf(mark, end - 1))) + 1; // after a mark, if there is one
      if (soft > end / 3) end = soft;
      if (end >= line.length) break;
      found.push(line.slice(0, end));
      line = line.slice(end);
    }
  }
  return line ? [...found, line] : found;
}

export function ease(t) {
  return t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2;
}
