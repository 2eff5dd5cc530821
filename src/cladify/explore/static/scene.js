// What the pictures share: the boxes drawn last, finding the one under the pointer, and text that fits its box.
import { css, inkOn } from "./colors.js";

export const FACE = 'system-ui, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif';

export class Scene {
  constructor(nodes) {
    this.nodes = nodes;
    this.boxes = [];
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

  paint(ctx, box, style, label) {
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
    if (label) this.write(ctx, node, label, inkOn(color));
  }

  write(ctx, node, { x, y, w, h, size, bold }, ink) {
    if (h < 10 || w < 9) return;
    ctx.font = `${bold ? "600 " : ""}${size}px ${FACE}`;
    ctx.fillStyle = ink;
    ctx.textBaseline = "middle";
    if (w < 26 && h <= 56) return;
    if (w < 34 && h > 56) return this.upright(ctx, node.name, x + w / 2, y, w, h, size);
    const line = size * 1.25, lines = h < 2.6 * line ? [fit(ctx, node.name, w - 8)] : wrap(ctx, node.name, w - 8, Math.min(5, Math.floor((h - 6) / line)));
    if (w < 72 && h > 56 && lines.some((text, i) => !text || (i < lines.length - 1 && text.endsWith("…")))) return this.upright(ctx, node.name, x + w / 2, y, w, h, size);
    if (lines.some((text) => !text || text.endsWith("…"))) this.shortened = (this.shortened ?? 0) + 1;
    const top = lines.length > 1 || h >= 2.6 * line ? y + 4 + line / 2 : y + h / 2;
    lines.forEach((text, i) => { if (text) ctx.fillText(text, x + 4, top + i * line); });
  }

  // In a narrow box, from the top downwards.
  upright(ctx, name, x, y, w, h, size) {
    const small = Math.min(12, w - 1);
    if (size > small) ctx.font = `${small}px ${FACE}`;
    const text = fit(ctx, name, h - 10);
    if (!text) return;
    ctx.save();
    ctx.translate(x, y + 5);
    ctx.rotate(Math.PI / 2);
    ctx.fillText(text, 0, 0);
    ctx.restore();
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

// A text on several lines, broken at spaces; what does not fit is cut.
export function wrap(ctx, text, width, most) {
  const lines = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (line && ctx.measureText(longer).width > width) {
      lines.push(line);
      line = word;
    } else line = longer;
    if (lines.length === most) return lines.map((each, i) => fit(ctx, i === most - 1 ? `${each}…` : each, width));
  }
  return [...lines, line].map((each) => fit(ctx, each, width));
}

export function ease(t) {
  return t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2;
}
