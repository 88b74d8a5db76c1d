// What Python computes for the loss playground, for a page without Python: loss, weights, forces (_contrasts.py), the
// step along the forces and the sentence (loss_playground.py). Equal to Python: tests/test_panels_in_pages.py.
const STEP = 0.25, LONGEST_TURN = 0.15;

// Two [N, N] of true and false: the positives of the anchor in each row, and everything in its denominator.
function masks(loss, classes) {
  const b = classes.length, n = 2 * b, all = [...Array(n).keys()];
  const partner = (i, j) => (i + b) % n === j, other = (i, j) => i !== j, first = (i, j) => i < b && j >= b;
  const same = (i, j) => other(i, j) && classes[i % b] === classes[j % b], none = () => false;
  const [positive, candidate] = {
    nt_xent: [partner, other],
    sup_con: [same, other],
    simsiam: [partner, none],
    info_nce: [(i, j) => partner(i, j) && first(i, j), first],  // anchors are view 0, candidates view 1
  }[loss];
  return [positive, candidate].map(is => all.map(i => all.map(j => is(i, j))));
}

// Like contrast() in _contrasts.py, on the circle: angles in degrees.
function contrast(loss, angles, tau, classes) {
  const x = angles.map(angle => [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180)]);
  const n = x.length, all = [...Array(n).keys()], cosine = (i, j) => x[i][0] * x[j][0] + x[i][1] * x[j][1];
  const [positive, candidate] = masks(loss, classes), sum = values => values.reduce((a, b) => a + b, 0);
  const weights = all.map(i => {
    const e = all.map(j => candidate[i][j] ? Math.exp((cosine(i, j) - 1) / tau) : 0), z = sum(e);
    return e.map((value, j) => candidate[i][j] ? value / z : null);
  });
  // slope[i][j]: of the loss, by the cosine of anchor i and candidate j.
  const slope = all.map(() => Array(n).fill(0)), anchors = all.filter(i => positive[i].some(Boolean));
  let value = 0;
  if (loss === "simsiam") {
    const b = n / 2;
    for (let i = 0; i < b; i++) {
      const e = Math.exp(-cosine(i, i + b)) / b;
      value += e;
      slope[i][i + b] = slope[i + b][i] = -e / 2;  // the side that stops the gradient gives nothing back
    }
  } else {
    for (const i of anchors) {
      const mine = all.filter(j => positive[i][j]), top = Math.max(...all.filter(j => candidate[i][j]).map(j => cosine(i, j)));
      const z = sum(all.map(j => candidate[i][j] ? Math.exp((cosine(i, j) - top) / tau) : 0));
      value += (Math.log(z) + top / tau - sum(mine.map(j => cosine(i, j))) / mine.length / tau) / anchors.length;
      for (const j of all) if (candidate[i][j]) {
        slope[i][j] = (weights[i][j] - (positive[i][j] ? 1 / mine.length : 0)) / tau / anchors.length;
      }
    }
  }
  const stopped = loss === "simsiam";
  const forces = all.map(i => {
    const pull = [0, 1].map(d => -sum(all.map(j => (slope[i][j] + (stopped ? 0 : slope[j][i])) * x[j][d])));
    const along = pull[0] * x[i][0] + pull[1] * x[i][1];  // what points out of the circle moves nothing
    return pull.map((f, d) => f - along * x[i][d]);
  });
  const roles = all.map(i => all.map(j => positive[i][j] ? (candidate[i][j] ? "positive" : "numerator")
    : candidate[i][j] ? "negative" : "out"));
  return { forces, weights, roles, value };
}

function compute({ loss, angles, tau, classes }) { return { seen: contrast(loss, angles, tau, classes) }; }

function moved({ loss, tau, classes }, angles) {
  const { forces } = contrast(loss, angles, tau, classes), scale = loss === "simsiam" ? 1 : tau;
  return angles.map((angle, i) => {
    const a = angle * Math.PI / 180, turn = Math.cos(a) * forces[i][1] - Math.sin(a) * forces[i][0];
    const by = turn * STEP * scale * angles.length / 2;
    return angle + Math.max(-LONGEST_TURN, Math.min(LONGEST_TURN, by)) * 180 / Math.PI;
  });
}
function letGo(state, steps = 60) {
  const path = [[...state.angles]];
  for (let k = 0; k < steps; k++) path.push(moved(state, path[k]));
  const every = Math.max(1, Math.floor(steps / 30));
  return { path: path.filter((_, k) => k % every === 0), angles: path[steps] };
}

function words({ loss, tau, seen }) {
  const strongest = Math.max(...seen.forces.map(([x, y]) => Math.hypot(x, y)));
  return `<b>${loss} = ${fixed(seen.value, 3)}</b> at τ = ${short(tau, 3)}. The strongest force is ${fixed(strongest, 2)}.`;
}

export default {
  inputs: ["loss", "tau", "angles"], compute, words,
  actions: {
    "one step": state => letGo(state, 1),
    "let go": state => letGo(state),
    "start again": ({ start }) => ({ angles: [...start] }),
  },
};
