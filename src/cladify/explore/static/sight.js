// The points of the picture by group: a group whose island has its middle out of sight is named where its points are.
const OTHERS = 36; // places of a group that a name may stand on
const STRAY = 0.02; // of the points in sight: fewer are no group that one sees

export class Sight {
  // `place` rises: a group is a stretch of the points.
  constructor({ x, y, place }, { scale, left, top }, width, height) {
    Object.assign(this, { scale, left, top, width, height, x: [], y: [], place: [], known: new Map() });
    for (let i = 0; i < place.length; i++) {
      const across = x[i] * scale + left, down = y[i] * scale + top;
      if (!this.holds(across, down)) continue;
      this.x.push(across);
      this.y.push(down);
      this.place.push(place[i]);
    }
  }

  holds(x, y) { return x >= 0 && y >= 0 && x <= this.width && y <= this.height; }

  // The first point in sight from a place of the line of items.
  from(place) {
    let low = 0, high = this.place.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.place[middle] < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The pixel of a group's name, or null where nothing of it is in sight.
  at(island) {
    if (!this.known.has(island.id)) this.known.set(island.id, this.find(island));
    return this.known.get(island.id);
  }

  // Other places of a group: some of its points in sight, those near its middle first.
  others(island) {
    const start = this.from(island.first), n = this.from(island.first + island.size) - start, step = Math.max(1, n / OTHERS), found = [];
    const [x, y] = this.at(island) ?? [0, 0];
    for (let i = 0; i < n; i += step) found.push([this.x[start + Math.floor(i)], this.y[start + Math.floor(i)]]);
    return found.sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y)).slice(0, Math.ceil((2 * found.length) / 3)); // the farthest are strays
  }

  // The middle of the island, or the one of its points in sight that is nearest to their mean.
  find(island) {
    const middle = [island.x * this.scale + this.left, island.y * this.scale + this.top];
    if (this.holds(...middle)) return middle;
    const start = this.from(island.first), end = this.from(island.first + island.size), n = end - start;
    if (n === 0 || n < STRAY * this.place.length) return null;
    let x = 0, y = 0, best = start, near = Infinity;
    for (let i = start; i < end; i++) [x, y] = [x + this.x[i] / n, y + this.y[i] / n];
    for (let i = start; i < end; i++) {
      const far = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
      if (far < near) [best, near] = [i, far];
    }
    return [this.x[best], this.y[best]];
  }
}
