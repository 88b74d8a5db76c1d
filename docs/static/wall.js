// The ledger as a wall: a tile for each trial of a claim, coloured by its verdict. A click opens the forest plot of all
// trials of that claim. The rows and the colours stand in the page as JSON.
(() => {
  const root = document.querySelector(".ck-wall"), { rows, verdicts } = JSON.parse(root.querySelector("script").textContent);
  const chosen = { paper: "", verdict: "" };
  const make = (parent, tag, text = "", attributes = {}, space) => {
    const made = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  const look = verdict => verdicts[verdict] ?? { colour: "#B9B9B9", sign: "" };
  const number = text => text === "" ? null : Number(text);
  const said = row => [row.effect === "" ? "" : `${row.effect} ${row.unit}`, row.low === "" ? "" : `(${row.low} to ${row.high})`].join(" ").trim();

  function filter(name, values) {
    const bar = make(root, "div", "", { class: "ck-wall-bar", role: "group", "aria-label": name });
    for (const value of ["", ...values]) {
      const count = rows.filter(row => !value || row[name] === value).length;
      const button = make(bar, "button", `${value || "all"} ${count}`, { type: "button", "aria-pressed": value === "" });
      if (name === "verdict" && value) make(button, "i", look(value).sign, { style: `background:${look(value).colour}` });
      button.addEventListener("click", () => {
        chosen[name] = value;
        for (const each of bar.children) each.setAttribute("aria-pressed", each === button);
        show();
      });
    }
  }
  const order = Object.keys(verdicts), there = [...new Set(rows.map(row => row.verdict))];
  there.sort((a, b) => (order.indexOf(a) + 99) % 99 - (order.indexOf(b) + 99) % 99);
  filter("paper", [...new Set(rows.map(row => row.paper))]);
  filter("verdict", there);
  const grid = make(root, "div", "", { class: "ck-wall-grid" });
  const detail = make(grid, "article", "", { class: "ck-wall-detail", "aria-live": "polite" });
  const tiles = rows.map(row => {
    const tile = make(grid, "button", "", { type: "button", title: `${row.verdict}: ${row.claim}`, "aria-expanded": false,
      style: `background:${look(row.verdict).colour}` });
    make(tile, "b", look(row.verdict).sign, { "aria-hidden": true });
    make(tile, "span", row.paper);
    make(tile, "small", row.place);
    tile.setAttribute("aria-label", `${row.paper} ${row.place}, ${row.verdict}: ${row.claim}`);
    tile.addEventListener("click", () => open(tile, row));
    return tile;
  });

  function show() {
    detail.remove();
    tiles.forEach((tile, i) => {
      tile.hidden = Object.entries(chosen).some(([name, value]) => value && rows[i][name] !== value);
      tile.setAttribute("aria-expanded", false);
    });
  }
  function open(tile, row) {
    const was = tile.getAttribute("aria-expanded") === "true";
    show();
    if (was) return;
    tile.setAttribute("aria-expanded", true);
    detail.replaceChildren();
    make(detail, "h3", row.claim);
    const line = make(detail, "p", `${row.paper}, ${row.place}: `);
    make(line, "b", row.verdict, { style: `border-bottom:3px solid ${look(row.verdict).colour}` });
    if (said(row)) line.append(` · ${said(row)}`);
    if (row.printed !== "") line.append(` · printed lead ${row.printed}`);
    forest(rows.filter(each => each.paper === row.paper && each.claim === row.claim && each.low !== ""), row);
    make(detail, "p", `Tested: ${row.tested}. ${row.scale}.`);
    make(detail, "code", row.command || row.source);
    tile.after(detail);
  }
  // One line a trial: its 95 % interval, its effect, and the lead that the paper prints as a tick; zero in the middle.
  function forest(trials, mine) {
    if (!trials.length) return;
    const SVG = "http://www.w3.org/2000/svg", wide = Math.min(560, grid.clientWidth - 36), high = 26, all = trials.flatMap(row =>
      [row.low, row.high, row.printed].map(number).filter(v => v !== null)).concat(0);
    const [least, most] = [Math.min(...all), Math.max(...all)], room = 0.06 * (most - least || 1);
    const x = v => 8 + (wide - 16) * (v - least + room) / (most - least + 2 * room), foot = trials.length * high;
    const svg = make(detail, "svg", "", { viewBox: `0 0 ${wide} ${foot + 34}`, role: "img",
      "aria-label": trials.map(row => `${row.tested}: ${said(row)}`).join("; ") }, SVG);
    make(svg, "line", "", { x1: x(0), x2: x(0), y1: 0, y2: foot, class: "ck-zero" }, SVG);
    for (const [v, end] of [[0, "middle"], [least, "start"], [most, "end"]]) {
      if (v === 0 || Math.abs(x(v) - x(0)) > 40) make(svg, "text", v, { x: x(v), y: foot + 15, "text-anchor": end }, SVG);
    }
    make(svg, "text", `${mine.unit}; bar: 95 % interval; tick: printed lead`, { x: wide / 2, y: foot + 31, "text-anchor": "middle" }, SVG);
    trials.forEach((row, i) => {
      const y = (i + .5) * high, stroke = look(row.verdict).colour, heavy = row === mine;
      const part = make(svg, "g", "", { opacity: heavy ? 1 : .5 }, SVG);
      make(part, "title", `${row.tested}; ${row.scale}: ${row.verdict}`, {}, SVG);
      make(part, "line", "", { x1: x(number(row.low)), x2: x(number(row.high)), y1: y, y2: y, stroke, "stroke-width": heavy ? 5 : 3 }, SVG);
      make(part, "circle", "", { cx: x(number(row.effect)), cy: y, r: heavy ? 6 : 4.5, fill: stroke }, SVG);
      if (row.printed !== "") make(part, "line", "", { x1: x(number(row.printed)), x2: x(number(row.printed)), y1: y - 9, y2: y + 9, class: "ck-printed" }, SVG);
    });
  }
  show();
})();
