// The tiny encoder of type_model.js in the page: BERT's tokenizer, and one layer of a transformer. B = 1 throughout.
// tests/test_site.py compares its vectors with torch's.
class TinyEncoder {
  constructor(model, moment) {
    this.model = model;
    this.ids = new Map(model.vocabulary.map((word, id) => [word, id]));
    const bytes = Uint8Array.from(atob(model.moments[moment].weights), letter => letter.charCodeAt(0));
    const halves = new Uint16Array(bytes.buffer);
    let at = 0;
    this.weights = {};
    for (const [name, shape] of model.shapes) {
      const size = shape.reduce((a, b) => a * b, 1), short = name.replace(/^model\.\w+\./, "");
      this.weights[short] = Float64Array.from(halves.subarray(at, at + size), half);
      at += size;
    }
    this.width = this.weights["embeddings.LayerNorm.weight"].length;
  }

  // Lower case without accents, split at blanks and signs; of each word the longest piece that the vocabulary has, again
  // and again. A word that cannot be spelled is [UNK].
  pieces(text) {
    const plain = text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase(), found = ["[CLS]"];
    for (const [word] of plain.matchAll(/[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+/gu)) {
      const parts = [];
      for (let start = 0, end; start < word.length; start = end) {
        const piece = stop => (start ? "##" : "") + word.slice(start, stop);
        for (end = word.length; end > start && !this.ids.has(piece(end)); end--);
        if (end === start) { parts.splice(0, parts.length, "[UNK]"); break; }
        parts.push(piece(end));
      }
      found.push(...parts);
    }
    return [...found.slice(0, this.model.longest - 1), "[SEP]"];
  }

  // The vector of a text: the mean of its tokens' states, of length 1.
  encode(text) {
    const ids = this.pieces(text).map(piece => this.ids.get(piece)), { weights: w, width } = this;
    let x = ids.map((id, t) => this.norm(Array.from({ length: width }, (_, d) => w["embeddings.word_embeddings.weight"][id * width + d]
      + w["embeddings.position_embeddings.weight"][(t + 1) * width + d]  // RoBERTa counts from the row after the padding
      + w["embeddings.token_type_embeddings.weight"][d]), "embeddings.LayerNorm"));
    const layer = "encoder.layer.0";
    const seen = this.attention(x, `${layer}.attention.self`);  // [T, D]
    x = x.map((row, t) => this.norm(sum(row, this.linear(seen[t], `${layer}.attention.output.dense`)), `${layer}.attention.output.LayerNorm`));
    x = x.map(row => {
      const inner = this.linear(row, `${layer}.intermediate.dense`).map(gelu);
      return this.norm(sum(row, this.linear(inner, `${layer}.output.dense`)), `${layer}.output.LayerNorm`);
    });
    const mean = x.reduce(sum).map(value => value / x.length), length = Math.hypot(...mean);
    return mean.map(value => value / length);
  }

  linear(x, name) {
    const weight = this.weights[`${name}.weight`], bias = this.weights[`${name}.bias`];
    return Array.from(bias, (value, row) => x.reduce((all, each, i) => all + each * weight[row * x.length + i], value));
  }

  norm(x, name) {
    const mean = x.reduce((a, b) => a + b) / x.length;
    const spread = Math.sqrt(x.reduce((all, each) => all + (each - mean) ** 2, 0) / x.length + this.model.epsilon);
    const weight = this.weights[`${name}.weight`], bias = this.weights[`${name}.bias`];
    return x.map((each, d) => (each - mean) / spread * weight[d] + bias[d]);
  }

  // Each head mixes the values of all tokens by the softmax of queries times keys.
  attention(x, name) {
    const [q, k, v] = ["query", "key", "value"].map(part => x.map(row => this.linear(row, `${name}.${part}`)));
    const { heads } = this.model, size = this.width / heads;
    return q.map(row => Array.from({ length: heads }, (_, h) => {
      const own = each => each.slice(h * size, (h + 1) * size);
      const scores = k.map(key => Math.exp(dot(own(row), own(key)) / Math.sqrt(size))), all = scores.reduce((a, b) => a + b);
      return v.map((value, t) => own(value).map(each => each * scores[t] / all)).reduce(sum);
    }).flat());
  }
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, power = (bits >> 10) & 31, rest = bits & 1023;
  return sign * (power ? 2 ** (power - 15) * (1 + rest / 1024) : 2 ** -14 * rest / 1024);
}
const dot = (a, b) => a.reduce((all, each, i) => all + each * b[i], 0);
const sum = (a, b) => a.map((each, i) => each + b[i]);
// x Φ(x), with Abramowitz and Stegun's 7.1.26 for the error function (to 2e-7).
function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = Math.sign(x) * (1 - series * Math.exp(-z * z));
  return x * (1 + erf) / 2;
}
