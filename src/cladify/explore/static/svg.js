// A picture as SVG: takes the same calls as a canvas and writes them down as text.

const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => escapes[c]).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "");
const short = (value) => Number(value.toFixed(2));

export class SvgContext {
  // `ruler` is a canvas context: it knows how wide texts are.
  constructor(width, height, ruler) {
    Object.assign(this, { width, height, ruler, parts: [], path: "", moved: "", fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, textBaseline: "alphabetic", textAlign: "left" });
    this.font = "12px sans-serif";
  }

  set font(value) { this.ruler.font = value; this.face = value; }
  get font() { return this.face; }
  get fade() { return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : ""; }

  measureText(text) {
    this.ruler.font = this.face;
    return this.ruler.measureText(text);
  }

  rect(x, y, w, h, paint) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(Math.max(w, 0))}" height="${short(Math.max(h, 0))}" ${paint}${this.fade}/>`);
  }

  fillRect(x, y, w, h) { this.rect(x, y, w, h, `fill="${escape(this.fillStyle)}"`); }
  strokeRect(x, y, w, h) { this.rect(x, y, w, h, `fill="none" stroke="${escape(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"`); }

  fillText(text, x, y) {
    const base = this.textBaseline === "middle" ? ' dominant-baseline="central"' : "";
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : this.textAlign === "right" ? ' text-anchor="end"' : "";
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" fill="${escape(this.fillStyle)}" style="font:${escape(this.face).replaceAll("&quot;", "'")}"${base}${anchor}${this.fade}${this.moved ? ` transform="${this.moved}"` : ""}>${escape(text)}</text>`);
  }

  strokeText(text, x, y) {
    const outline = ` stroke="${escape(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}" stroke-linejoin="round"`, before = this.parts.length;
    this.fillText(text, x, y);
    this.parts[before] = this.parts[before].replace("<text", "<text" + outline);
  }

  save() { this.kept = this.moved; }
  restore() { this.moved = this.kept; }
  translate(x, y) { this.moved += `translate(${short(x)} ${short(y)})`; }
  rotate(angle) { this.moved += `rotate(${short((180 * angle) / Math.PI)})`; }

  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }
  // Whole circles only: nothing else is drawn.
  arc(x, y, r) { this.path += `M${short(x - r)} ${short(y)}a${short(r)} ${short(r)} 0 1 0 ${short(2 * r)} 0a${short(r)} ${short(r)} 0 1 0 ${short(-2 * r)} 0`; }
  stroke() { this.parts.push(`<path d="${this.path}" fill="none" stroke="${escape(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"${this.fade}/>`); }
  fill() { this.parts.push(`<path d="${this.path}" fill="${escape(this.fillStyle)}"${this.fade}/>`); }

  toString() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">${this.parts.join("\n")}</svg>\n`;
  }
}
