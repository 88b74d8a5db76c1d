// The map of ck.explore.embedding_map. Python says where the points are and what is near; this shows, and sends what
// the hand chose.
const INK = "#333333", SIZE = 410, MARGIN = 22, REACH = 12, LISTED = 300;

const STYLE = `
.ck-map { font: 13px system-ui, sans-serif; color: ${INK}; background: white; padding: 10px; max-width: 940px; }
.ck-map-bar { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; margin-bottom: 8px; }
.ck-map-bar input { font: inherit; width: 330px; padding: 4px 8px; border: 1px solid #999; border-radius: 4px; }
.ck-map button { font: inherit; color: ${INK}; background: none; border: 1px solid transparent; border-radius: 4px;
  padding: 2px 6px; cursor: pointer; }
.ck-map button:hover, .ck-map button:focus-visible { border-color: #999; }
.ck-map button[aria-pressed=false] { opacity: .35; }
.ck-map-maps { display: flex; flex-wrap: wrap; gap: 16px; }
.ck-map-one { position: relative; }
.ck-map-one h4 { margin: 0 0 4px; font-weight: 600; min-height: 1.2em; }
.ck-map-one canvas { display: block; border: 1px solid #CCC; border-radius: 4px; cursor: crosshair; touch-action: none; }
.ck-map-one canvas + canvas { position: absolute; left: 0; bottom: 0; border-color: transparent; }
.ck-map-tip { position: absolute; pointer-events: none; max-width: 300px; padding: 5px 9px; border-radius: 4px;
  background: ${INK}; color: white; z-index: 5; line-height: 1.35; }
.ck-map-lists { display: flex; flex-wrap: wrap; gap: 4px 16px; }
.ck-map-lists section { flex: 1 1 ${SIZE}px; min-width: 0; }
.ck-map-lists ol { margin: 4px 0 0; padding-left: 30px; max-height: 190px; overflow-y: auto; line-height: 1.5; }
.ck-map-lists p { margin: 8px 0 0; }
.ck-map-lists li span { color: #6A6A6A; }`;

const SHAPES = {
  o: (c, x, y, r) => c.arc(x, y, r, 0, 7),
  s: (c, x, y, r) => c.rect(x - r * .9, y - r * .9, r * 1.8, r * 1.8),
  "^": (c, x, y, r) => polygon(c, x, y, r * 1.2, 3, -Math.PI / 2),
  v: (c, x, y, r) => polygon(c, x, y, r * 1.2, 3, Math.PI / 2),
  D: (c, x, y, r) => polygon(c, x, y, r * 1.2, 4, 0),
  P: (c, x, y, r) => { c.rect(x - r, y - r * .4, 2 * r, r * .8); c.rect(x - r * .4, y - r, r * .8, 2 * r); },
  X: (c, x, y, r) => star(c, x, y, r * 1.2, 4, Math.PI / 4),
  "*": (c, x, y, r) => star(c, x, y, r * 1.3, 5, -Math.PI / 2),
};
function polygon(c, x, y, r, n, turn) {
  for (let i = 0; i <= n; i++) {
    const a = turn + i * 2 * Math.PI / n;
    c[i ? "lineTo" : "moveTo"](x + r * Math.cos(a), y + r * Math.sin(a));
  }
}
function star(c, x, y, r, n, turn) {
  for (let i = 0; i <= 2 * n; i++) {
    const a = turn + i * Math.PI / n, reach = i % 2 ? r * .4 : r;
    c[i ? "lineTo" : "moveTo"](x + reach * Math.cos(a), y + reach * Math.sin(a));
  }
}
function add(parent, tag, attributes = {}, text = null) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== null) element.textContent = text;
  parent.append(element);
  return element;
}
function inside([x, y], polygon) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < (xj - xi) * (y - yi) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

function render({ model, el }) {
  const texts = model.get("texts"), names = model.get("names"), kinds = model.get("kinds"), n = texts.length;
  const legend = model.get("legend"), colours = model.get("colours"), markers = model.get("markers");
  const bytes = model.get("xy"), xy = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const radius = n > 2000 ? 2.2 : n > 400 ? 3.2 : 4.5, hidden = new Set();
  const kind = i => kinds.length ? kinds[i] : 0, colour = k => colours[k % colours.length];
  const shape = k => SHAPES[markers[(k + Math.floor(k / colours.length)) % markers.length]];
  const send = (name, value) => { model.set(name, value); model.save_changes(); };

  const root = add(el, "div", { class: "ck-map" });
  add(root, "style", {}, STYLE);
  const bar = add(root, "div", { class: "ck-map-bar" });
  const label = add(bar, "label", {}, "nearest to ");
  const input = add(label, "input", { type: "search", placeholder: "type a sentence, then Enter" });
  input.addEventListener("change", () => send("query", input.value));
  for (const name of ["keydown", "keyup", "keypress"]) input.addEventListener(name, event => {
    event.stopPropagation();  // letters are commands to a notebook
    if (name === "keydown" && event.key === "Enter") send("query", input.value);
  });
  legend.forEach((name, k) => {
    const button = add(bar, "button", { "aria-pressed": true, title: "show or hide" });
    const icon = add(button, "canvas", { width: 26, height: 26, style: "width:13px;height:13px;vertical-align:-2px" });
    const c = icon.getContext("2d");
    c.beginPath(); shape(k)(c, 13, 13, 9); c.fillStyle = colour(k); c.fill();
    button.append(` ${name}`);
    button.addEventListener("click", () => {
      hidden.has(k) ? hidden.delete(k) : hidden.add(k);
      button.setAttribute("aria-pressed", !hidden.has(k));
      drawAll();
    });
  });
  const box = add(root, "div", { class: "ck-map-maps" });
  const lists = add(root, "div", { class: "ck-map-lists", "aria-live": "polite" });
  const maps = names.map((name, m) => oneMap(name, m));
  let hovered = -1;

  function oneMap(name, m) {
    const one = add(box, "div", { class: "ck-map-one" }), ratio = window.devicePixelRatio || 1;
    add(one, "h4", {}, name);
    const says = `map of ${n} sentences${name && `, ${name}`}`;
    const [base, top] = [says, `${says}: marks`].map(words => {
      const canvas = add(one, "canvas", { width: SIZE * ratio, height: SIZE * ratio, role: "img", "aria-label": words,
        style: `width:${SIZE}px;height:${SIZE}px` });
      const context = canvas.getContext("2d");
      context.scale(ratio, ratio);
      return { canvas, context };
    });
    const tip = add(one, "div", { class: "ck-map-tip", hidden: "" });
    const places = Array.from({ length: n }, (_, i) => [0, 1].map(d => {
      const v = xy[2 * (m * n + i) + d];
      return SIZE / 2 + (d ? -1 : 1) * v * (SIZE / 2 - MARGIN);
    }));
    const map = { name, base, top, tip, places, lasso: null };
    const where = event => {
      const edge = top.canvas.getBoundingClientRect();
      return [event.clientX - edge.left, event.clientY - edge.top];
    };
    top.canvas.addEventListener("pointerdown", event => {
      top.canvas.setPointerCapture(event.pointerId);
      map.lasso = [where(event)];
    });
    top.canvas.addEventListener("pointermove", event => {
      if (map.lasso) { map.lasso.push(where(event)); mark(map); }
      else hover(nearest(map, where(event)), m);
    });
    top.canvas.addEventListener("pointerup", () => {
      const lasso = map.lasso, [x, y] = lasso[0], moved = lasso.some(p => Math.hypot(p[0] - x, p[1] - y) > 5);
      map.lasso = null;
      const one = nearest(map, [x, y]);
      send("chosen", moved ? texts.flatMap((_, i) => shown(i) && inside(places[i], lasso) ? [i] : []) : one < 0 ? [] : [one]);
    });
    top.canvas.addEventListener("pointerleave", () => hover(-1, m));
    return map;
  }
  function shown(i) { return !hidden.has(kind(i)); }
  function nearest(map, [x, y]) {
    let best = -1, gap = REACH;
    map.places.forEach(([px, py], i) => {
      const d = Math.hypot(px - x, py - y);
      if (d < gap && shown(i)) { gap = d; best = i; }
    });
    return best;
  }
  function hover(i, m) {
    if (i === hovered) return;
    hovered = i;
    send("hovered", i);
    maps.forEach((map, other) => {
      mark(map);
      map.tip.hidden = i < 0 || other !== m;
      if (map.tip.hidden) return;
      map.tip.textContent = texts[i] + (legend.length ? ` (${legend[kind(i)]})` : "");
      const [x, y] = map.places[i], height = map.top.canvas.parentElement.clientHeight - SIZE;
      map.tip.style.cssText = `top:${y + height + 12}px;` + (x < SIZE / 2 ? `left:${x + 10}px` : `right:${SIZE - x + 10}px`);
    });
  }
  function dot(c, map, i, r = radius) {
    c.beginPath(); shape(kind(i))(c, ...map.places[i], r); c.fillStyle = colour(kind(i)); c.fill();
  }
  function draw(map) {
    const c = map.base.context, chosen = model.get("chosen");
    c.clearRect(0, 0, SIZE, SIZE);
    c.globalAlpha = chosen.length ? .15 : .75;
    for (let i = 0; i < n; i++) if (shown(i)) dot(c, map, i);
    c.globalAlpha = 1;
    for (const i of chosen) if (shown(i)) dot(c, map, i, radius + .8);
    mark(map);
  }
  function ring(c, [x, y], r, width = 1.8) {
    c.beginPath(); c.arc(x, y, r, 0, 7); c.lineWidth = width + 2; c.strokeStyle = "white"; c.stroke();
    c.lineWidth = width; c.strokeStyle = INK; c.stroke();
  }
  function mark(map) {
    const c = map.top.context, near = model.get("near")[map.name] ?? [];
    c.clearRect(0, 0, SIZE, SIZE);
    near.forEach(([i]) => { dot(c, map, i, radius + 1.5); ring(c, map.places[i], radius + 4); });
    const own = texts.indexOf(model.get("query").trim());
    if (own >= 0) { dot(c, map, own, radius + 3); ring(c, map.places[own], radius + 7, 3); }
    if (hovered >= 0) { dot(c, map, hovered, radius + 2); ring(c, map.places[hovered], radius + 5); }
    if (map.lasso) {
      c.beginPath();
      map.lasso.forEach((p, k) => c[k ? "lineTo" : "moveTo"](...p));
      c.closePath();
      c.fillStyle = "#0072B222"; c.fill(); c.strokeStyle = INK; c.lineWidth = 1.2; c.setLineDash([5, 3]); c.stroke();
      c.setLineDash([]);
    }
  }
  function listed(heading, rows) {
    const part = add(lists, "section");
    add(part, "p", {}, heading);
    const ol = add(part, "ol");
    rows.slice(0, LISTED).forEach(([i, note]) => {
      const item = add(ol, "li", {}, texts[i]);
      add(item, "span", {}, ` ${[note, legend[kind(i)]].filter(Boolean).join(" · ")}`);
    });
    if (rows.length > LISTED) add(part, "p", {}, `and ${rows.length - LISTED} more`);
  }
  function list() {
    const near = model.get("near"), chosen = model.get("chosen"), problem = model.get("problem");
    lists.replaceChildren();
    if (problem) add(lists, "p", {}, problem);
    for (const name of names) if (near[name]) {
      listed(`nearest${name && ` for ${name}`}, by cosine`, near[name].map(([i, cosine]) => [i, cosine.toFixed(2)]));
    }
    if (chosen.length) listed(`${chosen.length} chosen`, chosen.map(i => [i, ""]));
    if (!lists.childElementCount) add(lists, "p", {}, "Point at a dot to read it; draw a line around some to list them.");
  }
  function drawAll() { maps.forEach(draw); list(); }

  model.on("change:chosen", drawAll);
  model.on("change:near", drawAll);
  model.on("change:problem", list);
  model.on("change:query", () => { input.value = model.get("query"); maps.forEach(mark); });
  input.value = model.get("query");
  drawAll();
}

export default { render };
