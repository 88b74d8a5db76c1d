// A panel in a page without Python: the model that anywidget would give, with get, set, on and save_changes; the
// controls; and the numbers, computed again whenever an input moves. _page.py puts picture, numbers and state around it.
const PAGE_STYLE = `
.ck-controls { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: center; margin-bottom: 10px; }
.ck-controls label { display: inline-flex; gap: 4px 8px; align-items: center; max-width: 100%; }
.ck-controls input[type=text] { width: 620px; flex: 0 1 620px; min-width: 0; box-sizing: border-box; }
.ck-controls input[type=range] { width: 150px; flex: 0 1 150px; min-width: 60px; } .ck-controls input[type=number] { width: 90px; }
.ck-controls input, .ck-controls select, .ck-controls button { font: inherit; color: inherit; accent-color: #0072B2; }
.ck-controls input:not([type=range]), .ck-controls select, .ck-controls button { background: transparent;
  border: 1px solid var(--ck-line); border-radius: 4px; padding: 3px 9px; min-height: 32px; }
.ck-controls select option { color: #222; background: white; }
.ck-controls button:hover { background: var(--ck-fill); cursor: pointer; }
.ck-controls output { min-width: 2.6em; font-variant-numeric: tabular-nums; }
.ck-line { margin-top: 10px; min-height: 3em; }`;

function modelOf(state) {
  const heard = {};
  return {
    get: name => state[name],
    set(name, value) {
      if (state[name] === value) return;
      state[name] = value;
      (heard[`change:${name}`] ?? []).forEach(call => call());
    },
    on: (event, call) => { (heard[event] ??= []).push(call); },
    off: (event, call) => { heard[event] = (heard[event] ?? []).filter(each => each !== call); },
    save_changes() {},
    send() {},
  };
}

// What JSON cannot hold comes as {$bytes}, {$floats} or {$halves}, in base64.
function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (value === null || typeof value !== "object") return value;
  const [kind] = Object.keys(value);
  if (!["$bytes", "$floats", "$halves"].includes(kind)) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, decoded(each)]));
  }
  const { buffer } = Uint8Array.from(atob(value[kind]), letter => letter.charCodeAt(0));
  return kind === "$bytes" ? new DataView(buffer) : kind === "$floats" ? new Float32Array(buffer)
    : Float32Array.from(new Uint16Array(buffer), half);
}
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, power = (bits >> 10) & 31, rest = bits & 1023;
  return sign * (power ? 2 ** (power - 15) * (1 + rest / 1024) : 2 ** -14 * rest / 1024);
}

// A control beside its name; it sets the model, and follows it.
function control(parent, model, { name, label, kind, options, min, max, step }) {
  const box = html(parent, "label", {}), change = value => { model.set(name, value); };
  box.append(label);
  const follow = show => { model.on(`change:${name}`, show); show(); };
  if (kind === "choice") {
    const list = html(box, "select");
    options.forEach((says, i) => html(list, "option", { value: i }, says));
    list.addEventListener("change", () => change(options[list.value]));
    follow(() => { list.value = options.indexOf(model.get(name)); });
  } else if (kind === "text") {
    const field = html(box, "input", { type: "text" });
    field.addEventListener("input", () => change(field.value));
    follow(() => { if (field.value !== model.get(name)) field.value = model.get(name); });
  } else if (kind === "count") {
    const field = html(box, "input", { type: "number", min, max });
    field.addEventListener("input", () => { if (field.validity.valid && field.value) change(field.valueAsNumber); });
    follow(() => { field.value = model.get(name); });
  } else {  // a slider: over all numbers, or over the given ones
    const range = kind === "stops" ? { min: 0, max: options.length - 1, step: 1 } : { min, max, step };
    const field = html(box, "input", { type: "range", ...range }), says = html(box, "output");
    const place = () => options.indexOf(model.get(name));
    field.addEventListener("input", () => change(kind === "stops" ? options[field.value] : field.valueAsNumber));
    follow(() => {
      field.value = kind === "stops" ? place() : model.get(name);
      says.textContent = kind === "stops" ? String(model.get(name)) : fixed(model.get(name), 2);
      field.setAttribute("aria-valuetext", says.textContent);
    });
  }
}

function alone(root, picture, numbers, { state, controls }) {
  state = decoded(state);
  const model = modelOf(state), panel = begin(root, "ck-alone", PAGE_STYLE);
  const bar = html(panel, "div", { class: "ck-controls" }), stage = html(panel, "div");
  const line = html(panel, "div", { class: "ck-line", "aria-live": "polite" });
  controls.forEach(each => control(bar, model, each));
  const set = changes => { for (const [name, value] of Object.entries(changes ?? {})) model.set(name, value); };
  for (const [name, act] of Object.entries(numbers.actions ?? {})) {
    html(bar, "button", { type: "button" }, name).addEventListener("click", () => set(act(state, set)));
  }
  const update = () => {
    try {
      set(numbers.compute(state, set));
      line.innerHTML = numbers.words(state);  // HTML: what is data in it is `escaped`
    } catch (error) { line.textContent = error.message; }
  };
  for (const input of numbers.inputs) model.on(`change:${input}`, update);
  update();
  if (!bar.childElementCount) bar.remove();
  picture.initialize?.({ model });
  picture.render({ model, el: stage });
  root.panel = model;
}
