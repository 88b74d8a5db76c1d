// What the panels drawn on a canvas share, after shared.js: the theme's colours as numbers, and keys that are theirs.
const PAPER = `
.ck-panel { --ck-paper: var(--jp-layout-color0, var(--pst-color-background, #FFFFFF)); background: var(--ck-paper); }
.ck-panel button { font: inherit; color: inherit; background: var(--ck-fill); border: 1px solid var(--ck-line);
  border-radius: 4px; padding: 3px 12px; cursor: pointer; }
.ck-panel button:disabled { opacity: .45; cursor: default; }
.ck-panel [hidden] { display: none !important; }
.ck-panel canvas { touch-action: none; }
.ck-panel :focus-visible { outline: 2px solid var(--ck-pull); outline-offset: 1px; }
.ck-bar { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; margin: 0 0 8px; }
.ck-tip { position: absolute; pointer-events: none; max-width: 290px; padding: 4px 9px; border-radius: 4px; z-index: 5;
  background: #333333; color: white; font-size: 13px; line-height: 1.35; }`;

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

// A square canvas, sharp on this screen; one draws in CSS pixels.
function square(parent, side, attributes = {}) {
  const ratio = window.devicePixelRatio || 1;
  const canvas = html(parent, "canvas", { width: side * ratio, height: side * ratio,
    style: `width:${side}px;height:${side}px`, ...attributes });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return { canvas, context, ratio };
}
// A colour of the theme, such as "--ck-paper", as [red, green, blue]; null while the panel is not on the page yet.
function rgb(panel, name) {
  const probe = html(panel, "span", { style: `color:var(${name})`, hidden: "" });
  const numbers = getComputedStyle(probe).color.match(/[\d.]+/g);
  probe.remove();
  return numbers && numbers.slice(0, 3).map(Number);
}
// What draws a panel, and says in its place why it cannot.
function orSay(render) {
  return context => {
    try {
      return render(context);
    } catch (error) {
      html(context.el, "pre", { role: "alert" }, `This panel could not be drawn: ${error.message}`);
      throw error;
    }
  };
}
// Calls `redraw` when the page changes its theme; returns what ends that.
function followTheme(redraw) {
  // The new colours may come a moment after the page says that its theme has changed.
  const seen = new MutationObserver(() => [0, 300, 1500].forEach(wait => setTimeout(redraw, wait)));
  const attributes = ["data-jp-theme-name", "data-jp-theme-light", "data-theme"];
  for (const node of [document.documentElement, document.body]) seen.observe(node, { attributeFilter: attributes });
  return () => seen.disconnect();
}
// A notebook takes arrow keys and letters for commands, before the focused element sees them, unless told not to.
function keepKeys(control) {
  control.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const name of ["keydown", "keyup", "keypress"]) control.addEventListener(name, event => event.stopPropagation());
  return control;
}
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
// At most one call of `draw` a frame, however often it is asked for.
function onceAFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(now => { waiting = false; draw(now); });
  };
}
