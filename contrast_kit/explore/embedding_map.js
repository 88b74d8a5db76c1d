// The map of ck.explore.embedding_map, after shared.js, canvas.js and dots.js. Python says where the points are and what
// is near; this shows, and sends what the hand chose.
const SIZE = 410, LARGE = 520, MARGIN = 22, REACH = 12, LISTED = 300, TRIP = 2200;  // pixels, rows, milliseconds

const MAP_STYLE = `
.ck-map-bar label { display: inline-flex; gap: 8px; align-items: center; flex: 0 1 400px; white-space: nowrap; }
.ck-map input[type=search] { font: inherit; flex: 1 1 120px; min-width: 0; padding: 4px 8px; border-radius: 4px;
  border: 1px solid var(--ck-line); color: inherit; background: var(--ck-paper); }
.ck-map .ck-map-key { background: none; border-color: transparent; padding: 2px 6px; }
.ck-map .ck-map-key:hover { border-color: var(--ck-line); } .ck-map .ck-map-key[aria-pressed=false] { opacity: .35; }
.ck-map-maps { display: flex; flex-wrap: wrap; gap: 8px 16px; }
.ck-map-one { position: relative; flex: 0 1 ${SIZE}px; min-width: min(280px, 100%); }
.ck-map-one[hidden] { display: none; } .ck-map-between { flex-basis: ${LARGE}px; }
.ck-map-head { display: flex; gap: 4px; align-items: baseline; margin: 0 0 4px; }
.ck-map-head h4 { margin: 0 auto 0 0; font-weight: 600; min-height: 1.2em; } .ck-map-head button { padding: 0 8px; }
.ck-map-sheet { position: relative; aspect-ratio: 1; }
.ck-map-sheet canvas { position: absolute; inset: 0; width: 100% !important; height: 100% !important;
  box-sizing: border-box; border: 1px solid var(--ck-line); border-radius: 4px; cursor: crosshair; }
.ck-map-sheet canvas + canvas { border-color: transparent; }
.ck-map-lists { display: flex; flex-wrap: wrap; gap: 4px 16px; }
.ck-map-lists section { flex: 1 1 ${SIZE - 60}px; min-width: 0; }
.ck-map-lists ol { margin: 4px 0 0; padding-left: 34px; max-height: 190px; overflow-y: auto; line-height: 1.5; }
.ck-map-lists p { margin: 8px 0 0; } .ck-map-lists li span { color: var(--ck-soft); }`;

function inside(x, y, polygon) {
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
  const bytes = model.get("xy");
  const xy = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const radius = n > 8000 ? 1.7 : n > 2000 ? 2.2 : n > 400 ? 3.2 : 4.5, hidden = new Set();
  const kind = i => kinds.length ? kinds[i] : 0, colour = k => colours[k % colours.length];
  const shape = k => SHAPES[markers[(k + Math.floor(k / colours.length)) % markers.length]];
  const send = (name, value) => { model.set(name, value); model.save_changes(); };
  const shown = i => !hidden.has(kind(i));
  let hovered = -1, paper = null, ink = null, gone = false, told = 0;

  const panel = begin(el, "ck-map", PAPER + MAP_STYLE);
  const bar = html(panel, "div", { class: "ck-bar ck-map-bar" });
  const label = html(bar, "label", {}, "your sentence ");
  const input = keepKeys(html(label, "input", { type: "search", placeholder: "type one, then Enter: placed, and its nearest" }));
  input.addEventListener("change", () => send("query", input.value));
  input.addEventListener("keydown", event => { if (event.key === "Enter") send("query", input.value); });
  const clear = html(bar, "button", { type: "button" }, "clear");
  clear.addEventListener("click", clearAll);
  const between = names.length > 1 ? html(bar, "button", { type: "button", "aria-pressed": false }, "before ↔ after") : null;
  legend.forEach((name, k) => {
    const button = html(bar, "button", { type: "button", class: "ck-map-key", "aria-pressed": true, title: "show or hide" });
    const { context } = square(button, 13);
    context.beginPath(); shape(k)(context, 6.5, 6.5, 4.5); context.fillStyle = colour(k); context.fill();
    button.append(` ${name}`);
    button.addEventListener("click", () => {
      hidden.has(k) ? hidden.delete(k) : hidden.add(k);
      button.setAttribute("aria-pressed", !hidden.has(k));
      drawAll();
    });
  });
  const box = html(panel, "div", { class: "ck-map-maps" });
  const lists = html(panel, "div", { class: "ck-map-lists", "aria-live": "polite" });
  const maps = names.map((name, m) => oneMap(name, SIZE, () => m));
  const morph = between ? morphed() : null;
  const all = morph ? [...maps, morph] : maps;
  const visible = () => all.filter(map => !map.one.hidden);

  // `where()` is the place of the map between all of them: 0 the first, 1 the second, 0.5 halfway.
  function oneMap(name, side, where) {
    const one = html(box, "div", { class: "ck-map-one" }), head = html(one, "div", { class: "ck-map-head" });
    const title = html(head, "h4", {}, name), sheet = html(one, "div", { class: "ck-map-sheet" });
    const says = `map of ${n} sentences${name && `, ${name}`}`;
    const base = square(sheet, side, { role: "img", "aria-label": says });
    const keys = "arrow keys walk, Enter chooses, + and - zoom, Escape clears";
    const top = square(sheet, side, { tabindex: 0, role: "application", "aria-label": `${says}: ${keys}` });
    const tip = html(sheet, "div", { class: "ck-tip ck-map-tip", role: "status", hidden: "" });
    const map = { name, one, head, title, base, top, tip, side, where, x: new Float32Array(n), y: new Float32Array(n),
      view: { k: 1, x: 0, y: 0 }, lasso: null, pan: null, dots: dots(base, kinds, colours, shape, radius) };
    for (const [sign, tells, does] of [["+", "nearer", () => zoom(map, 1.5)], ["−", "farther", () => zoom(map, 1 / 1.5)],
      ["fit", "all of it", () => fit(map)]]) {
      html(head, "button", { type: "button", title: tells, "aria-label": `${tells}${name && `, ${name}`}` }, sign)
        .addEventListener("click", does);
    }
    map.draw = onceAFrame(() => draw(map));
    hands(map);
    return map;
  }
  function place(map) {
    const at = map.where(), a = Math.floor(at), b = Math.min(a + 1, names.length - 1), s = at - a;
    const { k, x, y } = map.view, half = map.side / 2, unit = (half - MARGIN) * k;
    const A = 2 * a * n, B = 2 * b * n;
    for (let i = 0; i < n; i++) {
      const u = xy[A + 2 * i] + s * (xy[B + 2 * i] - xy[A + 2 * i]);
      const v = xy[A + 2 * i + 1] + s * (xy[B + 2 * i + 1] - xy[A + 2 * i + 1]);
      map.x[i] = half + (u - x) * unit;
      map.y[i] = half - (v - y) * unit;
    }
  }
  // Where a sentence that is not on the map has been placed, in pixels; null if it has not.
  function placed(map) {
    const found = model.get("placed"), at = map.where(), a = Math.floor(at), b = Math.min(a + 1, names.length - 1);
    const [p, q] = [found[names[a]], found[names[b]]];
    if (!p || !q) return null;
    const { k, x, y } = map.view, half = map.side / 2, unit = (half - MARGIN) * k, s = at - a;
    return [half + (p[0] + s * (q[0] - p[0]) - x) * unit, half - (p[1] + s * (q[1] - p[1]) - y) * unit];
  }

  // -- the hand ------------------------------------------------------------------------------------------------------
  function hands(map) {
    const { canvas } = map.top;
    const at = event => {
      const edge = canvas.getBoundingClientRect(), scale = map.side / edge.width;
      return [(event.clientX - edge.left) * scale, (event.clientY - edge.top) * scale];
    };
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      canvas.focus({ preventScroll: true });
      if (event.shiftKey || event.button === 1) map.pan = at(event);
      else map.lasso = [at(event)];
    });
    canvas.addEventListener("pointermove", event => {
      const [x, y] = at(event);
      if (map.pan) { pan(map, map.pan[0] - x, map.pan[1] - y); map.pan = [x, y]; }
      else if (map.lasso) { map.lasso.push([x, y]); mark(map); }
      else hover(nearest(map, x, y), map);
    });
    canvas.addEventListener("pointerup", () => {
      const lasso = map.lasso;
      map.lasso = map.pan = null;
      if (!lasso) return;
      const [x, y] = lasso[0], found = [], one = nearest(map, x, y);
      if (lasso.some(p => Math.hypot(p[0] - x, p[1] - y) > 5)) {
        for (let i = 0; i < n; i++) if (shown(i) && inside(map.x[i], map.y[i], lasso)) found.push(i);
      } else if (one >= 0) found.push(one);
      send("chosen", found);
      mark(map);
    });
    canvas.addEventListener("pointerleave", () => hover(-1, map));
    canvas.addEventListener("dblclick", event => zoom(map, 2, ...at(event)));
    canvas.addEventListener("wheel", event => {  // the page scrolls, unless one has clicked into the map
      if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(map, Math.exp(-event.deltaY / 300), ...at(event));
    }, { passive: false });
    keepKeys(canvas).addEventListener("keydown", event => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      const does = way ? () => event.shiftKey ? pan(map, 40 * way[0], 40 * way[1]) : walk(map, way)
        : { Enter: () => send("chosen", hovered < 0 ? [] : [hovered]), " ": () => send("chosen", hovered < 0 ? [] : [hovered]),
            Escape: clearAll, "+": () => zoom(map, 1.5), "=": () => zoom(map, 1.5), "-": () => zoom(map, 1 / 1.5),
            0: () => fit(map) }[event.key];
      if (does) { event.preventDefault(); does(); }
    });
  }
  function zoom(map, by, x = map.side / 2, y = map.side / 2) {
    const { view, side } = map, k = Math.min(60, Math.max(1, view.k * by)), half = side / 2, unit = half - MARGIN;
    view.x += (x - half) / unit * (1 / view.k - 1 / k);
    view.y -= (y - half) / unit * (1 / view.k - 1 / k);
    view.k = k;
    if (k === 1) view.x = view.y = 0;
    map.draw();
  }
  function fit(map) { map.view = { k: 1, x: 0, y: 0 }; map.draw(); }
  function pan(map, right, down) {
    const unit = (map.side / 2 - MARGIN) * map.view.k, keep = v => Math.max(-1, Math.min(1, v));
    map.view.x = keep(map.view.x + right / unit);
    map.view.y = keep(map.view.y - down / unit);
    map.draw();
  }
  // The nearest sentence that lies more in this direction than aside.
  function walk(map, [dx, dy]) {
    const from = hovered >= 0 ? [map.x[hovered], map.y[hovered]] : [map.side / 2, map.side / 2];
    let best = -1, gap = Infinity;
    for (let i = 0; i < n; i++) {
      if (i === hovered || !shown(i)) continue;
      const x = map.x[i] - from[0], y = map.y[i] - from[1], along = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
      if (hovered >= 0 && (along <= 0.01 || aside > along)) continue;
      const far = Math.hypot(x, y) + aside;
      if (far < gap) { gap = far; best = i; }
    }
    if (best < 0) return;
    hover(best, map);
    const [x, y] = [map.x[best], map.y[best]], edge = 12;
    if (x < edge || y < edge || x > map.side - edge || y > map.side - edge) pan(map, x - map.side / 2, y - map.side / 2);
  }
  function nearest(map, x, y) {
    let best = -1, gap = REACH * REACH;
    for (let i = 0; i < n; i++) {
      const d = (map.x[i] - x) ** 2 + (map.y[i] - y) ** 2;
      if (d < gap && shown(i)) { gap = d; best = i; }
    }
    return best;
  }
  function hover(i, here) {
    if (i === hovered) return;
    hovered = i;
    clearTimeout(told);
    told = setTimeout(() => send("hovered", hovered), 40);  // not each of fifty that a hand passes
    for (const map of visible()) {
      mark(map);
      map.tip.hidden = i < 0 || map !== here;
      if (map.tip.hidden) continue;
      map.tip.textContent = texts[i] + (legend.length ? ` (${legend[kind(i)]})` : "");
      const [x, y] = [100 * map.x[i] / map.side, 100 * map.y[i] / map.side];
      map.tip.style.cssText = `top:calc(${y}% + 12px);` + (x < 50 ? `left:calc(${x}% + 10px)` : `right:calc(${100 - x}% + 10px)`);
    }
  }
  function clearAll() {
    model.set("chosen", []);
    model.set("query", "");
    model.set("hovered", -1);
    model.save_changes();
    hovered = -1; input.value = "";
    hidden.clear();
    bar.querySelectorAll(".ck-map-key").forEach(key => key.setAttribute("aria-pressed", true));
    all.forEach(map => { map.view = { k: 1, x: 0, y: 0 }; map.tip.hidden = true; });
    drawAll();
  }

  // -- the drawing ---------------------------------------------------------------------------------------------------
  function draw(map) {
    if (gone || map.one.hidden) return;
    paper ??= rgb(panel, "--ck-paper");
    ink ??= rgb(panel, "--ck-ink");
    if (!paper || !ink) { setTimeout(map.draw, 100); return; }
    const began = performance.now(), chosen = model.get("chosen");
    place(map);
    map.dots.clear(paper);
    for (let i = 0; i < n; i++) if (shown(i)) map.dots.put(map.x[i], map.y[i], kind(i), chosen.length ? 0.22 : 0.75);
    for (const i of chosen) if (shown(i)) map.dots.put(map.x[i], map.y[i], kind(i), 1);
    map.dots.show();
    mark(map);
    map.base.canvas.dataset.ms = (performance.now() - began).toFixed(2);
  }
  function dot(c, map, i, r) {
    c.beginPath(); shape(kind(i))(c, map.x[i], map.y[i], r); c.fillStyle = colour(kind(i)); c.fill();
  }
  function ring(c, x, y, r, width = 1.8) {
    c.beginPath(); c.arc(x, y, r, 0, 7); c.lineWidth = width + 2; c.strokeStyle = `rgb(${paper})`; c.stroke();
    c.lineWidth = width; c.strokeStyle = `rgb(${ink})`; c.stroke();
  }
  function mark(map) {
    if (!paper) return;
    const c = map.top.context, near = model.get("near")[names[Math.round(map.where())]] ?? [];
    const query = model.get("query").trim(), own = query ? texts.findIndex(text => text.trim() === query) : -1;
    c.clearRect(0, 0, map.side, map.side);
    near.forEach(([i]) => { dot(c, map, i, radius + 1.5); ring(c, map.x[i], map.y[i], radius + 4); });
    if (own >= 0) { dot(c, map, own, radius + 3); ring(c, map.x[own], map.y[own], radius + 7, 3); }
    const mine = own < 0 && query ? placed(map) : null;
    if (mine) {
      c.beginPath(); SHAPES["*"](c, ...mine, 11); c.lineWidth = 3; c.strokeStyle = `rgb(${paper})`; c.stroke();
      c.fillStyle = "#D55E00"; c.fill(); c.lineWidth = 1.2; c.strokeStyle = `rgb(${ink})`; c.stroke();
      const left = mine[0] > map.side - 90;
      c.font = "600 12px system-ui, sans-serif"; c.textAlign = left ? "right" : "left";
      c.lineWidth = 3; c.strokeStyle = `rgb(${paper})`; c.fillStyle = `rgb(${ink})`;
      const spot = [mine[0] + (left ? -15 : 15), mine[1] + 4];
      c.strokeText("your sentence", ...spot); c.fillText("your sentence", ...spot);
    }
    if (hovered >= 0) { dot(c, map, hovered, radius + 2); ring(c, map.x[hovered], map.y[hovered], radius + 5); }
    if (map.lasso) {
      c.beginPath();
      map.lasso.forEach((p, k) => c[k ? "lineTo" : "moveTo"](...p));
      c.closePath();
      c.fillStyle = "#0072B222"; c.fill(); c.strokeStyle = `rgb(${ink})`; c.lineWidth = 1.2; c.setLineDash([5, 3]); c.stroke();
      c.setLineDash([]);
    }
  }
  function drawAll() { visible().forEach(map => map.draw()); list(); }

  // -- before and after: one map that moves from the first encoder's to the last one's ---------------------------------
  function morphed() {
    const last = names.length - 1;
    let playing = false;
    const map = oneMap("", LARGE, () => Number(slider.value));
    map.one.classList.add("ck-map-between");
    const foot = html(map.one, "div", { class: "ck-bar", style: "margin-top:6px" });
    const play = html(foot, "button", { type: "button", "aria-label": "play from before to after" }, "▶");
    html(foot, "span", {}, names[0]);
    const slider = keepKeys(html(foot, "input", { type: "range", min: 0, max: last, step: 0.01, value: 0,
      "aria-label": `from ${names[0]} to ${names[last]}`, style: "flex:1 1 120px" }));
    html(foot, "span", {}, names[last]);
    map.one.hidden = true;
    const moved = () => {
      const at = Number(slider.value), near = Math.round(at);
      map.title.textContent = Math.abs(at - near) < 0.02 ? names[near] : `${names[Math.floor(at)]} → ${names[Math.ceil(at)]}`;
      map.draw();
    };
    slider.addEventListener("input", () => { playing = false; moved(); });
    play.addEventListener("click", () => {
      const from = Number(slider.value) >= last ? 0 : Number(slider.value), began = performance.now();
      playing = true;
      const frame = now => {
        if (!playing || gone) return;
        const s = still() ? 1 : Math.min(1, Math.max(0, now - began) / TRIP / (last - from)), u = s * s * (3 - 2 * s);
        slider.value = from + (last - from) * u;
        moved();
        if (s < 1) requestAnimationFrame(frame);
        else playing = false;
      };
      requestAnimationFrame(frame);
    });
    between.addEventListener("click", () => {
      const on = map.one.hidden;
      between.setAttribute("aria-pressed", on);
      maps.forEach(each => { each.one.hidden = on; });
      map.one.hidden = !on;
      if (on) moved();
      drawAll();
    });
    return map;
  }

  // -- the lists below -----------------------------------------------------------------------------------------------
  function listed(heading, rows) {
    const part = html(lists, "section");
    html(part, "p", {}, heading);
    const ol = html(part, "ol");
    rows.slice(0, LISTED).forEach(([i, note]) => {
      const item = html(ol, "li", {}, texts[i]);
      html(item, "span", {}, ` ${[note, legend[kind(i)]].filter(Boolean).join(" · ")}`);
    });
    if (rows.length > LISTED) html(part, "p", {}, `and ${rows.length - LISTED} more`);
  }
  function list() {
    const near = model.get("near"), chosen = model.get("chosen"), problem = model.get("problem");
    lists.replaceChildren();
    if (problem) html(lists, "p", { role: "alert" }, problem);
    for (const name of names) if (near[name]) {
      listed(`nearest${name && ` for ${name}`}, by cosine`, near[name].map(([i, cosine]) => [i, fixed(cosine, 2)]));
    }
    if (chosen.length) listed(`${chosen.length} chosen`, chosen.map(i => [i, ""]));
    if (lists.childElementCount) return;
    html(lists, "p", { class: "ck-soft" }, "Point at a dot to read it; draw a line around some to list them; click, then " +
      "turn the wheel to come nearer; hold Shift to push the map.");
  }

  for (const name of ["chosen", "near", "placed"]) model.on(`change:${name}`, drawAll);
  model.on("change:problem", list);
  model.on("change:query", () => { input.value = model.get("query"); drawAll(); });
  const unfollow = followTheme(() => { paper = ink = null; drawAll(); });
  input.value = model.get("query");
  drawAll();
  return () => { gone = true; unfollow(); };
}

export default { render: orSay(render) };
