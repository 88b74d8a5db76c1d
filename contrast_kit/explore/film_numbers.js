// In a page without Python no encoder trains: *start* plays the recorded run again, *stop* halts it, and *reset encoder*
// shows the beginning. All that is drawn was measured when the run was made.
const FILM = [4000, 9000], TICK = 100;  // milliseconds: shortest and longest film, and from one message to the next
let film = null, clock = null;

function compute(state, set) {
  film ??= { frames: state.frames, curves: state.curves, now: state.now };
  const [pressed] = state.pressed, end = film.now.step, { frames } = film;
  const upTo = step => {
    const count = film.curves.step?.filter(each => each <= step).length ?? 0;
    return Object.fromEntries(Object.entries(film.curves).map(([name, values]) => [name, values.slice(0, count)]));
  };
  const show = (phase, step) => {
    const moment = frames.filter(frame => frame.step <= step).at(-1) ?? frames[0], over = step >= end;
    if (moment !== state.moment) set({ moment });
    const seconds = film.now.seconds * step / Math.max(1, end);
    set({ curves: upTo(step), frames: over || phase === "stopped" ? frames.filter(frame => frame.step <= step) : [] });
    set({ now: { ...film.now, phase: over ? film.now.phase : phase, step, seconds } });
  };
  clearInterval(clock);
  if (pressed === "start") {
    const began = performance.now(), lasts = Math.min(FILM[1], Math.max(FILM[0], 1000 * film.now.seconds));
    const tick = () => {
      const step = Math.min(end, Math.round(end * (performance.now() - began) / lasts));
      if (step >= end) clearInterval(clock);
      show("training", step);
    };
    clock = setInterval(tick, TICK);
    tick();
  } else if (pressed === "stop") show("stopped", state.now.step);
  else if (pressed) {
    set({ moment: frames[0], curves: upTo(-1), frames: [] });
    set({ now: { ...film.now, phase: "ready", step: 0, seconds: 0 } });
  }
  return {};
}

const words = ({ ended }) => `Recorded, and played again here: nothing trains in this page. The run, when it was made: ${ended}`;

export default { inputs: ["pressed"], compute, words };
