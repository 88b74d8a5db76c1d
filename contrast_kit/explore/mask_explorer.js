// The views of ck.explore.mask_explorer: a column for each token, folded into as many lines as the page has room for.
const STYLE = `
.ck-masks { position: relative; padding-left: 78px; }
.ck-masks-text { display: flex; flex-wrap: wrap; gap: 14px 2px; }
.ck-masks-column { display: grid; grid-auto-rows: 28px; gap: 2px; }
.ck-masks-column span { padding: 3px 7px; border-radius: 4px; text-align: center; white-space: pre;
  border: 1px solid var(--ck-line); }
.ck-masks-name { position: absolute; left: 0; color: var(--ck-soft); line-height: 28px; height: 30px; }
.ck-masks [data-kind=mask] { background: #0072B2; border-color: #0072B2; color: white; }
.ck-masks [data-kind=random] { background: #F3C15C; border-color: #F3C15C; color: black; }
.ck-masks [data-kind=kept] { background: #7FCDB4; border-color: #7FCDB4; color: black; }
.ck-masks [data-kind=special] { background: var(--ck-fill); border-color: var(--ck-fill); color: var(--ck-soft); }
.ck-masks-key { display: flex; flex-wrap: wrap; gap: 4px 18px; margin-top: 12px; }
.ck-masks-key i { display: inline-block; width: 14px; height: 14px; border-radius: 3px; margin-right: 6px;
  vertical-align: -2px; border: 1px solid var(--ck-line); }`;
const KINDS = {
  untouched: "not selected", mask: "selected: [MASK]", random: "selected: random token", kept: "selected: kept as it is",
  special: "special",
};
const LINE = 30;

function render({ model, el }) {
  const panel = begin(el, "ck-masks-panel", STYLE), box = html(panel, "div", { class: "ck-masks" });
  const text = html(box, "div", { class: "ck-masks-text", role: "group" });
  const key = html(panel, "div", { class: "ck-masks ck-masks-key", style: "padding-left:0" });
  for (const [kind, says] of Object.entries(KINDS)) {
    const item = html(key, "span");
    html(item, "i", { "data-kind": kind });
    item.append(says);
  }
  function draw() {
    const seen = model.get("seen");
    text.replaceChildren();
    text.setAttribute("aria-label", seen.map(({ name, tokens }) => `${name}: ${tokens.join(" ")}`).join(". "));
    seen[0]?.tokens.forEach((_, t) => {
      const column = html(text, "div", { class: "ck-masks-column", "aria-hidden": "true" });
      for (const { tokens, kinds } of seen) html(column, "span", { "data-kind": kinds[t] }, tokens[t]);
    });
    name();
  }
  // The names of the rows, again at the beginning of each line.
  function name() {
    box.querySelectorAll(".ck-masks-name").forEach(each => each.remove());
    const tops = new Set([...text.children].map(column => column.offsetTop));
    for (const top of tops) model.get("seen").forEach((row, k) =>
      html(box, "div", { class: "ck-masks-name", style: `top:${top + k * LINE}px`, "aria-hidden": "true" }, row.name));
  }
  const watch = new ResizeObserver(name);
  watch.observe(text);
  model.on("change:seen", draw);
  draw();
  return () => watch.disconnect();
}

export default { render };
