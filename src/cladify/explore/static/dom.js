// Elements from values. Texts become text nodes, never markup: an item may hold anything.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "width-share") element.style.width = `${Math.max(1, 100 * value)}%`;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

export function number(value) {
  return value.toLocaleString("en").replaceAll(",", "\u202f");
}

export function items(count) {
  return `${number(count)} item${count === 1 ? "" : "s"}`;
}

export function percent(share) {
  return share >= 0.0995 ? `${Math.round(100 * share)} %` : `${(100 * share).toPrecision(2)} %`;
}

export function debounce(wait, action) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
}

// A dialog with a title; `fill` gets the dialog and returns what goes in.
export function ask(title, fill, kind = "") {
  const dialog = byId("dialog");
  dialog.className = kind;
  dialog.replaceChildren(make("h2", { id: "dialog-title" }, title));
  const close = () => dialog.close();
  dialog.append(...fill(close), make("div", { class: "actions" }, make("button", { type: "button", onclick: close }, "Close")));
  dialog.showModal();
  dialog.scrollTop = 0; // what is focused may be at its end
}
