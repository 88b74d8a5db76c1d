(function (film, name) {
  const SECONDS = 0.4, INK = "#333333", FAINT = "#BBBBBB";  // from one frame to the next; as in style.py
  // In pixels: the map, and beside it a column for the legend and the measures.
  const SIDE = 420, COLUMN = film.words.length || Object.keys(film.measures).length ? 280 : 0;

  function start(root) {
    const make = (tag, props, parent = root) =>
      parent.appendChild(Object.assign(document.createElement(tag), props));
    root.dataset.ready = "yes";
    root.replaceChildren();
    root.style.cssText = "font: 13px sans-serif; max-width: 100%";
    const width = SIDE + COLUMN, height = SIDE + 26, last = film.names.length - 1;
    const canvas = make("canvas", {}), sharp = window.devicePixelRatio || 1;
    canvas.width = width * sharp; canvas.height = height * sharp;
    canvas.style.cssText = `width: ${width}px; max-width: 100%; display: block`;
    canvas.setAttribute("role", "img");
    const bar = make("div", {}); bar.style.cssText = "display: flex; gap: 8px; align-items: center; padding: 4px";
    const button = make("button", { textContent: "▶ play", type: "button" }, bar);
    button.style.cssText = "min-width: 84px";
    const slider = make("input", { type: "range", min: 0, max: last, step: 1, value: 0 }, bar);
    slider.setAttribute("aria-label", "frame"); slider.style.cssText = `width: ${SIDE - 100}px`;
    const pen = canvas.getContext("2d"); pen.scale(sharp, sharp);
    let at = 0, playing = false, before = 0, ink = INK, paper = "white";
    function look() {  // the page's own colours, where it has a theme
      const theme = getComputedStyle(root), own = ["--jp-layout-color0", "--pst-color-background"];
      const found = own.map(name => theme.getPropertyValue(name).trim()).find(Boolean);
      if (found) { paper = found; ink = theme.color; }
    }

    function text(words, x, y, size, color, align) {
      pen.font = `${size}px sans-serif`; pen.fillStyle = color || ink; pen.textAlign = align || "left";
      pen.fillText(words, x, y);
    }
    const px = v => SIDE / 2 * (1 + v / 1000), py = v => 26 + SIDE / 2 * (1 - v / 1000);
    function place(i) {  // between two frames: a straight line, on the circle an arc
      const k = Math.min(Math.floor(at), Math.max(last - 1, 0)), s = at - k, u = s * s * (3 - 2 * s);
      const a = film.frames[k][i], b = film.frames[Math.min(k + 1, last)][i];
      let x = a[0] + (b[0] - a[0]) * u, y = a[1] + (b[1] - a[1]) * u;
      if (film.circle) { const r = Math.hypot(...a) / Math.max(Math.hypot(x, y), 1); x *= r; y *= r; }
      return [px(x), py(y)];
    }
    function around(x, y, r, n, turn, deep = 1) {  // corners of a polygon; those of a star are deep
      for (let i = 0; i <= n; i++) {
        const a = turn + i * 2 * Math.PI / n, reach = i % 2 ? r * deep : r;
        pen[i ? "lineTo" : "moveTo"](x + reach * Math.cos(a), y + reach * Math.sin(a));
      }
    }
    const SHAPES = {  // as in explore/canvas.js
      o: (x, y, r) => pen.arc(x, y, r, 0, 7),
      s: (x, y, r) => pen.rect(x - r * .9, y - r * .9, r * 1.8, r * 1.8),
      "^": (x, y, r) => around(x, y, r * 1.2, 3, -Math.PI / 2),
      v: (x, y, r) => around(x, y, r * 1.2, 3, Math.PI / 2),
      D: (x, y, r) => around(x, y, r * 1.2, 4, 0),
      P: (x, y, r) => { pen.rect(x - r, y - r * .4, 2 * r, r * .8); pen.rect(x - r * .4, y - r, r * .8, 2 * r); },
      X: (x, y, r) => around(x, y, r * 1.2, 8, Math.PI / 4, .4),
      "*": (x, y, r) => around(x, y, r * 1.3, 10, -Math.PI / 2, .4),
    };
    function mark(kind, x, y, size) {
      const n = film.colours.length;
      pen.beginPath();
      SHAPES[film.markers[(kind + Math.floor(kind / n)) % film.markers.length]](x, y, size);
      pen.globalAlpha = 0.85; pen.fillStyle = film.colours[kind % n]; pen.fill();
      pen.globalAlpha = 1; pen.lineWidth = 0.6; pen.strokeStyle = paper; pen.stroke();
    }
    function curve(name, values, x, y, w, h) {
      const low = Math.min(...values), high = Math.max(...values), near = Math.round(at);
      const cx = i => x + w * i / Math.max(last, 1), cy = v => y + h - h * (v - low) / (high - low || 1);
      const say = v => (Math.round(v * 100) / 100 + 0).toFixed(2).replace("-", "−");  // no "-0.00"
      text(`${name} ${say(values[near])}`, x, y - 8, 13);
      text(say(high), x + w + 4, y + 6, 11, "#777777"); text(say(low), x + w + 4, y + h + 2, 11, "#777777");
      pen.lineWidth = 1; pen.strokeStyle = FAINT; pen.strokeRect(x, y - 3, w, h + 6);
      pen.beginPath(); values.forEach((v, i) => pen[i ? "lineTo" : "moveTo"](cx(i), cy(v)));
      pen.lineWidth = 1.6; pen.strokeStyle = ink; pen.stroke();
      pen.beginPath(); pen.arc(cx(near), cy(values[near]), 4.5, 0, 7); pen.fillStyle = "#D55E00"; pen.fill();
    }
    function draw() {
      const near = film.names[Math.round(at)];
      look();
      pen.fillStyle = paper; pen.fillRect(0, 0, width, height);
      text(near, 4, 18, 14);
      pen.lineWidth = 1; pen.strokeStyle = FAINT; pen.strokeRect(0.5, 26.5, SIDE - 1, SIDE - 1);
      if (film.circle) {
        pen.beginPath(); pen.arc(px(0), py(0), film.circle * SIDE / 2000, 0, 7); pen.stroke();
      }
      const places = film.frames[0].map((_, i) => place(i));
      pen.strokeStyle = "#888888"; pen.lineWidth = 0.8;
      for (const [a, b] of film.pairs) {
        pen.beginPath(); pen.moveTo(...places[a]); pen.lineTo(...places[b]); pen.stroke();
      }
      const size = places.length < 60 ? 5.5 : 3.6;
      places.forEach(([x, y], i) => mark(film.kind.length ? film.kind[i] : 0, x, y, size));
      let y = 40;
      film.words.forEach((word, i) => {
        mark(i, SIDE + 26, y - 4, 5.5); text(word, SIDE + 38, y, 13); y += 19;
      });
      const curves = Object.entries(film.measures), room = (height - y - 10) / Math.max(curves.length, 1);
      for (const [name, values] of curves) {
        curve(name, values, SIDE + 22, y + 24, COLUMN - 64, Math.min(room - 40, 110));
        y += Math.min(room, 150);
      }
      canvas.setAttribute("aria-label", `animation, ${near}`);
      slider.value = Math.round(at);
      button.textContent = playing ? "❚❚ pause" : "▶ play";
    }
    function tick(now) {
      if (!playing || !root.isConnected) return;
      at = Math.min(at + (now - before) / 1000 / SECONDS, last); before = now;
      playing = at < last; draw(); requestAnimationFrame(tick);
    }
    button.onclick = () => {
      playing = !playing; before = performance.now();
      if (playing && at >= last) at = 0;
      draw(); requestAnimationFrame(tick);
    };
    // A notebook takes the arrow keys for itself, before the slider sees them, unless it is told not to.
    slider.setAttribute("data-lm-suppress-shortcuts", "true");
    slider.onkeydown = event => event.stopPropagation();
    slider.oninput = () => { playing = false; at = Number(slider.value); draw(); };
    draw();
    const themes = { attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "data-theme"] };
    // The new colours may come a moment after the page says that its theme has changed.
    const soon = () => [0, 300, 1500].forEach(wait => setTimeout(draw, wait));
    const again = new MutationObserver(() => root.isConnected ? soon() : again.disconnect());
    [document.body, document.documentElement].forEach(node => again.observe(node, themes));
  }
  // Notebooks put the page together before or after they run its script: wait for the end of this turn.
  const all = () => document.querySelectorAll(`[data-animation="${name}"]`).forEach(r => r.dataset.ready || start(r));
  setTimeout(all, 0);
})
