// What Python computes for the mask explorer, for a page without Python: words into pieces, torch's random numbers, and
// the masks of ck.masking. The same seed gives the same masks as in Python; only the lengths of spans are other draws,
// since torch makes those in another way on each kind of processor. Shown by tests/test_panels_in_pages.py.

// torch.Generator().manual_seed(seed) on a CPU: MT19937.
function generator(seed) {
  const state = new Uint32Array(624);
  let at = 624;
  state[0] = seed;
  for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  function next() {
    if (at === 624) {
      for (let i = 0; i < 624; i++) {
        const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    let y = state[at++];
    y ^= y >>> 11; y ^= (y << 7) & 0x9d2c5680; y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }
  return {
    rand: n => Array.from({ length: n }, () => (next() & 0xffffff) / 0x1000000),  // float32
    randint: (high, n) => Array.from({ length: n }, () => next() % high),
  };
}

// BERT's tokenizer: ids with [CLS] in front and [SEP] behind.
function encode(sentence, { vocab, lowercase, special, unknown, first, last }) {
  const ids = new Map(vocab.map((word, i) => [word, i])), escaped = special.map(word => word.replace(/[[\]<>|]/g, "\\$&"));
  const found = [ids.get(first)];
  for (const part of sentence.split(new RegExp(`(${escaped.join("|")})`))) {
    if (special.includes(part)) { found.push(ids.get(part)); continue; }
    let text = part.replace(/[\t\n\r]/g, " ").replace(/[\0\ufffd\p{Cc}\p{Cf}]/gu, "");
    text = text.replace(/[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff]/g, " $& ");
    if (lowercase) text = text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase();
    for (const word of text.match(/[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+/gu) ?? []) found.push(...pieces(word));
  }
  return [...found, ids.get(last)];

  function pieces(word) {
    const letters = [...word], made = [];
    for (let start = 0; start < letters.length;) {
      let end = letters.length, id;
      while (end > start && (id = ids.get((start ? "##" : "") + letters.slice(start, end).join(""))) === undefined) end--;
      if (end === start || letters.length > 100) return [ids.get(unknown)];
      made.push(id);
      start = end;
    }
    return made;
  }
}

// masking.dynamic_random_mask; complementary_random_mask is the same with fewer maskable tokens.
function randomMask(ids, maskable, p, { mask, size, split }, from) {
  const u = from.rand(ids.length), random = from.randint(size, ids.length), below = (i, q) => u[i] < Math.fround(q);
  const selected = ids.map((_, i) => maskable[i] && below(i, p));
  return { selected, ids: ids.map((id, i) => maskable[i] && below(i, p * split[0]) ? mask
    : selected[i] && below(i, p * (1 - split[2])) ? random[i] : id) };
}
// masking.span_mask, with its own way to draw a length: from one uniform number.
function spanMask(ids, maskable, p, { mask, size, split }, from, spanP = 0.2, longest = 10) {
  const n = maskable.filter(Boolean).length, round = Math.fround, selected = ids.map(() => false), u = ids.map(() => 0);
  const budget = Math.floor(round(round(n * round(p)) + from.rand(1)[0]));
  const shares = Array.from({ length: longest }, (_, l) => (1 - spanP) ** l), all = shares.reduce((a, b) => a + b);
  for (let left; (left = budget - selected.filter(Boolean).length) > 0;) {
    const free = ids.map((_, i) => maskable[i] && !selected[i]);
    const place = from.rand(ids.length).map((value, i) => free[i] ? value : -1), start = place.indexOf(Math.max(...place));
    let [rest] = from.rand(1), length = 1;
    for (rest *= all; length < longest && rest >= shares[length - 1]; length++) rest -= shares[length - 1];
    const [kind] = from.rand(1);
    for (let i = start; i < start + Math.min(length, left) && free[i]; i++) { selected[i] = true; u[i] = kind; }
  }
  const random = from.randint(size, ids.length);
  return { selected, ids: ids.map((id, i) => !selected[i] ? id : u[i] < round(split[0]) ? mask
    : u[i] < round(1 - split[2]) ? random[i] : id) };
}

const neverMasked = ({ fixed, special }) => fixed ?? special;  // without [UNK]; panels stored earlier have no `fixed`

function views({ sentence, p_m, p_c, masker, split, seed, tokenizer, splits, most }) {
  const ids = tokenizer.ids ?? encode(sentence, tokenizer), { vocab } = tokenizer, fixed = neverMasked(tokenizer);
  const maskable = ids.map(id => !fixed.includes(vocab[id]));
  if (!maskable.some(Boolean)) throw new Error("Type a sentence: there is no token yet that could be masked.");
  if (ids.length > most) {
    throw new Error(`There is room for ${most} tokens and this text has ${ids.length}: take a sentence of it.`);
  }
  const options = { mask: vocab.indexOf(tokenizer.mask), size: vocab.length, split: splits[split] };
  const [first, second] = [0, 1].map(view => generator(2 * seed + view));
  const draw = masker === "two span masks" ? spanMask : randomMask, view0 = draw(ids, maskable, p_m, options, first);
  const free = masker === "complementary" ? maskable.map((yes, i) => yes && !view0.selected[i]) : maskable;
  return { ids, maskable, both: [view0, draw(ids, free, p_c, options, second)] };
}

function compute(state) {
  const { ids, both } = views(state), { vocab, mask } = state.tokenizer, original = ids.map(id => vocab[id]);
  const fixed = neverMasked(state.tokenizer);
  const rows = [["sentence", { ids, selected: ids.map(() => false) }], ...both.map((view, i) => [`view ${i}`, view])];
  return { seen: rows.map(([name, view]) => {
    const tokens = view.ids.map(id => vocab[id]);
    const kinds = tokens.map((token, i) => !view.selected[i] ? (fixed.includes(token) ? "special" : "untouched")
      : token === mask ? "mask" : token === original[i] ? "kept" : "random");
    return { name, tokens, kinds };
  }) };
}

function words(state) {
  const { maskable, both } = views(state), n = maskable.filter(Boolean).length;
  const count = is => maskable.filter((_, i) => is(i)).length;
  const share = both.map(({ selected }, i) => {
    const taken = count(k => selected[k]);
    return `view ${i} selects ${taken} (${percent(taken / n)})`;
  });
  const twice = count(k => both[0].selected[k] && both[1].selected[k]);
  const lost = twice ? `<b>${twice} hidden in both</b>: neither view can tell what stood there` : "none is hidden in both";
  return `Of ${n} tokens, ${share[0]} and ${share[1]}; ${lost}.`;
}

export default {
  inputs: ["sentence", "p_m", "p_c", "masker", "split", "seed"], compute, words,
  actions: { "draw again": ({ seed }) => ({ seed: seed + 1 }) },
};
