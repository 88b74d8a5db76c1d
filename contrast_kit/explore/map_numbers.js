// What Python computes for the map of sentences, for a page without Python: the neighbours of one of its sentences, from
// the vectors in half precision. A sentence that is not on the map cannot be encoded here, and the panel says so.
function nearest(vectors, own, n, k) {
  const width = vectors.length / n, mine = vectors.subarray(own * width, (own + 1) * width), cosines = [];
  for (let i = 0; i < n; i++) {
    if (i === own) continue;
    let dot = 0, size = 0;
    for (let d = 0; d < width; d++) { const v = vectors[i * width + d]; dot += v * mine[d]; size += v * v; }
    cosines.push([i, dot / Math.sqrt(size)]);
  }
  const length = Math.hypot(...mine);
  return cosines.map(([i, dot]) => [i, dot / length]).sort((a, b) => b[1] - a[1]).slice(0, k);
}

function compute({ query, texts, spaces, k }) {
  const sentence = query.trim(), own = texts.findIndex(text => text.trim() === sentence);
  const near = sentence && own >= 0
    ? Object.fromEntries(Object.entries(spaces).map(([name, vectors]) => [name, nearest(vectors, own, texts.length, k)])) : {};
  const problem = sentence && own < 0
    ? "This sentence is not on the map, and a page without Python cannot encode it: type one that is." : "";
  return { placed: {}, near, problem };
}

function words({ texts, axes }) {
  return `${grouped(texts.length)} sentences. Distances on a map by ${escaped(axes)} are not distances in the space.`;
}

export default { inputs: ["query"], compute, words };
