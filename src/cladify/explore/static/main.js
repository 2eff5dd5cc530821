// The page: holds the state, draws, and listens. The state is in the address, so that it can be shared and gone back to.
import { Card } from "./card.js";
import { clusterColor, css, mix } from "./colors.js";
import { ColumnPanel } from "./columns.js";
import { compareDialog, exportDialog, helpDialog } from "./dialogs.js";
import { ask, byId, debounce, items, make, number, percent } from "./dom.js";
import { Disk } from "./disk.js";
import { PointMap } from "./map.js";
import { flowDialog } from "./flows.js";
import { canvas, stage, startKeys, startPointer, tip } from "./input.js";
import { Lasso } from "./lasso.js";
import { Nodes } from "./nodes.js";
import { showReport } from "./report.js";
import { FACE } from "./scene.js";
import { startSearch } from "./search.js";
import { EmbeddedSource, ServerSource, Stale } from "./source.js";
import { SideTree } from "./tree.js";

const embedded = byId("cladify-data");
const source = embedded ? new EmbeddedSource(JSON.parse(embedded.textContent)) : new ServerSource();
const ctx = canvas.getContext("2d", { alpha: false });
const LEGEND = 10, ROOM = 640, AMPLE = 1100; // rows, and widths of a picture that has room for them, and where they are shown unasked
const WATCH = 3000; // milliseconds between two looks at the version
const still = matchMedia("(prefers-reduced-motion: reduce)");

let meta, nodes, scenes, scene, card, columns;
let lasso = null, hits = [], keyed = null; // whether the legend was asked for
let selected = null, lit = new Set(), cluster = new Map(), cutState = {}, dirty = true;
const frames = []; // milliseconds that each picture took; the tests read them

// --- colours ----------------------------------------------------------------------------------------------------------

const dark = () => document.documentElement.dataset.theme === "dark";

// The cluster of the cut that a node belongs to: its own, or that of the nearest node above it.
function clusterOf(node) {
  for (let v = node; v; v = v.parent) if (cluster.has(v.id)) return cluster.get(v.id);
  return -1;
}

// How many of the items that a search found are in a node: places on the line of items, sorted.
function hitsOf(node) {
  if (!hits.length || node.more) return 0;
  const before = (place) => {
    let low = 0, high = hits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (hits[middle] < place) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return before(node.place + node.size) - before(node.place);
}

let litText = "";
async function light(text) {
  litText = text;
  const found = text.length > 1 ? await source.hits(text).catch(() => null) : null;
  if (litText !== text) return;
  hits = found?.places ?? [];
  await scenes.map?.light(found?.total ? text : "").catch(() => {});
  draw();
}

function style() {
  const night = dark(), neutral = night ? [42, 50, 59] : [227, 231, 236], ground = night ? [20, 24, 29] : [255, 255, 255];
  const color = (node) => {
    const index = clusterOf(node);
    return index < 0 ? neutral : mix(clusterColor(index, night), ground, (night ? 0.62 : 0.7) + 0.06 * ((node.depth ?? 0) % 3));
  };
  return {
    color, dark: night, face: FACE, line: night ? "#4b5763" : "#b4bdc8", neutral: css(neutral),
    fill: (node) => (clusterOf(node) < 0 ? (night ? "#7d8a97" : "#8a95a1") : css(clusterColor(clusterOf(node), night))),
    edge: css(ground), ink: night ? "#eef1f4" : "#10151a", veil: night ? "rgb(20 24 29 / 78%)" : "rgb(255 255 255 / 82%)",
    mark: night ? "#ffa36b" : "#b3390a", ground: css(ground), selected, lit, hits: hitsOf,
  };
}

// --- drawing ----------------------------------------------------------------------------------------------------------

function draw() { dirty = true; }

function paintOn(context, width, height) {
  const look = style();
  context.fillStyle = look.ground;
  context.fillRect(0, 0, width, height);
  scene.draw(context, width, height, look);
}

function frame(now) {
  const moving = scene.step(now);
  if (moving || dirty) {
    const start = performance.now();
    dirty = false;
    const ratio = devicePixelRatio || 1, width = stage.clientWidth, height = stage.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintOn(ctx, width, height);
    if (frames.length < 4000) frames.push(performance.now() - start);
  }
  requestAnimationFrame(frame);
}

// --- state and address ------------------------------------------------------------------------------------------------

function address(push) {
  const parts = new URLSearchParams();
  if (nameOf(scene) !== Object.keys(scenes)[0]) parts.set("view", nameOf(scene));
  if (selected && selected !== nodes.root) parts.set("node", selected.id);
  for (const key of ["level", "n", "height"]) if (cutState[key] !== undefined) parts.set(key, cutState[key]);
  if (columns?.by !== null && columns?.column) parts.set("color", columns.by);
  if (columns?.filter) parts.set("filter", columns.filter);
  const hash = "#" + parts;
  if (hash === location.hash || (hash === "#" && !location.hash)) return;
  if (location.protocol === "about:") return;  // in the frame of a notebook: it has no address of its own
  history[push ? "pushState" : "replaceState"](null, "", location.pathname + location.search + hash);
}

function nameOf(wanted) {
  return Object.keys(scenes).find((key) => scenes[key] === wanted);
}

async function restore() {
  const parts = new URLSearchParams(location.hash.slice(1));
  setView(parts.get("view"), false);
  columns.filter = parts.get("filter");
  columns.by = parts.has("color") && columns.columns[Number(parts.get("color"))] ? Number(parts.get("color")) : null;
  byId("colorby").value = columns.by ?? "";
  await showColumns();
  const cut = {};
  for (const key of ["level", "n", "height"]) if (parts.has(key)) cut[key] = Number(parts.get(key));
  await setCut(Object.keys(cut).length ? cut : firstCut(), false);
  const node = parts.has("node") ? await nodes.reach(Number(parts.get("node"))) : nodes.root;
  select(node ?? nodes.root, { push: false, zoom: true, animate: false });
}

function select(node, { push = true, zoom = false, animate = true } = {}) {
  selected = node;
  if (zoom) scene.zoomTo(node.kids || !node.parent ? node : node.parent, animate && !still.matches);
  showPath(node);
  if (push) showTab("card");
  card.show(node).catch(complain);
  byId("live").textContent = `${node.name}, ${items(node.size)}`;
  address(push);
  draw();
}

async function go(id, row) {
  const node = await nodes.reach(id);
  if (!node) return complain(new Error("That cluster is hidden by an edit."));
  lit = row === undefined ? new Set() : new Set(nodes.pathOf(node).map((v) => v.id));
  select(node, { zoom: true });
}

function showPath(node) {
  const parts = meta.is_below ? [make("button", { type: "button", onclick: () => { location.href = "../../"; } }, "The whole tree")] : [];
  for (const v of nodes.pathOf(node)) {
    if (parts.length) parts.push(make("span", { class: "sep", "aria-hidden": "true" }, " › "));
    parts.push(make("button", { type: "button", "aria-current": v === node ? "true" : undefined, onclick: () => select(v, { zoom: true }) }, v.parent ? v.name : meta.title));
  }
  byId("path").replaceChildren(...parts);
  byId("path").scrollLeft = node.parent ? 1e6 : 0; // the end of a long path is where one is
}

function complain(error) { notify(error.message); }

function notify(message) {
  byId("live").textContent = message;
  tip.replaceChildren(make("span", { class: "warn" }, message));
  tip.hidden = false;
  tip.style.left = "12px";
  tip.style.top = "12px";
}

// --- views, levels and cut --------------------------------------------------------------------------------------------

function setView(name, push = true) {
  scene = scenes[name] ?? Object.values(scenes)[0];
  for (const button of byId("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === nameOf(scene)));
  byId("lasso").hidden = !lasso || scene !== scenes.map;
  if (scene !== scenes.map) lasso?.turn(false);
  showLegend();
  if (selected) scene.zoomTo(selected.kids || !selected.parent ? selected : selected.parent, false);
  address(push);
  draw();
}

// The suggested level that has about as many groups as people tell colours apart.
function firstCut() {
  if (!meta.levels.length) return { n: Math.min(12, meta.n) };
  const far = (level) => Math.abs(Math.log(level.n_clusters / 12));
  return { level: meta.levels.reduce((best, level, i) => (far(level) < far(meta.levels[best]) ? i : best), 0) };
}

// What the colours mean: the largest groups of the cut, or the values of a column; names on the map keep off it.
function showLegend() {
  const map = scenes.map, list = byId("legend"), here = map && scene === map, column = columns?.column;
  list.replaceChildren(...(!here ? [] : column ? valueLegend() : groupLegend(map)));
  const useful = list.children.length > 1 && (stage.clientWidth >= ROOM || Boolean(column)); // in a narrow picture it would be on the points; islands have names
  list.hidden = !useful || !(keyed ?? (stage.clientWidth >= AMPLE || Boolean(column)));
  byId("key").hidden = !useful;
  byId("key").setAttribute("aria-pressed", String(!list.hidden));
  showDots();
  if (!map) return;
  const around = stage.getBoundingClientRect();
  map.aside = list.hidden ? 0 : list.offsetLeft + list.offsetWidth;
  map.keep = [list, byId("over"), byId("filtered")].filter((each) => each.offsetParent).map((each) => each.getBoundingClientRect()).map((box) => ({ x: box.left - around.left, y: box.top - around.top, w: box.width, h: box.height }));
}

// The parts on the card have the colours of the picture.
function showDots() {
  for (const dot of document.querySelectorAll("#card .dot")) {
    const node = nodes.get(Number(dot.dataset.node)), index = columns?.column ? -1 : node ? clusterOf(node) : cluster.get(Number(dot.dataset.node)) ?? -1;
    dot.hidden = index < 0;
    dot.style.background = index < 0 ? "" : css(clusterColor(index, dark()));
  }
}

function legendRow(color, name, count, action, pressed) {
  const dot = make("span", { class: "dot", "aria-hidden": "true" });
  dot.style.background = color;
  return make("li", {}, make("button", { type: "button", onclick: action, "aria-pressed": pressed }, dot, make("span", { class: "name" }, name), make("small", {}, count === undefined ? "" : number(count))));
}

function groupLegend(map) {
  const names = map.namesInView(), shown = names.slice(0, LEGEND), rows = shown.map((group) => legendRow(css(clusterColor(group.color, dark())), group.name, group.size, () => go(group.id).catch(complain)));
  if (names.length > shown.length && shown.length) rows.push(make("li", { class: "note" }, `${number(names.length - shown.length)} more`));
  return rows;
}

// Rows of a category filter by it; numbers and times have a scale.
function valueLegend() {
  const { rows, more, low, high, colors } = columns.legend(), title = make("li", { class: "title" }, columns.column.name);
  if (!rows) {
    const strip = make("span", { class: "strip", "aria-hidden": "true" }, ...colors.map((color) => { const cell = make("span"); cell.style.background = color; return cell; }));
    return [title, make("li", {}, strip, make("span", { class: "ends" }, make("span", {}, low), make("span", {}, high)))];
  }
  const chosen = columns.chosen.get(columns.by) ?? new Set();
  const found = rows.map(({ name, bin, count, color }) => legendRow(color, name, count, () => columns.choose(columns.by, chosen.has(bin) ? new Set([...chosen].filter((other) => other !== bin)) : new Set([...chosen, bin])), String(chosen.has(bin))));
  return [title, ...found, ...(more > 0 ? [make("li", { class: "note" }, `${number(more)} more`)] : [])];
}

// Points by the chosen column and filters.
async function showColumns() {
  await scenes.map?.show(columns.filter, columns.column, columns.by);
  columns.ask();
  showLegend();
  draw();
}

function columnsChanged() {
  address(true);
  showColumns().catch(complain);
}

// --- the tabs of the side ---------------------------------------------------------------------------------------------

function showTab(name) {
  for (const tab of byId("tabs").children) {
    const on = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    byId(tab.dataset.tab).hidden = !on;
  }
  if (name === "report") showReport(byId("report"), source, (id) => go(id).catch(complain)).catch(complain);
  if (name === "columns") columns.count().catch(complain);
}

function startTabs() {
  const names = [["card", "Group"], ...(meta.columns?.length ? [["columns", "Columns"]] : []), ...(embedded ? [] : [["report", "Report"]]), ["lassoed", "Lasso"]];
  byId("tabs").hidden = names.length < 3;
  byId("tabs").replaceChildren(...names.map(([name, text]) => make("button", { type: "button", role: "tab", "data-tab": name, id: `tab-${name}`, "aria-controls": name, onclick: () => showTab(name) }, text)));
  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], list = [...byId("tabs").children];
    if (!step) return;
    const next = list[(list.indexOf(document.activeElement) + step + list.length) % list.length];
    next.focus();
    next.click();
  });
  byId("colorby").closest("label").hidden = !(meta.columns?.length && meta.points);
  byId("colorby").addEventListener("change", (event) => columns.colorBy(event.target.value === "" ? null : Number(event.target.value)));
  byId("tab-lassoed").hidden = true;
  showTab("card");
}

function startLasso() {
  byId("lasso").hidden = true;
  if (!scenes.map || embedded) return;
  lasso = new Lasso(scenes.map, source, { edit, go: (id) => go(id).catch(complain), filter: () => columns.filter, list: (item) => card.item(item) });
  lasso.shown = () => { byId("tab-lassoed").hidden = false; showTab("lassoed"); draw(); };
  byId("lasso").addEventListener("click", () => {
    if (!lasso.on && !byId("lassoed").hidden) showTab("card");
    byId("tab-lassoed").hidden = !lasso.on || !byId("lassoed").childElementCount;
    draw();
  });
}

let cutTurn = 0;
async function setCut(by, push = true) {
  const mine = ++cutTurn;
  const answer = await source.cut(by);
  if (mine !== cutTurn) return;
  cutState = by;
  scenes.map?.colour(answer);
  cluster = scenes.map ? new Map(scenes.map.color) : new Map(answer.nodes.map((id, index) => [id, index]));
  byId("count").value = answer.n;
  if (by.height === undefined) byId("slider").value = by.level !== undefined || cutBy() === "count" ? slideOf(answer.n) : byId("slider").value;
  const { smallest, median, largest } = answer;
  byId("sizes").textContent = smallest === largest ? `of ${items(largest)} each` : `of ${number(smallest)} to ${items(largest)}, median ${number(median)}`;
  for (const button of byId("levels").children) button.setAttribute("aria-pressed", String(by.level !== undefined && Number(button.dataset.level) === by.level));
  showLegend();
  address(push);
  draw();
}

// The slider counts in steps of equal ratio: 2 to 20 clusters take as much room as 2 000 to 20 000.
const most = () => Math.max(2, Math.min(meta.n, meta.most_clusters ?? meta.n));
const slideOf = (n) => Math.round((1000 * Math.log(Math.max(1, n))) / Math.log(most()));
const countOf = (slide) => Math.max(1, Math.round(most() ** (slide / 1000)));
let byHeight = false;
const cutBy = () => (byHeight ? "height" : "count");

function startCut() {
  byId("levels").replaceChildren(...meta.levels.map((level, i) => make("button", { type: "button", "aria-pressed": "false", "data-level": i,
    title: level.stability === undefined || level.stability === null ? undefined : `stability ${percent(level.stability)}`, onclick: () => setCut({ level: i }) }, number(level.n_clusters))));
  const slide = debounce(25, () => {
    const value = Number(byId("slider").value);
    setCut(byHeight ? { height: meta.height * (1 - value / 1000) } : { n: countOf(value) }).catch(complain);
  });
  byId("slider").addEventListener("input", slide);
  byId("count").addEventListener("change", () => setCut({ n: Math.max(1, Math.min(meta.n, Number(byId("count").value) || 1)) }).catch(complain));
  if (embedded) return;
  const kinds = [["count", false], ["height", true]].map(([text, value]) => make("button", { type: "button", "aria-pressed": String(value === byHeight), onclick: (event) => {
    byHeight = value;
    for (const button of byId("cutby").children) button.setAttribute("aria-pressed", String(button === event.currentTarget));
  } }, `by ${text}`));
  byId("cutby").replaceChildren(...kinds);
}

// --- edits, export, compare -------------------------------------------------------------------------------------------

async function edit(action) {
  const before = source.version;
  try {
    const { node: made } = await source.edit(action);
    await reload(made);
  } catch (error) {
    if (error instanceof Stale) await conflict(action, before).catch(complain);
    else complain(error);
  }
}

// Show the document as it is now, at the same place if it is still there.
async function reload(node) {
  const keep = node ?? selected?.id;
  await load();
  await setCut((cutState.level ?? 0) < Math.max(1, meta.levels.length) ? cutState : firstCut(), false); // an edit may have taken the level away
  const found = keep === undefined ? null : await nodes.reach(keep).catch(() => null);
  select(found ?? nodes.root, { push: false, zoom: true, animate: false });
}

// Versions of one series name the same clusters by the same numbers; a file that was replaced begins another.
const series = (version) => version?.split("-")[0];

// Another page or program was first: show its version, then ask whether the edit is still wanted.
async function conflict(action, before) {
  const name = (id) => nodes.get(id)?.name ?? `cluster ${id}`;
  const what = { rename: () => `Rename “${name(action.node)}” to “${action.name}”`, merge: () => `Merge “${name(action.node)}” with “${name(action.with)}”`,
    move: () => `Move ${action.polygon ? "the selected items" : `“${name(action.node)}”`} into “${name(action.to)}”`, collapse: () => `Collapse “${name(action.node)}”`,
    hide: () => `Hide or show “${name(action.node)}”`, undo: () => "Undo the last edit", redo: () => "Redo the last undone edit" }[action.op]();
  await reload();
  const replaced = series(before) !== series(source.version);
  ask("Changed by another", (close) => [
    make("p", {}, replaced ? "The file was replaced, or the server started again. The page shows what is there now." : "Another page or program has changed this taxonomy. The page shows it as it is now."),
    make("p", {}, `Your edit was not done: ${what}.`),
    ...(replaced ? [] : [make("button", { type: "button", id: "redo-edit", onclick: () => { close(); edit(action); } }, "Do it now")]),
  ]);
}

let checking = false;
async function changed() {
  if (checking) return;
  checking = true;
  try {
    const before = source.version;
    await reload();
    notify(series(before) === series(source.version) ? "Another page or program has changed this taxonomy; this is how it is now." : "The file was replaced; this is the new one.");
  } finally {
    checking = false;
  }
}

// Look now and then, and when the page comes back into sight, whether another has changed the document.
function startWatch() {
  if (embedded) return;
  source.onChange = () => changed().catch(complain);
  const look = async () => {
    if (document.hidden || !source.live || byId("dialog").open) return;
    if (await source.changed()) await changed();
  };
  setInterval(() => look().catch(() => {}), WATCH);
  addEventListener("focus", () => look().catch(() => {}));
}

const showFlows = () => flowDialog(source, cutState, dark(), meta.title, (id) => go(id).catch(complain)).catch(complain);

function showEdits() {
  for (const [id, count] of [["undo", meta.edits?.done], ["redo", meta.edits?.undone]]) {
    byId(id).hidden = !source.canWrite || !(meta.edits?.done || meta.edits?.undone);
    byId(id).disabled = !count;
  }
  byId("unhide").hidden = !source.canWrite || !meta.hidden?.length;
  byId("unhide").textContent = `Hidden (${number(meta.hidden?.length ?? 0)})`;
}

function hiddenDialog() {
  ask("Show again which cluster?", (close) => [make("ul", { class: "rows" }, ...meta.hidden.map((node) => make("li", {},
    make("button", { type: "button", onclick: () => { close(); edit({ op: "hide", node: node.id }); } }, node.name, " ", make("small", {}, items(node.size))))))]);
}

// --- start ------------------------------------------------------------------------------------------------------------

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  try {
    localStorage.setItem("cladify-theme", name);
  } catch { /* a page opened from a file may have no storage */ }
  showLegend();
  draw();
}

async function load() {
  meta = await source.meta();
  nodes.start(meta.root);
  for (const each of Object.values(scenes ?? {})) each.reset?.();
  await scenes?.map?.load();
  if (card) card.meta = meta;
  columns?.start(meta);
  showEdits();
}

async function start() {
  let theme = null;
  try {
    theme = localStorage.getItem("cladify-theme");
  } catch { /* as above */ }
  nodes = new Nodes(source, draw);
  const refused = await source.begin().then(() => null, (error) => error);
  await load();
  document.title = `${meta.title} — cladify`;
  byId("title").textContent = meta.title;
  scenes = { ...(meta.points ? { map: new PointMap(nodes, source, draw) } : {}), tree: new SideTree(nodes), disk: new Disk(nodes) };
  await scenes.map?.load().catch(complain);
  scene = Object.values(scenes)[0];
  setTheme(theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  byId("views").replaceChildren(...Object.keys(scenes).map((name) => make("button", { type: "button", "data-view": name, "aria-pressed": "false", onclick: () => setView(name) }, name[0].toUpperCase() + name.slice(1))));
  card = new Card(byId("card"), source, meta, { go, zoom: (node) => select(node, { zoom: true }), edit, compare: (node) => compareDialog(source, node.id, showFlows).catch(complain), shown: showDots });
  source.onState = (up) => { byId("offline").hidden = up; if (up) draw(); };
  byId("fold").addEventListener("click", () => byId("fold").setAttribute("aria-expanded", String(document.body.classList.toggle("unfolded"))));
  byId("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark"));
  byId("undo").addEventListener("click", () => edit({ op: "undo" }));
  byId("redo").addEventListener("click", () => edit({ op: "redo" }));
  byId("unhide").addEventListener("click", hiddenDialog);
  byId("export").addEventListener("click", () => exportDialog({ source, embedded, cut: cutState, filter: columns.filter, selected, canvas, title: meta.title, view: nameOf(scene), size: [stage.clientWidth, stage.clientHeight], paint: paintOn }));
  byId("help").addEventListener("click", helpDialog);
  byId("key").addEventListener("click", () => { keyed = byId("legend").hidden; showLegend(); draw(); });
  byId("compare").hidden = !meta.compare;
  byId("compare").addEventListener("click", () => compareDialog(source, (selected ?? nodes.root).id, showFlows).catch(complain));
  columns = new ColumnPanel(source, meta, { dark, changed: columnsChanged, colored: columnsChanged });
  if (scenes.map) scenes.map.onColours = () => { showLegend(); draw(); };
  startTabs();
  startCut();
  startSearch(source, go, light);
  startLasso();
  startPointer({
    get scene() { return scene; }, get scenes() { return scenes; }, get lasso() { return lasso; }, get selected() { return selected; }, get meta() { return meta; },
    nodes, source, select, go, draw, showPath, complain, edit, forgetPath: () => { lit = new Set(); },
  });
  startKeys();
  addEventListener("popstate", () => restore().catch(complain));
  new ResizeObserver(() => { showLegend(); draw(); }).observe(stage);
  startWatch();
  await restore();
  if (refused && !source.canWrite) complain(refused);
  requestAnimationFrame(frame);
  globalThis.cladify = { frames, ready: true, boxes: () => scene.boxes.length, labels: () => scene.boxes.map(({ x, y, w, h }) => [x, y, w, h]), names: () => scene.boxes.map(({ lines, node }) => lines?.join(" ") ?? node?.name ?? ""), whole: () => scene.boxes.map(({ island, node }) => (island ?? node)?.name ?? ""), hits: () => hits.length, items: () => (scenes.map?.itemBoxes ?? []).map(({ x, y, w, h }) => [x, y, w, h]), texts: () => scene.texts ?? [], inks: () => scene.boxes.map((box) => box.ink ?? ""), pointAt: (place) => scenes.map?.screen(place) };
}

start().catch((error) => {
  byId("offline").hidden = false;
  byId("offline").textContent = error.message;
});
