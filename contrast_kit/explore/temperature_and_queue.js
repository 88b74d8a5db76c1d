// The two charts of ck.explore.temperature_and_queue: who pushes, and the loss beside the number of candidates.
const WIDTH = 410, HEIGHT = 330, LEFT = 50, RIGHT = 14, TOP = 50, BOTTOM = 100;
const PUSH = "var(--ck-push)", PULL = "var(--ck-pull)", GREY = "var(--ck-grey)", INK = "var(--ck-ink)";
const FAINT = "var(--ck-line)";

function chart(parent, label, across, up, key) {
  const svg = add(parent, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  const titles = [16, 34].map((y, i) => add(svg, "text", { x: LEFT, y, "font-size": i ? 13 : 14 }));
  const axes = add(svg, "g", { "font-size": 12.5 }), marks = add(svg, "g");
  const floor = HEIGHT - BOTTOM;
  add(svg, "text", { x: (LEFT + WIDTH - RIGHT) / 2, y: floor + 37, "font-size": 13, "text-anchor": "middle" }, across);
  add(svg, "text", { x: 13, y: (TOP + floor) / 2, "font-size": 13, "text-anchor": "middle",
    transform: `rotate(-90 13 ${(TOP + floor) / 2})` }, up);
  key.forEach(([says, style], i) => {
    const x = LEFT + (i % 2) * 170, y = floor + 62 + 20 * Math.floor(i / 2);
    add(svg, "line", { x1: x, x2: x + 22, y1: y - 4, y2: y - 4, ...style });
    add(svg, "text", { x: x + 28, y, "font-size": 12.5 }, says);
  });
  return { svg, titles, axes, marks };
}
const right = share => LEFT + share * (WIDTH - LEFT - RIGHT), up = share => HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);

// Lines across at the given heights, numbers below: [[share of the width, words]], [[share of the height, words]].
function axes(group, below, beside) {
  group.replaceChildren();
  for (const [share, says] of beside) {
    add(group, "line", { x1: right(0), x2: right(1), y1: up(share), y2: up(share), stroke: FAINT, "stroke-width": 0.7 });
    add(group, "text", { x: LEFT - 7, y: up(share) + 4, "text-anchor": "end", class: "ck-soft" }, says);
  }
  for (const [share, says] of below) {
    add(group, "text", { x: right(share), y: up(0) + 17, "text-anchor": "middle", class: "ck-soft" }, says);
  }
}
const path = points => "M" + points.map(([x, y]) => `${right(x).toFixed(1)},${up(y).toFixed(1)}`).join("L");

function render({ model, el }) {
  const both = html(begin(el, "ck-temperature"), "div", { class: "ck-pictures" });
  const bar = { stroke: GREY, "stroke-width": 9, "stroke-opacity": 0.55 };
  const who = chart(both, "who pushes", "cosine with the anchor", "share in each tenth", [
    ["share of the negatives", bar], ["share of the push", { stroke: PUSH, "stroke-width": 2.2 }],
    ["the positive", { stroke: PULL, "stroke-width": 2.2 }],
  ]);
  const dashed = { stroke: INK, "stroke-width": 1.3, "stroke-dasharray": "5 4" };
  const dotted = { stroke: INK, "stroke-width": 1.5, "stroke-dasharray": "1.5 3" };
  const losses = chart(both, "the loss", "candidates: the positive and its negatives", "loss of the anchor", [
    ["the loss", { stroke: PUSH, "stroke-width": 2.2 }], ["all equal: log(candidates)", dashed],
    ["perfect positive, the rest at 90°", dotted],
  ]);

  function draw() {
    const seen = model.get("seen");
    if (!seen.count) return;
    const { tau, count, push, curve, candidates, loss } = seen, bins = count.length;
    axes(who.axes, [-1, -0.5, 0, 0.5, 1].map(c => [(c + 1) / 2, fixed(c, 1).replace("-", "−")]),
      [0, 0.25, 0.5, 0.75, 1].map(s => [s, fixed(s, 2)]));
    who.marks.replaceChildren();
    count.forEach((share, i) => add(who.marks, "rect", { x: right(i / bins), width: right(1 / bins) - LEFT, y: up(share),
      height: up(0) - up(share), fill: GREY, "fill-opacity": 0.55 }));
    const steps = push.flatMap((share, i) => [[i / bins, share], [(i + 1) / bins, share]]);
    add(who.marks, "path", { d: path([[0, 0], ...steps, [1, 0]]), fill: "none", stroke: PUSH, "stroke-width": 2.2 });
    const at = (seen.cosine + 1) / 2;
    add(who.marks, "path", { d: path([[at, 0], [at, 1]]), stroke: PULL, "stroke-width": 2.2 });
    who.titles[0].textContent = `who pushes at τ = ${short(tau)}`;
    who.titles[1].textContent = `half of it from ${grouped(seen["half of the push"])} of ${grouped(candidates - 1)}`;

    const last = curve.at(-1)[0], highest = 1.08 * Math.max(Math.log(last), ...curve.map(([, value]) => value));
    const x = n => Math.log2(n / 2) / Math.log2(Math.max(4, last) / 2), line = value => value.map(([n, y]) => [x(n), y / highest]);
    const powers = Array.from({ length: Math.floor(Math.log2(last)) }, (_, i) => 2 ** (i + 1));
    const every = 1 + Math.floor(powers.length / 7), step = [0.5, 1, 2, 5, 10, 20, 50].find(s => highest / s < 7) ?? 100;
    axes(losses.axes, powers.filter((_, i) => i % every === 0).map(n => [x(n), String(n)]),
      Array.from({ length: Math.floor(highest / step) + 1 }, (_, i) => [i * step / highest, short(i * step)]));
    losses.marks.replaceChildren();
    const equal = curve.map(([n]) => [n, Math.log(n)]), best = curve.map(([n]) => [n, Math.log1p((n - 1) * Math.exp(-1 / tau))]);
    for (const [points, look] of [[equal, dashed], [best, dotted], [curve, { stroke: PUSH, "stroke-width": 2.2 }]]) {
      add(losses.marks, "path", { d: path(line(points)), fill: "none", ...look });
    }
    add(losses.marks, "circle", { cx: right(x(candidates)), cy: up(loss / highest), r: 6, fill: PUSH });
    losses.titles[0].textContent = `loss ${fixed(loss, 2)}`;
    losses.titles[1].textContent = `all equal: log ${grouped(candidates)} = ${fixed(Math.log(candidates), 2)}`;
    who.svg.setAttribute("aria-label", who.titles.map(title => title.textContent).join(", "));
    losses.svg.setAttribute("aria-label", losses.titles.map(title => title.textContent).join(", "));
  }
  model.on("change:seen", draw);
  draw();
}

export default { render };
