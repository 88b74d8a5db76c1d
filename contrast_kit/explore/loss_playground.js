// The circle of ck.explore.loss_playground. Python computes; this shows, and sends where the points are.
const PULL = "var(--ck-pull)", PUSH = "var(--ck-push)", INK = "var(--ck-ink)", FAINT = "var(--ck-line)";
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"];
const CENTRE = [215, 205], RADIUS = 150, MATRIX = [72, 66], SIDE = 300, WIDTH = 430;
const PLAY = 1500;  // milliseconds
const NAME = [182, 8];  // a point's name: at which radius, and how many degrees from the next name
const WEAK = 0.1;  // a force that gets a full arrow, unless another is larger

const at = (angle, radius = RADIUS) => [
  CENTRE[0] + radius * Math.cos(angle * Math.PI / 180), CENTRE[1] - radius * Math.sin(angle * Math.PI / 180),
];

// Where names are written: at their points, or fanned out where points meet.
function fanned(angles) {
  const order = angles.map((_, i) => i).sort((i, j) => angles[i] - angles[j]), fan = [...angles];
  for (let round = 0; round < 60; round++) {
    order.forEach((i, k) => {
      const j = order[(k + 1) % order.length], gap = fan[j] - fan[i] + (k + 1 < order.length ? 0 : 360);
      const short = Math.max(0, Math.min(NAME[1], 360 / order.length) - gap);
      fan[i] -= short / 2;
      fan[j] += short / 2;
    });
  }
  return fan;
}

function render({ model, el }) {
  const names = model.get("names"), n = names.length, cell = SIDE / n;
  let angles = [...model.get("angles")], held = null, plays = 0, playing = false;
  const both = html(begin(el, "ck-circle"), "div", { class: "ck-pictures" });
  const svg = add(both, "svg", { viewBox: `0 0 ${WIDTH} 420`, role: "group", "aria-label": "vectors on a circle" });
  const grid = add(both, "svg", { viewBox: `0 0 ${WIDTH} 420`, role: "img" });
  const arrowhead = `ck-tip-${Math.random().toString(36).slice(2)}`;  // several panels may stand on a page
  const tip = add(add(svg, "defs"), "marker", { id: arrowhead, viewBox: "0 0 10 10", refX: 7, refY: 5,
    markerWidth: 5, markerHeight: 5, orient: "auto" });
  add(tip, "path", { d: "M0,0 L10,5 L0,10 z", fill: INK });
  add(svg, "circle", { cx: CENTRE[0], cy: CENTRE[1], r: RADIUS, fill: "none", stroke: FAINT, "stroke-width": 1.5 });
  add(svg, "text", { x: 10, y: 412, "font-size": 13, class: "ck-soft" }, "drag a point, or use the arrow keys");

  const lines = names.map(() => add(svg, "line", { "stroke-linecap": "round", opacity: 0.55 }));
  const arrows = names.map(() => add(svg, "line", { stroke: INK, "stroke-width": 2, "marker-end": `url(#${arrowhead})` }));
  const points = names.map((name, i) => {
    const group = add(svg, "g", { class: "ck-point", tabindex: 0, role: "slider", style: "cursor:grab;touch-action:none",
      "aria-label": name, "aria-valuemin": 0, "aria-valuemax": 360 });
    const view1 = i >= n / 2, fill = COLOURS[i % (n / 2)];
    add(group, "circle", { r: 20, fill: "transparent", class: "ck-hit" });
    const ring = add(group, "circle", { r: 17, fill: "none", stroke: INK, "stroke-width": 1.6 });
    if (view1) add(group, "rect", { x: -10, y: -10, width: 20, height: 20, rx: 3, fill });
    else add(group, "circle", { r: 11, fill });
    const label = add(group, "text", { "font-size": 15, "text-anchor": "middle", "dominant-baseline": "central" },
      name);
    group.addEventListener("pointerdown", event => { held = i; svg.setPointerCapture(event.pointerId); choose(i); });
    group.addEventListener("focus", () => choose(i));
    group.addEventListener("keydown", event => {
      const by = { ArrowLeft: 3, ArrowUp: 3, ArrowRight: -3, ArrowDown: -3 }[event.key];
      if (by) { event.preventDefault(); turn(i, angles[i] + by); }
    });
    return { group, ring, label };
  });
  svg.addEventListener("pointermove", event => {
    if (held === null) return;
    const box = svg.getBoundingClientRect(), scale = WIDTH / box.width;
    const x = (event.clientX - box.left) * scale - CENTRE[0], y = CENTRE[1] - (event.clientY - box.top) * scale;
    turn(held, Math.atan2(y, x) * 180 / Math.PI);
  });
  svg.addEventListener("pointerup", () => { held = null; draw(); });

  add(grid, "text", { x: MATRIX[0] + SIDE / 2, y: 22, "font-size": 14, "text-anchor": "middle" },
    "weight of each candidate in an anchor's softmax, %");
  add(grid, "text", { x: MATRIX[0] - 52, y: MATRIX[1] + SIDE / 2, "font-size": 13, "text-anchor": "middle", class: "ck-soft",
    transform: `rotate(-90 ${MATRIX[0] - 52} ${MATRIX[1] + SIDE / 2})` }, "anchor");
  const cells = names.map((name, i) => {
    const y = MATRIX[1] + i * cell;
    add(grid, "text", { x: MATRIX[0] + (i + 0.5) * cell, y: MATRIX[1] - 10, "font-size": 14, "text-anchor": "middle" },
      name);
    add(grid, "text", { x: MATRIX[0] - 12, y: y + cell / 2, "font-size": 14, "text-anchor": "end",
      "dominant-baseline": "central" }, name);
    return names.map((_, j) => {
      const x = MATRIX[0] + j * cell;
      const box = add(grid, "rect", { x: x + 1, y: y + 1, width: cell - 2, height: cell - 2, rx: 3 });
      const text = add(grid, "text", { x: x + cell / 2, y: y + cell / 2, "font-size": Math.min(14, cell / 2.8),
        "text-anchor": "middle", "dominant-baseline": "central", "pointer-events": "none" });
      box.addEventListener("click", () => choose(i));
      return { box, text };
    });
  });
  const frame = add(grid, "rect", { x: MATRIX[0] - 1, width: SIDE + 2, height: cell + 2, fill: "none", stroke: INK,
    "stroke-width": 1.8, rx: 4 });
  const key = [["a positive pulls", PULL, -40], ["a negative pushes", PUSH, 90], ["× left out", null, 244]];
  key.forEach(([words, colour, x]) => {
    if (colour) add(grid, "rect", { x: MATRIX[0] + x, y: 389, width: 14, height: 14, rx: 2, fill: colour });
    add(grid, "text", { x: MATRIX[0] + x + (colour ? 20 : 0), y: 397, "font-size": 13, "dominant-baseline": "central" },
      words);
  });

  function choose(i) {
    if (model.get("anchor") === i) return;
    model.set("anchor", i);
    model.save_changes();
  }
  function turn(i, angle) {
    angles[i] = (angle + 360) % 360;
    model.set("angles", [...angles]);
    model.save_changes();
    draw();
  }

  function draw() {
    const seen = model.get("seen"), chosen = model.get("anchor");
    if (!seen.weights) return;
    const sizes = seen.forces.map(([x, y]) => Math.hypot(x, y)), longest = Math.max(...sizes, WEAK);
    const fan = fanned(angles.map(angle => (angle % 360 + 360) % 360));
    points.forEach(({ group, ring, label }, i) => {
      const [x, y] = at(angles[i]), [nx, ny] = at(fan[i], NAME[0]);
      set(group, { transform: `translate(${x},${y})`, "aria-valuenow": Math.round(angles[i]) });
      set(label, { x: nx - x, y: ny - y });
      ring.style.visibility = i === chosen ? "visible" : "hidden";
      const [fx, fy] = seen.forces[i].map(v => v / longest * RADIUS / 2), shown = !playing && sizes[i] > 0.04 * longest;
      set(arrows[i], { x1: x, y1: y, x2: x + fx, y2: y - fy, visibility: shown ? "visible" : "hidden" });
    });
    const [cx, cy] = at(angles[chosen]);
    const roles = seen.roles[chosen], weights = seen.weights[chosen];
    const positives = roles.filter(role => role === "positive").length;
    names.forEach((_, j) => {
      const [x, y] = at(angles[j]), positive = roles[j] === "positive" || roles[j] === "numerator";
      // What a candidate does to the anchor: its weight less its share of the target (1 over the positives).
      const pull = roles[j] === "numerator" ? 1 : Math.abs((weights[j] ?? 0) - (positive ? 1 / positives : 0));
      set(lines[j], { x1: cx, y1: cy, x2: x, y2: y, stroke: positive ? PULL : PUSH, "stroke-width": 1 + 11 * pull,
        visibility: roles[j] === "out" ? "hidden" : "visible" });
      names.forEach((_, i) => paint(cells[i][j], seen.weights[i][j], seen.roles[i][j]));
    });
    set(frame, { y: MATRIX[1] + chosen * cell - 1 });
  }
  function paint({ box, text }, weight, role) {
    const out = role === "out", positive = role === "positive" || role === "numerator";
    const strength = weight === null ? (positive ? 1 : 0) : Math.sqrt(weight);
    set(box, { fill: out ? "var(--ck-fill)" : positive ? PULL : PUSH, "fill-opacity": out ? 1 : 0.08 + 0.92 * strength });
    text.style.fill = out ? "var(--ck-soft)" : strength > 0.85 ? "white" : INK;
    text.textContent = out ? "×" : weight === null ? "+" : (100 * weight).toFixed(weight < 0.0995 ? 1 : 0);
  }
  function play() {
    const path = model.get("path"), began = performance.now(), mine = ++plays;
    if (path.length < 3) return;
    playing = true;  // forces stand for the end of the path, so they wait for it
    const frame = now => {
      if (mine !== plays) return;
      const place = Math.min(1, Math.max(0, now - began) / PLAY) * (path.length - 1), k = Math.floor(place);
      const next = path[Math.min(k + 1, path.length - 1)];
      angles = path[k].map((angle, i) => angle + (place - k) * (next[i] - angle));
      draw();
      if (place < path.length - 1) requestAnimationFrame(frame);
      else { playing = false; follow(); }
    };
    requestAnimationFrame(frame);
  }

  const follow = () => { if (held === null && !playing) { angles = [...model.get("angles")]; draw(); } };
  model.on("change:path", play);
  model.on("change:angles", follow);
  model.on("change:seen", draw);
  model.on("change:anchor", draw);
  draw();
  return () => { plays += 1; };
}

export default { render };
