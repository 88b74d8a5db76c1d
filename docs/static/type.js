// The page "Type a sentence": around it, the paraphrase, the trap and a cloud of sentences, as the encoder sees them
// before and after training. The distance from the middle is the true angle between two vectors; only the direction is
// a projection. Everything is computed here, by encoder.js.
(() => {
  const root = document.querySelector(".ck-type"), model = TYPE_MODEL, SIDE = 400, MIDDLE = SIDE / 2, RIGHT = 150;  // pixels of a right angle
  const HUES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8A6D3B"], LAST = model.steps.length - 1;
  const spaces = model.moments.map((_, i) => {
    const encoder = new TinyEncoder(model, i);
    return { encoder, cloud: model.cloud.map(text => encoder.encode(text)), directions: model.moments[i].directions };
  });
  const make = (parent, tag, attributes = {}, text = "") => {
    const svg = ["svg", "g", "circle", "path", "line", "text", "title"].includes(tag);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    parent.append(made);
    return made;
  };

  const form = make(root, "div", { class: "ck-type-form" });
  const fields = [["your sentence", "●"], ["the same in other words", "▲"], ["a trap: almost the same words", "✕"]].map(([says, sign], i) => {
    const label = make(form, "label", {}, `${sign} ${says}`), field = make(label, "input", { type: "text", spellcheck: false, maxlength: 200 });
    field.value = model.examples[0][i];
    field.addEventListener("input", () => draw(now));
    return field;
  });
  const bar = make(root, "div", { class: "ck-type-bar" });
  let example = 0, now = LAST, flight = 0;
  const button = (says, does) => make(bar, "button", { type: "button" }, says).addEventListener("click", does);
  button("another example", () => {
    example = (example + 1) % model.examples.length;
    fields.forEach((field, i) => { field.value = model.examples[example][i]; });
    draw(now);
  });
  button("train", () => { show(0); glide(LAST, 2600); });
  const slider = make(make(bar, "label", {}, "training "), "input", { type: "range", min: 0, max: LAST, step: "any", value: LAST, "aria-label": "step of the training" });
  slider.addEventListener("input", () => { cancelAnimationFrame(flight); show(Number(slider.value)); });
  const pictures = make(root, "div", { class: "ck-type-maps" });
  const maps = [0, 1].map(() => {
    const figure = make(pictures, "figure"), title = make(figure, "h4");
    return { title, svg: make(figure, "svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img" }), caption: make(figure, "figcaption", { "aria-live": "polite" }) };
  });
  const key = make(root, "p", { class: "ck-type-key" });
  model.meanings.forEach((meaning, k) => { make(key, "b", { style: `color:${HUES[k]}` }, "● "); key.append(`${meaning}  `); });

  function show(step) { now = step; slider.value = step; draw(step); }
  function glide(to, time) {
    cancelAnimationFrame(flight);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { show(to); return; }
    const from = now, began = performance.now();
    const frame = at => {
      const part = Math.min(1, (at - began) / time);
      show(from + part * (to - from));
      if (part < 1) flight = requestAnimationFrame(frame);
    };
    flight = requestAnimationFrame(frame);
  }
  // Where a vector stands when `middle` is in the middle.
  function place(vector, middle, directions) {
    const off = vector.map((each, i) => each - middle[i]), [x, y] = [0, 1].map(k => off.reduce((all, each, i) => all + each * directions[i][k], 0));
    const angle = Math.acos(Math.min(1, dot(vector, middle))) / (Math.PI / 2), length = Math.hypot(x, y) || 1;
    return [MIDDLE + RIGHT * angle * x / length, MIDDLE - RIGHT * angle * y / length];
  }
  function view(step) {
    const { encoder, cloud, directions } = spaces[step], [own, same, trap] = fields.map(field => encoder.encode(field.value));
    return { cosines: [dot(own, same), dot(own, trap)], points: [...cloud, same, trap].map(each => place(each, own, directions)) };
  }
  function draw(step) {
    const low = Math.floor(step), high = Math.ceil(step), part = step - low;
    one(maps[0], view(0), "before training");
    const [a, b] = [view(low), view(high)], mixed = (u, v) => u + part * (v - u);
    const points = a.points.map(([x, y], i) => [mixed(x, b.points[i][0]), mixed(y, b.points[i][1])]);
    const near = part < .5 ? a : b, at = model.steps[part < .5 ? low : high];
    one(maps[1], { points, cosines: near.cosines }, at ? `after ${at} steps` : "before training");
  }
  function one({ title, svg, caption }, { points, cosines: [same, trap] }, says) {
    title.textContent = says;
    svg.replaceChildren();
    for (const part of [.5, 1]) make(svg, "circle", { cx: MIDDLE, cy: MIDDLE, r: RIGHT * part, class: "ck-ring" });
    make(svg, "text", { x: MIDDLE, y: MIDDLE - RIGHT - 5, "text-anchor": "middle" }, "a right angle: cosine 0");
    points.slice(0, -2).forEach(([cx, cy], i) => {
      make(make(svg, "circle", { cx, cy, r: 4.5, fill: HUES[model.kinds[i]], opacity: .75 }), "title", {}, model.cloud[i]);
    });
    const [p, q] = points.slice(-2);
    for (const [[x, y], name] of [[q, "trap"], [p, "same"]]) make(svg, "line", { x1: MIDDLE, y1: MIDDLE, x2: x, y2: y, class: `ck-${name}` });
    make(svg, "circle", { cx: MIDDLE, cy: MIDDLE, r: 7, class: "ck-own" });
    make(svg, "path", { d: `M${p[0]},${p[1] - 10}l9,16h-18z`, class: "ck-same" });
    make(svg, "path", { d: `M${q[0] - 7},${q[1] - 7}l14,14m0,-14l-14,14`, class: "ck-trap" });
    const right = same > trap;
    caption.innerHTML = `▲ cosine <b>${same.toFixed(3)}</b> · ✕ cosine <b>${trap.toFixed(3)}</b><br><b class="ck-${right ? "right" : "wrong"}">` +
      `${right ? "✓ the paraphrase is closer" : "✗ the trap is closer"}</b>`;
    svg.setAttribute("aria-label", `${says}: ${caption.textContent}`);
  }
  root.spaces = spaces;
  show(LAST);
})();
