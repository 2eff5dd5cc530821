// Pointer and keys: what is pointed at, chosen, moved, zoomed and drawn around.
import { byId, debounce, items, make } from "./dom.js";

let app; // the page: its scenes, what is selected, and what can be done
export const canvas = byId("canvas"), stage = byId("stage"), tip = byId("tip");

export function startPointer(page) {
  app = page;
  const pointers = new Map();
  let moved = 0, spread = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    tip.hidden = true;
    const [x, y] = at(event);
    app.scene.wheel(x, y, Math.exp(Math.max(-1, Math.min(1, event.deltaY / 400))), stage.clientWidth, stage.clientHeight);
    app.showPath(app.scene.focus());
    app.draw();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at(event));
    moved = 0;
    spread = 0;
    tip.hidden = true;
    if (app.lasso && app.scene === app.scenes.map && event.shiftKey) app.lasso.turn(true);
    if (app.lasso?.on && pointers.size === 1) app.lasso.begin(...at(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event), old = pointers.get(event.pointerId);
    if (!old) return hover(x, y);
    moved += Math.abs(x - old[0]) + Math.abs(y - old[1]);
    pointers.set(event.pointerId, [x, y]);
    if (app.lasso?.on && pointers.size === 1) app.lasso.add(x, y);
    else if (pointers.size === 1 && moved > 4) app.scene.pan(x - old[0], y - old[1], stage.clientWidth, stage.clientHeight);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) app.scene.wheel((a[0] + b[0]) / 2, (a[1] + b[1]) / 2, spread / apart, stage.clientWidth, stage.clientHeight);
      spread = apart;
    }
    app.draw();
  });
  const up = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (app.lasso?.on && !pointers.size && moved > 4) return app.lasso.end().catch(app.complain);
    if (event.type === "pointerup" && moved <= 4) {
      const found = app.scene.pick?.(...at(event)), node = app.scene.hit(...at(event));
      if (found) choose(found).catch(app.complain);
      else if (node && !node.more) {
        app.forgetPath();
        app.select(node, { zoom: node.kids > 0 });
      }
    }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
}

// A click on the map: a name leads into its group, a point to its item.
async function choose(found) {
  if (found.id !== undefined) return app.go(found.id);
  const { row } = await app.source.at(found.place, found.index);
  const node = row === undefined ? null : await app.nodes.reach(row);
  if (node) app.select(node);
}

const ofItem = debounce(40, async (found, x, y) => {
  const item = await app.source.at(found.place, found.index).catch(() => null);
  if (!item || pointed !== found) return;
  const image = app.meta.images && item.row !== undefined ? [make("img", { src: app.source.imageUrl(item.row), alt: "" })] : [];
  showTip([...image, make("span", {}, item.text), make("small", {}, item.path.join(" › ")), ...(item.columns ?? []).map(({ name, value }) => make("small", {}, `${name}: ${value}`))], x, y);
});
let pointed = null;

function hover(x, y) {
  if (app.scene.pick) {
    pointed = app.scene.pick(x, y);
    canvas.style.cursor = pointed ? "pointer" : "grab";
    if (pointed?.place !== undefined) return ofItem(pointed, x, y);
    return pointed ? showTip([pointed.name, make("small", {}, items(pointed.size))], x, y) : (tip.hidden = true);
  }
  canvas.style.cursor = "default";
  const node = app.scene.hit(x, y);
  if (!node) return (tip.hidden = true);
  showTip([node.name, make("small", {}, node.more ? "not shown one by one" : items(node.size))], x, y);
}

function showTip(content, x, y) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  tip.style.left = `${Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 6)}px`;
  tip.style.top = `${Math.min(y + 14, stage.clientHeight - tip.offsetHeight - 6)}px`;
}

export function startKeys() {
  canvas.addEventListener("keydown", (event) => {
    const node = app.selected ?? app.nodes.root, row = node.parent?.children ?? [node], i = row.indexOf(node);
    const step = {
      ArrowUp: () => node.parent && app.select(node.parent),
      ArrowDown: async () => {
        const inside = await app.nodes.reach((await app.source.children([node.id])).children[node.id]?.[0]?.id ?? -1).catch(() => null);
        if (inside) app.select(inside);
      },
      ArrowLeft: () => i > 0 && app.select(row[i - 1]),
      ArrowRight: () => i < row.length - 1 && !row[i + 1].more && app.select(row[i + 1]),
      Enter: () => app.select(node, { zoom: true }),
      Escape: () => app.select(node.parent ?? app.nodes.root, { zoom: true }),
      Home: () => app.select(app.nodes.root, { zoom: true }),
      "+": () => { app.scene.wheel(stage.clientWidth / 2, stage.clientHeight / 2, 0.8, stage.clientWidth, stage.clientHeight); app.draw(); },
      "-": () => { app.scene.wheel(stage.clientWidth / 2, stage.clientHeight / 2, 1.25, stage.clientWidth, stage.clientHeight); app.draw(); },
    }[event.key];
    if (!step) return;
    event.preventDefault();
    Promise.resolve(step()).catch(app.complain);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName)) {
      event.preventDefault();
      byId("query").focus();
    }
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
      event.preventDefault();
      app.edit({ op: event.shiftKey ? "redo" : "undo" });
    }
  });
}
