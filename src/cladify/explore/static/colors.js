// Colours that stay apart for colour-blind people and that none is too pale to see on its ground: twelve, in two strengths.
const BASE = [
  [46, 107, 166], [201, 91, 20], [15, 125, 88], [172, 66, 142], [122, 92, 16], [98, 84, 190], [190, 52, 70], [0, 128, 148],
  [118, 124, 24], [136, 34, 85], [94, 104, 114], [51, 34, 136],
];
// Numbers and times from low to high; the end that the ground would swallow is left out.
const LOW_TO_HIGH = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [110, 190, 70], [190, 190, 20], [253, 231, 37]];
const GREY = [[150, 158, 167], [112, 124, 136]];
export const COLORS = 24;

export function mix(color, other, share) {
  return color.map((value, i) => Math.round(value * (1 - share) + other[i] * share));
}

export function clusterColor(index, dark) {
  const base = BASE[index % BASE.length], second = Math.floor(index / BASE.length) % 2;
  return dark ? mix(base, [255, 255, 255], second ? 0.55 : 0.36) : mix(base, second ? [255, 255, 255] : base, 0.3);
}

// A share of the way from low to high.
export function scaleColor(share, dark) {
  const [from, to] = dark ? [1.2, 6] : [0, 4.6], at = from + Math.max(0, Math.min(1, share)) * (to - from), i = Math.min(Math.floor(at), LOW_TO_HIGH.length - 2);
  return mix(LOW_TO_HIGH[i], LOW_TO_HIGH[i + 1], at - i);
}

export function grey(dark) { return GREY[dark ? 1 : 0]; }

// The colour of a bin of a column; 255 is no value.
export function binColor(column, code, dark) {
  if (code >= column.bins.length) return grey(dark);
  if (column.kind !== "category") return scaleColor(code / Math.max(1, column.bins.length - 1), dark);
  return code >= COLORS || / others$/.test(column.bins[code]) ? grey(dark) : clusterColor(code, dark);
}

export function css(color) {
  return `rgb(${color[0]} ${color[1]} ${color[2]})`;
}

// Black or white, whichever reads better on the colour (WCAG's relative luminance): at least 4.58 to 1.
export function inkOn(color) {
  const [r, g, b] = color.map((value) => {
    const c = value / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}
