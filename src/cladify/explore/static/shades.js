// Soft regions below the points: how many there are of each colour around every place, blurred, as one small picture.
const SIDE = 192, BLUR = 3, LONE = 0.6; // what so many points leave is no region
const DEPTH = 84; // the strongest, of 255

export function shades(x, y, colors, bounds) {
  const cell = Math.max(bounds.right - bounds.left, bounds.bottom - bounds.top) / SIDE || 1;
  const planes = Array.from({ length: 4 }, () => new Float32Array(SIDE * SIDE));
  for (let i = 0; i < x.length; i++) {
    const column = Math.floor((x[i] - bounds.left) / cell), row = Math.floor((y[i] - bounds.top) / cell);
    if (column < 0 || row < 0 || column >= SIDE || row >= SIDE) continue;
    const at = row * SIDE + column, weight = colors[4 * i + 3] / 255;
    for (let c = 0; c < 3; c++) planes[c][at] += weight * colors[4 * i + c];
    planes[3][at] += weight;
  }
  for (let round = 0; round < 3; round++) for (const plane of planes) blur(plane);
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: SIDE, height: SIDE });
  const context = canvas.getContext("2d"), image = context.createImageData(SIDE, SIDE), [red, green, blue, weight] = planes;
  const one = 1 / (2 * BLUR + 1) ** 2; // about what a point by itself leaves around it
  const usual = usualDensity(x, y, bounds, cell, weight);
  for (let i = 0; i < weight.length; i++) {
    if (weight[i] < 1e-6) continue;
    image.data[4 * i] = red[i] / weight[i];
    image.data[4 * i + 1] = green[i] / weight[i];
    image.data[4 * i + 2] = blue[i] / weight[i];
    image.data[4 * i + 3] = DEPTH * (1 - Math.exp((-1.5 * Math.max(0, weight[i] - LONE * one)) / usual));
  }
  context.putImageData(image, 0, 0);
  return { canvas, side: SIDE * cell, left: bounds.left, top: bounds.top };
}

// The density around the usual point: what is much thinner is hardly a region.
function usualDensity(x, y, bounds, cell, weight) {
  const step = Math.ceil(x.length / 5000), found = [];
  for (let i = 0; i < x.length; i += step) {
    const column = Math.floor((x[i] - bounds.left) / cell), row = Math.floor((y[i] - bounds.top) / cell);
    if (column >= 0 && row >= 0 && column < SIDE && row < SIDE) found.push(weight[row * SIDE + column]);
  }
  return found.sort((a, b) => a - b)[found.length >> 1] || 1;
}

// The mean over a square, one direction after the other.
function blur(plane) {
  const line = new Float32Array(SIDE);
  for (const [step, jump] of [[1, SIDE], [SIDE, 1]]) {
    for (let row = 0; row < SIDE; row++) {
      const start = row * jump;
      let sum = 0;
      for (let i = -BLUR; i < SIDE; i++) {
        if (i + BLUR < SIDE) sum += plane[start + (i + BLUR) * step];
        if (i - BLUR - 1 >= 0) sum -= plane[start + (i - BLUR - 1) * step];
        if (i >= 0) line[i] = sum / (2 * BLUR + 1);
      }
      for (let i = 0; i < SIDE; i++) plane[start + i * step] = line[i];
    }
  }
}
