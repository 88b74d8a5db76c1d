// The page of ck.explore.live_training: Python trains, measures and counts; this draws what it sends, as it comes.
const WIDE = 300, HIGH = 250, LEFT = 44, BOTTOM = 34, TOP = 34, RIGHT = 12;
const BUSY = ["starting", "training", "stopping", "resetting"];
const LIVE_STYLE = `
.ck-live-cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(250px, 100%), 1fr)); gap: 4px 14px; }
.ck-live-cards figure { margin: 0; } .ck-live-cards figcaption { color: var(--ck-soft); font-size: 13px; line-height: 1.35; }
.ck-live svg { width: 100%; height: auto; max-width: 360px; display: block; font-family: system-ui, sans-serif; }
.ck-live svg text { fill: var(--ck-ink); } .ck-live svg .ck-soft { fill: var(--ck-soft); }
.ck-live progress { width: 200px; height: 14px; accent-color: var(--ck-pull); }
.ck-live-problem { border: 2px solid var(--ck-push); border-radius: 4px; padding: 6px 10px; margin: 6px 0; }
.ck-live-key span { margin-right: 12px; white-space: nowrap; } .ck-live-key canvas { vertical-align: -2px; }`;

// A chart with axes that stay: x from low to high, y from 0 to a top that only ever grows.
function chart(parent, title, xLabel, low) {
  let high = 1;
  const figure = html(parent, "figure"), svg = add(figure, "svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
  const caption = html(figure, "figcaption");
  add(svg, "text", { x: 4, y: 16, "font-size": 13.5 }, title);
  const frame = add(svg, "g"), lines = add(svg, "g"), inner = [WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM];
  const x = v => LEFT + inner[0] * (v - low) / (high - low || 1), y = (v, top) => TOP + inner[1] * (1 - v / top);
  function axes(end, ticks, top, yTicks) {
    high = end;
    frame.replaceChildren();
    add(frame, "rect", { x: LEFT, y: TOP, width: inner[0], height: inner[1], fill: "none", stroke: "var(--ck-line)" });
    ticks.forEach(v => add(frame, "text", { x: x(v), y: HIGH - BOTTOM + 14, "font-size": 11, "text-anchor": "middle",
      class: "ck-soft" }, short(v, 3)));
    yTicks.forEach(v => add(frame, "text", { x: LEFT - 5, y: y(v, top) + 4, "font-size": 11, "text-anchor": "end",
      class: "ck-soft" }, short(v, 3)));
    add(frame, "text", { x: LEFT + inner[0] / 2, y: HIGH - 4, "font-size": 11.5, "text-anchor": "middle",
      class: "ck-soft" }, xLabel);
  }
  const path = points => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)},${b.toFixed(1)}`).join("");
  return { svg, caption, lines, x, y, axes, path };
}
// A round number above v, so that the axis need not move again soon.
function roundUp(v) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(v, 1e-9)));
  return unit * ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find(k => k * unit >= v) ?? 10);
}

function lossCurves(parent) {
  const part = chart(parent, "losses, step by step", "step", 0);
  let top = 0, end = 0;
  return (columns, total) => {
    part.lines.replaceChildren();
    const names = Object.keys(columns).filter(name => name !== "step"), steps = columns.step ?? [];
    part.svg.style.display = steps.length ? "block" : "none";
    if (!steps.length) { top = 0; part.caption.textContent = "losses: drawn from the first step on"; return; }
    const highest = Math.max(...names.flatMap(name => columns[name].filter(Number.isFinite)));
    if (highest > top || total !== end) {
      [top, end] = [Math.max(top, roundUp(1.05 * highest)), total];
      part.axes(end, [0, Math.round(end / 2), end], top, [0, top / 2, top]);
    }
    part.caption.replaceChildren();
    names.forEach((name, k) => {
      const hue = ["var(--ck-ink)", "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"][k % 7];
      const points = steps.map((step, i) => [part.x(step), part.y(Math.max(0, columns[name][i]), top)]);
      add(part.lines, "path", { d: part.path(points), fill: "none", stroke: hue, "stroke-width": k ? 1.5 : 2.2 });
      if (points.length === 1) add(part.lines, "circle", { cx: points[0][0], cy: points[0][1], r: 2.5, fill: hue });
      const word = html(part.caption, "span", { style: "display:inline-block;margin-right:10px" });
      html(word, "b", { style: `color:${hue}` }, "▬ ");
      word.append(`${name} ${short(columns[name].at(-1), 3)}`);
    });
    part.svg.setAttribute("aria-label", `losses up to step ${steps.at(-1)}: ${part.caption.textContent}`);
  };
}
function cosineHills(parent) {
  const part = chart(parent, "cosines of pairs", "cosine (dashed: before training)", -1);
  part.axes(1, [-1, -.5, 0, .5, 1], 1, []);
  return (now, before) => {
    part.lines.replaceChildren();
    const kinds = [["similar", "var(--ck-pull)"], ["random", "var(--ck-push)"]];
    for (const [kind, hue] of kinds) {
      for (const [seen, dashed] of [[before, true], [now, false]]) {
        const counts = seen[kind].counts, top = Math.max(...counts) * 1.08 || 1, width = 2 / counts.length;
        const corners = counts.flatMap((v, i) => [[-1 + i * width, v], [-1 + (i + 1) * width, v]])
          .map(([a, v]) => [part.x(a), part.y(v, top)]);
        const d = part.path([[part.x(-1), part.y(0, 1)], ...corners, [part.x(1), part.y(0, 1)]]);
        add(part.lines, "path", dashed ? { d, fill: "none", stroke: hue, "stroke-dasharray": "3 3" }
          : { d, fill: hue, "fill-opacity": .35, stroke: hue });
      }
    }
    part.caption.replaceChildren();
    for (const [kind, hue] of kinds) {
      const word = html(part.caption, "span", { style: "display:inline-block;margin-right:10px" });
      html(word, "b", { style: `color:${hue}` }, "■ ");
      word.append(`${kind} pairs ${fixed(now[kind].mean, 2)} on average`);
    }
    part.svg.setAttribute("aria-label", `cosines: ${part.caption.textContent}`);
  };
}

function render({ model, el }) {
  const panel = begin(el, "ck-live", PAPER + LIVE_STYLE), facts = model.get("facts");
  const bar = html(panel, "div", { class: "ck-bar" });
  let waiting = "", since = 0, view = camera(), frames = [], ended = false, last = 0;
  const buttons = Object.fromEntries(["start", "stop", "reset encoder"].map(name => {
    const button = html(bar, "button", { type: "button" }, name);
    button.addEventListener("click", () => press(name));
    return [name, button];
  }));
  const meter = html(bar, "progress", { max: 1, value: 0, "aria-label": "steps done" });
  const status = html(bar, "span", { class: "ck-live-status", role: "status" });
  const problem = html(panel, "div", { class: "ck-live-problem", role: "alert", hidden: "" });
  const film = html(panel, "label", { class: "ck-bar ck-live-film", hidden: "" }, "watch it again ");
  const slider = keepKeys(html(film, "input", { type: "range", min: 0, max: 0, step: 1, value: 0 }));
  const moment = html(film, "span");
  slider.addEventListener("input", () => play(Number(slider.value)));

  const cards = html(panel, "div", { class: "ck-live-cards" });
  let ball = null, words = null;
  if (facts.texts.length) {
    const figure = html(cards, "figure");
    ball = sphere(figure, 285, view, { ...facts, name: "" }, redraw);
    words = html(figure, "figcaption");
  }
  const curves = lossCurves(cards), cosines = facts.before ? cosineHills(cards) : null;
  if (facts.legend.length) {
    const key = html(panel, "div", { class: "ck-live-key" });
    facts.legend.forEach((word, k) => {
      const entry = html(key, "span"), { context } = square(entry, 13);
      const shape = SHAPES[facts.markers[(k + Math.floor(k / facts.colours.length)) % facts.markers.length]];
      context.beginPath(); shape(context, 6.5, 6.5, 4.5);
      context.fillStyle = facts.colours[k % facts.colours.length]; context.fill();
      entry.append(` ${word}`);
    });
  }

  // -- what the hand does: said at once, before Python has heard of it
  function press(name) {
    waiting = { start: "starting", stop: "stopping" }[name] ?? "resetting";
    since = performance.now();
    const [, count] = model.get("pressed");
    model.set("pressed", [name, count + 1]);
    model.save_changes();
    say();
  }
  function say() {
    const now = model.get("now"), phase = waiting || now.phase, running = BUSY.includes(phase);
    buttons.start.disabled = running; buttons["reset encoder"].disabled = running;
    buttons.stop.disabled = !["starting", "training"].includes(phase);
    meter.max = Math.max(1, now.total); meter.value = now.step;
    const time = Math.round((performance.now() - since) / 1000), gone = now.seconds || 0;
    const pace = gone > 0 ? now.step / gone : 0, left = pace ? Math.round((now.total - now.step) / pace) : 0;
    const steps = `step ${now.step} of ${now.total}`;
    status.textContent = {
      starting: `starting… ${time > 1 ? `${time} s` : ""}`, stopping: "stopping…", resetting: "resetting…",
      training: `${steps} · ${short(pace, 2)} a second · ${left} s left`,
      stopped: `stopped: ${steps}`, done: `done: ${steps} in ${Math.round(gone)} s`, failed: `ended: ${steps}`,
    }[phase] ?? "press start";
    problem.hidden = !now.problem;
    problem.textContent = now.problem;
  }
  const clock = setInterval(() => { if (waiting || model.get("now").phase === "starting") say(); }, 250);

  // -- what Python sends
  function showMoment({ sphere: seen, hills }, glide) {
    if (ball && seen) {
      ball.show(seen.points.map(p => p.map(v => v / 1000)), glide);
      words.textContent = `three directions of ${facts.width} hold ${percent(seen.share)} of the vectors`;
    }
    if (cosines && hills) cosines(hills, facts.before);
  }
  function onMoment() {
    const now = model.get("moment");
    frames.push(now);
    showMoment(now, true);
  }
  function onNow() {
    const now = model.get("now");
    if (waiting === "starting" ? now.phase !== "ready" || now.problem : waiting !== "stopping" || !BUSY.includes(now.phase)) {
      waiting = "";
    }
    if (now.phase === "starting") frames = [];
    const over = !BUSY.includes(now.phase);
    if (over !== ended || over) {
      const kept = model.get("frames");
      if (over && kept.length) frames = kept;
      film.hidden = !over || frames.length < 3;
      slider.max = frames.length - 1; slider.value = frames.length - 1;
      moment.textContent = frames.length ? `step ${frames.at(-1).step}` : "";
    }
    ended = over;
    say();
    redraw();
  }
  function play(at) {
    showMoment(frames[at], true);
    moment.textContent = `step ${frames[at].step}`;
  }
  function onCurves() { curves(model.get("curves"), model.get("now").total); }

  // -- the sphere turns while it trains, unless the reader's system asks for stillness
  let paper = null, gone = false;
  function frame(now) {
    if (gone) return;
    paper ??= rgb(panel, "--ck-paper");
    if (!paper) { setTimeout(redraw, 100); return; }
    const turning = model.get("now").phase === "training" && !view.held && !still();
    if (turning) view.yaw += Math.min(50, now - (last || now)) / 1000 * 0.4;
    last = now;
    ball?.draw(now, paper);
    if (turning || ball?.moving(now)) redraw();
    else last = 0;
  }
  const drawSoon = onceAFrame(frame);
  function redraw() { drawSoon(); }
  const unfollow = followTheme(() => { paper = null; redraw(); });

  for (const [name, does] of [["now", () => { onNow(); onCurves(); }], ["moment", onMoment]]) model.on(`change:${name}`, does);
  onCurves();
  if (model.get("frames").length) frames = model.get("frames");
  showMoment(model.get("moment"), false);
  onNow();
  return () => { gone = true; clearInterval(clock); unfollow(); };
}

export default { render: orSay(render) };
