// What Python computes for temperature_and_queue, for a page without Python; equal to it, says
// tests/test_panels_in_pages.py.
function logSumExp(values) {
  const top = values.reduce((a, b) => Math.max(a, b), -Infinity);
  return top + Math.log(values.reduce((total, value) => total + Math.exp(value - top), 0));
}

function numbers({ tau, positive, batch, queue, negatives }) {
  const mine = Array.from(negatives.subarray(0, 2 * batch - 2 + queue)), logits = mine.map(cosine => cosine / tau);
  const z = logSumExp(logits), share = logits.map(logit => Math.exp(logit - z)), logit = positive / tau;
  const top = Math.max(z, logit), loss = top + Math.log(Math.exp(z - top) + Math.exp(logit - top)) - logit;
  const entropy = -share.reduce((total, p) => total + p * Math.log(Math.max(p, 1e-300)), 0);
  const sorted = [...share].sort((a, b) => b - a), all = sorted.reduce((a, b) => a + b, 0);
  let half = 0;
  for (let running = 0; half < sorted.length && running < all / 2 * (1 - 1e-9); half++) running += sorted[half];
  const bins = 20, place = cosine => Math.min(bins - 1, Math.floor((cosine + 1) * bins / 2));
  const count = Array(bins).fill(0), push = Array(bins).fill(0);
  mine.forEach((cosine, i) => { count[place(cosine)] += 1 / mine.length; push[place(cosine)] += share[i]; });
  return {
    candidates: mine.length + 1, loss, positive: Math.exp(-loss), force: -Math.expm1(-loss) / tau,
    "effective negatives": Math.exp(entropy), "half of the push": half, hardest: sorted[0], count, push,
    curve: curve(negatives, tau, positive),
  };
}
// The loss when only the first candidates are there, 2, 3, 4, 6, 8, 12 … and all.
function curve(negatives, tau, positive) {
  const points = [];
  let log = 0, next = 2;  // of the denominator, less the positive
  negatives.forEach((cosine, i) => {
    const more = (cosine - positive) / tau, top = Math.max(log, more);
    log = top + Math.log1p(Math.exp(Math.min(log, more) - top));
    if (i + 2 === next || i + 1 === negatives.length) {
      points.push([i + 2, log]);
      next = Math.max(i + 3, Math.ceil((i + 2) * 1.1));
    }
  });
  return points;
}

function compute(state) { return { seen: { ...numbers(state), tau: state.tau, cosine: state.positive } }; }

function words({ seen }) {
  return `Among ${grouped(seen.candidates)} candidates the positive gets ${percent(seen.positive, 1)} of the weight, ` +
    `so it pulls with (1 − p⁺)/τ = <b>${fixed(seen.force, 2)}</b>. The negatives push like ` +
    `<b>${grouped(seen["effective negatives"])}</b> equal ones; the hardest alone does ${percent(seen.hardest, 1)} of it.`;
}

export default { inputs: ["tau", "positive", "batch", "queue"], compute, words, actions: {} };
