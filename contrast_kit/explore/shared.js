// What the panels' scripts share: elements, colours that follow the page's theme, numbers written as Python writes them.
// Every panel's script is this file and its own, one after the other: `scripts` in _panel.py.
const THEME = `
.ck-panel { --ck-ink: var(--jp-ui-font-color1, var(--pst-color-text-base, #222832)); --ck-soft: #666666;
  --ck-line: #BBBBBB; --ck-fill: #EFEFEF; --ck-pull: #0072B2; --ck-push: #D55E00; --ck-grey: #8A8A8A;
  color: var(--ck-ink); font: 14px/1.5 system-ui, sans-serif; max-width: 960px; }
[data-theme=dark] .ck-panel, [data-jp-theme-light=false] .ck-panel { --ck-soft: #A8A8A8; --ck-line: #5C5C5C;
  --ck-fill: #2E3236; --ck-pull: #3D9BDC; --ck-push: #F07F2E; --ck-grey: #8F8F8F; }
.ck-pictures { display: flex; flex-wrap: wrap; gap: 8px 20px; }
.ck-pictures svg { flex: 1 1 330px; min-width: 0; max-width: 470px; width: 100%; height: auto; user-select: none;
  font-family: system-ui, sans-serif; }
.ck-pictures svg text { fill: var(--ck-ink); } .ck-pictures svg .ck-soft { fill: var(--ck-soft); }`;

const SVG = "http://www.w3.org/2000/svg";
function element(made, parent, attributes, text) {
  set(made, attributes);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}
const add = (parent, tag, attributes = {}, text = null) =>
  element(document.createElementNS(SVG, tag), parent, attributes, text);
const html = (parent, tag, attributes = {}, text = null) =>
  element(document.createElement(tag), parent, attributes, text);
function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
}
// An empty panel in `el`, with the styles of all panels and its own.
function begin(el, name, style = "") {
  el.replaceChildren();
  const panel = html(el, "div", { class: `ck-panel ${name}` });
  html(panel, "style", {}, THEME + style);
  return panel;
}

// Data in a sentence that becomes HTML, as Python's html.escape writes it.
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
const escaped = text => String(text).replace(/[&<>"']/g, letter => ENTITIES[letter]);

// Python's f"{value:.2f}": a tie goes to the even digit, where toFixed goes up.
function fixed(value, digits) {
  const up = value.toFixed(digits), unit = 10 ** digits, scaled = Math.abs(value) * unit;
  if (scaled % 1 !== 0.5 || scaled / unit !== Math.abs(value)) return up;
  const even = 2 * Math.round(scaled / 2);
  return (Math.sign(value) * even / unit).toFixed(digits);
}
const percent = (value, digits = 0) => `${fixed(100 * value, digits)}%`;
// f"{value:.3g}" and f"{value:g}", for numbers of the size that sliders have.
const short = (value, digits = 6) => String(Number(value.toPrecision(digits)));
const grouped = value => fixed(value, 0).replace(/\B(?=(\d{3})+$)/g, ",");
