// Search as one types: results in a list that arrow keys walk through.
import { byId, debounce, items, make, number } from "./dom.js";

export function startSearch(source, go, light) {
  const input = byId("query"), list = byId("found");
  let results = [], at = -1, turn = 0;

  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (index, scroll = true) => {
    at = index;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    if (at >= 0 && list.children[at]) {
      input.setAttribute("aria-activedescendant", list.children[at].id);
      if (scroll) list.children[at].scrollIntoView({ block: "nearest" });
    }
  };
  const choose = (index) => {
    const hit = results[index];
    if (!hit) return;
    close();
    go(hit.node, hit.row);
  };
  const run = debounce(90, async () => {
    const text = input.value.trim(), mine = ++turn;
    light(text);
    if (!text) return close();
    const answer = await source.search(text);
    if (mine !== turn) return;
    results = answer.results;
    const rows = results.map((hit, i) => make("li", { role: "option", id: `found-${i}`, "aria-selected": "false", onmousemove: () => at !== i && mark(i, false), onmousedown: (event) => { event.preventDefault(); choose(i); } },
      hit.text, make("small", {}, hit.row === undefined ? `cluster, ${items(hit.size)}` : hit.path ?? "item")));
    const left = answer.total - rows.length, say = !rows.length ? "Nothing found." : left > 0 ? `… and ${number(left)} more; another word narrows it down.` : "";
    if (say) rows.push(make("li", { role: "option", class: "note", "aria-selected": "false", "aria-disabled": "true" }, say));
    list.replaceChildren(...rows);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(results.length ? 0 : -1);
  });
  input.addEventListener("input", run);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") mark(Math.min(at + 1, results.length - 1));
    else if (event.key === "ArrowUp") mark(Math.max(at - 1, 0));
    else if (event.key === "Enter") choose(at);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", () => setTimeout(close, 120));
}
