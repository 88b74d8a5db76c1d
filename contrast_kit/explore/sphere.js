// A sphere of sentence vectors on a plain canvas, after canvas.js: drag it, or turn it with the arrow keys.
const FAR = 3.2;  // the eye's distance from the centre, in radii
const GLIDE = 900;  // milliseconds in which points move to where they were measured next

// One camera for all spheres of a panel, so that they turn together.
function camera() {
  return { yaw: 0.5, pitch: 0.32, held: false };
}
function sphere(parent, side, view, { colours, markers, kinds, texts, name }, redraw) {
  const box = html(parent, "div", { style: `position:relative;width:${side}px;max-width:100%` });
  const says = `sphere of ${texts.length} sentence vectors${name && `, ${name}`}: drag, or arrow keys, to turn it`;
  const { canvas, context: c } = square(box, side, { role: "img", tabindex: 0, "aria-label": says, class: "ck-sphere",
    style: `width:100%;max-width:${side}px;aspect-ratio:1;display:block` });
  const tip = html(box, "div", { class: "ck-tip", hidden: "" });
  let from = null, to = null, began = 0, places = [], grabbed = null;
  const middle = side / 2, radius = side / 2 * 0.86;
  const colour = i => colours[(kinds[i] ?? 0) % colours.length];
  const shape = i => {
    const k = kinds[i] ?? 0;
    return SHAPES[markers[(k + Math.floor(k / colours.length)) % markers.length]];
  };

  function show(points, glide = true) {
    from = to && glide && !still() ? current(performance.now()) : points;
    to = points;
    began = performance.now();
    redraw();
  }
  // Between two measurements: along the great circle, as far as time has gone.
  function current(now) {
    const s = Math.min(1, (now - began) / GLIDE), u = s * s * (3 - 2 * s);
    if (u >= 1 || from === to) return to;
    return to.map((b, i) => {
      const a = from[i], x = a.map((v, d) => v + (b[d] - v) * u), long = Math.hypot(...x) || 1;
      return x.map(v => v / long);
    });
  }
  const moving = now => to && from !== to && now - began < GLIDE;
  // [x, y] on the canvas, how near it is (1 in front, -1 behind), and how large it looks.
  function project([x, y, z]) {
    const { yaw, pitch } = view;
    const x1 = x * Math.cos(yaw) + z * Math.sin(yaw), z1 = z * Math.cos(yaw) - x * Math.sin(yaw);
    const y2 = y * Math.cos(pitch) - z1 * Math.sin(pitch), z2 = z1 * Math.cos(pitch) + y * Math.sin(pitch);
    const size = FAR / (FAR - z2);
    return [middle + radius * x1 * size * 0.94, middle - radius * y2 * size * 0.94, z2, size];
  }
  function draw(now, paper, ink) {
    const light = paper[0] + paper[1] + paper[2] > 380, glow = light ? "0,0,0" : "255,255,255";
    c.clearRect(0, 0, side, side);
    const ball = c.createRadialGradient(middle - radius * .35, middle - radius * .4, radius * .1, middle, middle, radius);
    ball.addColorStop(0, `rgba(${glow},0.01)`); ball.addColorStop(.8, `rgba(${glow},0.045)`);
    ball.addColorStop(1, `rgba(${glow},0.13)`);
    c.beginPath(); c.arc(middle, middle, radius, 0, 7); c.fillStyle = ball; c.fill();
    c.lineWidth = 0.8;
    for (let line = 0; line < 9; line++) {
      for (const front of [false, true]) {
        c.beginPath();
        let drawing = false;
        for (let k = 0; k <= 72; k++) {
          const t = k * Math.PI / 36, flat = (line - 7) * 0.55 + 0.27;  // six meridians, three parallels
          const p = line < 6
            ? [Math.sin(t) * Math.cos(line * Math.PI / 6), Math.cos(t), Math.sin(t) * Math.sin(line * Math.PI / 6)]
            : [Math.cos(t) * Math.cos(flat), Math.sin(flat), Math.sin(t) * Math.cos(flat)];
          const [x, y, z] = project(p);
          if (z > 0 !== front) { drawing = false; continue; }
          c[drawing ? "lineTo" : "moveTo"](x, y);
          drawing = true;
        }
        c.strokeStyle = `rgba(${glow},${front ? 0.16 : 0.06})`; c.stroke();
      }
    }
    if (!to) return;
    places = current(now).map((p, i) => [...project(p), i]).sort((a, b) => a[2] - b[2]);
    const base = to.length > 600 ? 2.1 : to.length > 150 ? 3 : 4.2;
    for (const [x, y, z, size, i] of places) {
      const near = (z + 1) / 2;
      c.globalAlpha = 0.16 + 0.74 * near * near;
      c.beginPath(); shape(i)(c, x, y, base * size * (0.65 + 0.45 * near));
      c.fillStyle = colour(i); c.fill();
      if (near > 0.6) { c.lineWidth = 0.5; c.strokeStyle = `rgb(${paper})`; c.stroke(); }
    }
    c.globalAlpha = 1;
  }

  function hover(event) {
    const edge = canvas.getBoundingClientRect(), scale = side / edge.width;
    const x = (event.clientX - edge.left) * scale, y = (event.clientY - edge.top) * scale;
    const near = places.filter(p => p[2] > 0).map(p => [Math.hypot(p[0] - x, p[1] - y), p])
      .filter(([gap]) => gap < 9).sort((a, b) => a[0] - b[0])[0];
    tip.hidden = !near;
    if (!near) return;
    tip.textContent = texts[near[1][4]];
    tip.style.cssText = `top:${y + 14}px;` + (x < middle ? `left:${x}px` : `right:${side - x}px`);
  }
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    grabbed = [event.clientX, event.clientY]; view.held = true; tip.hidden = true;
  });
  canvas.addEventListener("pointermove", event => {
    if (!grabbed) return hover(event);
    turn((event.clientX - grabbed[0]) / radius, (event.clientY - grabbed[1]) / radius);
    grabbed = [event.clientX, event.clientY];
  });
  const release = () => { grabbed = null; view.held = false; };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  keepKeys(canvas).addEventListener("keydown", event => {
    const by = { ArrowLeft: [-.15, 0], ArrowRight: [.15, 0], ArrowUp: [0, -.15], ArrowDown: [0, .15] }[event.key];
    if (by) { event.preventDefault(); turn(...by); }
  });
  function turn(right, down) {
    view.yaw += right;
    view.pitch = Math.max(-1.4, Math.min(1.4, view.pitch + down));
    redraw();
  }
  return { show, draw, moving };
}
