// Names on their islands: those of the groups that fit the zoom, large ones first, none over another or beyond the edge.
import { linesOf } from "./scene.js";

const TOO_LARGE = 0.2; // a group whose half reaches over this share of the picture is too large to be named: its parts are
const FADE = [0.2, 0.5]; // shares of that reach from which the names of its parts begin to show, and show in full
const WIDE = 170, LINES = 3, GAP = 5, EDGE = 6, LEAST = 11, FROM_AFAR = 22, STRAYS = 0.02;
const SMALL = 36, WHOLE = 1.3; // pixels of a small group, and how far it goes for the half of it that is its reach
const NEAR = [[0, 0], [0, -0.7], [0, 0.7], [0, -1.4], [0, 1.4], [-0.35, -0.7], [0.35, 0.7], [-0.5, 0], [0.5, 0]]; // of its own width and height
const FAR = [[0, -2.2], [0, 2.2], [-0.55, -1.2], [0.55, -1.2], [-0.55, 1.2], [0.55, 1.2]];
const LESS = [1, 0.86, 0.74]; // of the size of a name: a smaller one on its island is better than a large one beside it

// A name would cover a small group: it goes above, below or beside it, and only then over it. That of a part is on it, or nowhere.
function places(reach, w, h, part) {
  const tries = part ? NEAR.slice(0, 3) : NEAR;
  if (reach > SMALL || part) return tries;
  const down = (0.5 * h + reach + GAP) / h, right = (0.5 * w + reach + GAP) / w;
  return [[0, -down], [0, down], [right, 0], [-right, 0], ...tries];
}

// Whether a group is too large for its place in the picture, so that its parts stand for it.
export function isOpen(island, scale, side) {
  return island !== undefined && island.reach * scale > TOO_LARGE * side;
}

// The groups to name: {island, alpha, rank}, by rank and then by size. Those in `above` are above coloured groups, which
// are named, as in the legend. Those in `whole` stand for their parts at any size, and so do those of whose parts nothing is
// in sight.
export function chosen(islands, root, scale, side, { whole, above }, sight) {
  const parts = new Map(), found = [];
  for (const island of islands) {
    if (!parts.has(island.parent)) parts.set(island.parent, []);
    parts.get(island.parent).push(island);
  }
  const visit = (island, rank, alpha) => {
    const inside = parts.get(island.id) ?? [], share = (island.reach * scale) / (TOO_LARGE * side);
    const open = island.id === root || above.has(island.id) || (share > 1 && inside.length > 1 && !whole.has(island.id) && inside.some((part) => sight.at(part)));
    if (!open) found.push({ island, rank, alpha });
    const shown = open ? alpha : alpha * Math.max(0, Math.min(1, (share - FADE[0]) / (FADE[1] - FADE[0])));
    if (shown > 0.25) for (const part of inside) visit(part, open ? rank : rank + 1, shown);
  };
  visit({ id: root, reach: Infinity }, 0, 1);
  return found.sort((a, b) => a.rank - b.rank || b.island.size - a.island.size);
}

// The lines of a whole name, how wide they are, and their size: a long name has smaller letters and wider lines rather
// than an end that is cut. Measured once, as a picture has hundreds of names.
const widths = new Map();
function measured(ctx, name, weight, size, most, face) {
  const key = `${weight}|${size}|${most}|${name}`;
  let found = widths.get(key);
  if (!found) {
    for (let letters = size, room = WIDE + 4 * size; ; letters = Math.max(LEAST, letters - 1), room *= 1.12) {
      ctx.font = `${weight} ${letters}px ${face}`;
      const width = Math.min(room, most), lines = linesOf(ctx, name, width);
      found = { lines, size: letters, w: Math.max(0, ...lines.map((text) => ctx.measureText(text).width)) };
      if (lines.length <= LINES || (letters === LEAST && width === most)) break;
    }
    if (widths.size > 20000) widths.clear();
    widths.set(key, found);
  }
  return found;
}

// Boxes of names that fit: {island, lines, size, line, x, y, w, h, alpha, bold}. `taken` are boxes to keep free. From afar
// the names of parts are few, so that one sees the islands first.
export function arrange(ctx, candidates, { width, height, sight, scale, face, total, far, dots = [] }, taken) {
  const boxes = [], used = [...taken];
  const free = (box) => used.every((other) => box.x + box.w + GAP <= other.x || other.x + other.w + GAP <= box.x || box.y + box.h + GAP <= other.y || other.y + other.h + GAP <= box.y);
  const said = new Set(), large = Math.max(0.8, Math.min(1.3, Math.min(width, height) / 640)); // on a large screen larger, on a phone smaller
  let few = FROM_AFAR - candidates.filter((each) => each.rank === 0).length;
  for (const { island, rank, alpha } of candidates) {
    const at = sight.at(island), plain = island.name.replace(/ \(\d+\)$/, "");
    if (rank > 0 && said.has(plain)) continue; // "green (2)" says no more than "green"
    if (!at || boxes.length > 150) continue;
    if (rank > 0 && far && --few < 0) break;
    const [x, y] = at;
    const wanted = Math.round(large * (rank === 0 ? 12 + 10 * Math.min(1, Math.sqrt((3 * island.size) / total)) : Math.max(11, 14 - rank))), bold = rank === 0;
    // Beside its points, where these are few. Near the middle, then smaller, then on other points of the group, and at last a little off.
    const box = (dots.length ? found([0.86], island, wanted, bold, [[x, y]], (w, h) => [...places(WHOLE * island.reach * scale, w, h, false), ...FAR], dots) : null)
      ?? found(LESS.slice(0, bold ? 3 : 1), island, wanted, bold, [[x, y]], (w, h) => places(WHOLE * island.reach * scale, w, h, !bold))
      ?? (bold ? found(LESS.slice(1), island, wanted, bold, sight.others(island), () => NEAR.slice(0, 3)) : null)
      ?? (bold && island.size > STRAYS * total ? found(LESS.slice(2), island, wanted, bold, [[x, y]], () => FAR) : null);
    if (!box) continue;
    used.push(box);
    said.add(plain);
    boxes.push({ ...box, island, alpha, bold });
  }
  return boxes;

  // The first place of a name that is free.
  function found(shares, island, wanted, bold, middles, tries, kept = []) {
    for (const share of shares) {
      const { lines, w, size } = measured(ctx, island.name, bold ? "700" : "500", Math.max(LEAST, Math.round(share * wanted)), width - 2 * EDGE, face);
      if (!lines.length || (!bold && lines.length > 2)) continue;
      const line = size * 1.18, h = line * lines.length;
      for (const [x, y] of middles) for (const [right, down] of tries(w, h)) {
        const box = {
          x: Math.min(Math.max(x - w / 2 + right * w, EDGE), width - w - EDGE), y: Math.min(Math.max(y - h / 2 + down * h, EDGE), height - h - EDGE), w, h,
        };
        if (box.x >= 0 && box.y >= EDGE && free(box) && !kept.some((dot) => box.x < dot.x + dot.w && dot.x < box.x + w && box.y < dot.y + dot.h && dot.y < box.y + h)) return { ...box, lines, size, line };
      }
    }
    return null;
  }
}

// Items by themselves, where there are few in sight: {lines, x, y, w, h}, beside their points and in nobody's way.
export function arrangeItems(ctx, items, { width, height, face, away }, taken) {
  const used = [...taken, ...items.map(({ x, y }) => ({ x: x - away, y: y - away, w: 2 * away, h: 2 * away }))], boxes = [];
  ctx.font = `400 12px ${face}`;
  for (const { x, y, text } of items) {
    const lines = linesOf(ctx, text, WIDE), w = Math.max(0, ...lines.map((each) => ctx.measureText(each).width)), h = 15 * lines.length;
    for (const [left, top] of [[x + away + 3, y - h / 2], [x - away - 3 - w, y - h / 2], [x - w / 2, y + away + 1], [x - w / 2, y - away - 1 - h]]) {
      const box = { x: left, y: top, w, h };
      if (left < EDGE || top < EDGE || left + w > width - EDGE || top + h > height - EDGE) continue;
      if (used.some((other) => left < other.x + other.w + 2 && other.x < left + w + 2 && top < other.y + other.h && other.y < top + h)) continue;
      used.push(box);
      boxes.push({ ...box, lines, size: 12, line: 15, bold: false });
      break;
    }
  }
  return boxes;
}

// A name that has just appeared is small: it grows to its size rather than being too pale to read.
export function write(ctx, box, style, color) {
  ctx.font = `${box.bold ? "700" : box.island ? "500" : "400"} ${box.size}px ${style.face}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  ctx.lineJoin = "round";
  ctx.lineWidth = box.bold ? 5 : 4;
  ctx.strokeStyle = style.ground;
  ctx.fillStyle = color;
  box.lines.forEach((text, i) => {
    const x = box.x + box.w / 2, y = box.y + (i + 0.5) * box.line;
    ctx.globalAlpha = 0.85;
    ctx.strokeText(text, x, y);
    ctx.globalAlpha = 1;
    ctx.fillText(text, x, y);
  });
  ctx.globalAlpha = 1;
  ctx.textAlign = "left";
}
