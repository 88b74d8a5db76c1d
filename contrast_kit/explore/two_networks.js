// The board of ck.explore.two_networks, after shared.js and canvas.js: for each place of the sentence a stack of four
// words, and below it the candidates of the contrast. Python computes all numbers.
const SIGNS = { restored: "✓", wrong: "✗", missed: "?", needless: "!", same: "=" };
const BOARD_STYLE = `
.ck-two-stacks { display: flex; flex-wrap: wrap; gap: 10px 3px; margin: 6px 0; }
.ck-two-stack { display: grid; grid-template-rows: repeat(4, 1.75em) 1.2em; gap: 2px; border: 2px solid transparent;
  border-radius: 5px; padding: 1px; cursor: default; min-width: 1.6em; }
.ck-two-stack.ck-chosen { border-color: var(--ck-ink); }
.ck-two-stack > span { padding: 1px 6px; border-radius: 3px; text-align: center; white-space: nowrap; background: var(--ck-fill); }
.ck-two-stack > span.ck-plain { background: none; color: var(--ck-soft); }
.ck-two-stack > span.ck-mask { background: var(--ck-ink); color: var(--ck-paper); }
.ck-two-stack > span.ck-own { background: #0072B2; color: white; } .ck-two-stack > span.ck-other { background: #B34E00; color: white; }
.ck-two-stack > span.ck-dashed { outline: 2px dashed #D55E00; outline-offset: -2px; }
.ck-two-stack > small { text-align: center; font-weight: 600; line-height: 1.2em; }
.ck-two-names { color: var(--ck-soft); } .ck-two-names > span { text-align: left; background: none !important; padding-left: 0; }
.ck-two-key { display: flex; flex-wrap: wrap; font-size: 12.5px; color: var(--ck-soft); } .ck-two-key span { margin-right: 14px; white-space: nowrap; }
.ck-two-below { display: flex; flex-wrap: wrap; gap: 6px 28px; margin-top: 8px; } .ck-two-below section { flex: 1 1 300px; min-width: 0; }
.ck-two-below h4 { margin: 0 0 3px; font-weight: 600; font-size: 14px; }
.ck-two-line { display: grid; grid-template-columns: minmax(70px, 7.5em) 1fr 4em; gap: 8px; align-items: center; line-height: 1.5; }
.ck-two-wide .ck-two-line { grid-template-columns: 1fr 3em 90px 3.4em; }
.ck-two-line > span:first-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.ck-two-bar { height: 11px; border-radius: 2px; min-width: 1px; }`;

function render({ model, el }) {
  const panel = begin(el, "ck-two", PAPER + BOARD_STYLE), rows = model.get("rows"), kinds = model.get("kinds");
  const stacks = html(panel, "div", { class: "ck-two-stacks" });
  const key = html(panel, "div", { class: "ck-two-key" });
  for (const [kind, sign] of Object.entries(SIGNS)) html(key, "span", {}, `${sign} ${kinds[kind]}`);
  const below = html(panel, "div", { class: "ck-two-below" });
  const thoughts = html(below, "section", { "aria-live": "polite" }), contrast = html(below, "section", { class: "ck-two-wide" });
  let chosen = -1;

  function stack({ words, kind, hidden }, i) {
    if (kind === "special") return;
    const [before, , drawn, after] = words;
    const part = html(stacks, "div", { class: "ck-two-stack", tabindex: 0, role: "group", "data-at": i, "aria-label": rows.map((row, k) =>
      `${row}: ${words[k]}`).join(", ") + `; ${kinds[kind]}` });
    html(part, "span", {}, before);
    html(part, "span", { class: hidden ? "ck-mask" : "ck-plain" }, hidden ? "▒▒" : words[1]);
    html(part, "span", { class: !hidden ? "ck-plain" : drawn === before ? "ck-own" : "ck-other" }, drawn);
    const look = kind === "missed" ? "ck-dashed" : after === drawn ? "ck-plain" : after === before ? "ck-own" : "ck-other";
    html(part, "span", { class: look }, after);
    html(part, "small", {}, SIGNS[kind] ?? "");
    const choose = () => { chosen = i; think(); };
    for (const event of ["pointerenter", "focus", "click"]) part.addEventListener(event, choose);
  }
  function line(parent, name, share, hue, ...numbers) {
    const made = html(parent, "div", { class: "ck-two-line" });
    html(made, "span", { title: name }, name);
    const [first, last] = numbers.length > 1 ? numbers : [null, numbers[0]];
    if (first !== null) html(made, "span", {}, first);
    html(made, "span", { class: "ck-two-bar", style: `width:${fixed(100 * share, 1)}%;background:${hue}` });
    html(made, "span", {}, last);
  }
  function think() {
    const all = model.get("seen").stacks;
    for (const part of stacks.children) part.classList.toggle("ck-chosen", part.dataset.at === String(chosen));
    thoughts.replaceChildren();
    const place = all[chosen];
    if (!place) { html(thoughts, "p", { class: "ck-soft" }, "Point at a word to see what each network thought of."); return; }
    if (place.drawn.length) {
      html(thoughts, "h4", {}, `small network: in place of “${place.words[0]}” it drew “${place.words[2]}”`);
      place.drawn.forEach(([word, p]) => line(thoughts, word, p, "var(--ck-grey)", percent(p, 1)));
    }
    html(thoughts, "h4", {}, `large network: to “${place.words[2]}” it gives ${percent(place.here, 1)}`);
    place.read.forEach(([word, p]) => line(thoughts, word, p, "var(--ck-pull)", percent(p, 1)));
  }
  function draw() {
    const seen = model.get("seen");
    if (!seen.stacks) return;
    stacks.replaceChildren();
    const names = html(stacks, "div", { class: "ck-two-stack ck-two-names", "aria-hidden": true });
    rows.forEach(row => html(names, "span", {}, row));
    seen.stacks.forEach(stack);
    if (chosen < 0 || !seen.stacks[chosen] || seen.stacks[chosen].kind === "special") {
      const worth = kind => ["wrong", "missed", "restored", "same", "left"].indexOf(kind);
      const order = seen.stacks.map((each, i) => [worth(each.kind), i]).filter(([rank]) => rank >= 0).sort((a, b) => a[0] - b[0]);
      chosen = order.length ? order[0][1] : -1;
    }
    think();
    contrast.replaceChildren();
    html(contrast, "h4", {}, "the contrast: who is the corrupted sentence? cosine, share of the softmax");
    for (const { text, cosine, share, role } of seen.bars) {
      line(contrast, role === "positive" ? `crop: ${text}` : text, share,
        role === "positive" ? "var(--ck-pull)" : "var(--ck-push)", fixed(cosine, 2), percent(share, 1));
    }
    if (seen.more > 0) html(contrast, "p", { class: "ck-soft", style: "margin:2px 0" }, `and ${seen.more} more sentences`);
  }
  model.on("change:seen", draw);
  draw();
}

export default { render: orSay(render) };
