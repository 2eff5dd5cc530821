// Colours that stay apart for colour-blind people: Okabe and Ito's set, in three strengths, so that 24 clusters differ.
const BASE = [
  [0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [240, 228, 66], [150, 150, 150],
];

export function mix(color, other, share) {
  return color.map((value, i) => Math.round(value * (1 - share) + other[i] * share));
}

export function clusterColor(index, dark) {
  const base = BASE[index % BASE.length];
  const round = Math.floor(index / BASE.length) % 3;
  const ground = dark ? [20, 24, 29] : [255, 255, 255];
  return mix(base, ground, [0.25, 0.5, 0.08][round]);
}

export function css(color) {
  return `rgb(${color[0]} ${color[1]} ${color[2]})`;
}

// Black or white, whichever reads better on the colour (WCAG's relative luminance).
export function inkOn(color) {
  const [r, g, b] = color.map((value) => {
    const c = value / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#10151a" : "#ffffff";
}
