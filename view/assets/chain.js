// What led to a wait, step by step: the process that ended it, and what that process did during the wait. If it waited itself for most of
// that time, the chain goes on with its wait. Each step is {row, process, t, n, text, wait: of the step, if it is one}.

const mostSteps = 16;

export async function chain(app, wait, most = mostSteps) {
  const steps = [];
  for (let w = wait; w && steps.length < most;) {
    const step = await before(app, w);
    steps.push(step);
    w = steps.some((s) => s !== step && s.wait && step.wait && s.wait.location === step.wait.location && s.wait.n === step.wait.n) ? null : step.wait;
  }
  return steps;
}

// before is what the process that ended a wait did, from the begin of the wait to the call that ended it.
async function before(app, w) {
  const e = w.ended;
  if (!e) return {text: 'what ended the wait is not known'};
  const who = 'rank ' + e.process;
  const at = {row: e.location, process: e.process, t: e.begin, n: e.call};
  const call = e.name || 'a call';
  const [from, to] = [w.begin, Math.min(w.end, e.begin)];
  if (to <= from && w.pattern === 'late_kernel') return {...at, text: `${call} was running already`};
  if (to <= from) return {...at, text: `${who} had begun ${call} already: what it sent was on its way`};
  const span = {t: from + '..' + to, ranks: e.process};
  const part = (ticks) => `for ${app.clock.duration(ticks)} of ${app.clock.duration(to - from)}`;
  const [first] = (await app.source.json('waits', {...span, max: 1})).list;
  const inside = first ? Math.min(first.end, to) - Math.max(first.begin, from) : 0;
  if (2 * inside > to - from) {
    return {row: first.location, process: first.process, t: Math.max(first.begin, from) + inside / 2, n: null, wait: first,
      text: `${who} waited itself, ${app.word(first.pattern)}, ${part(inside)}, before ${call}`};
  }
  const {functions} = await app.source.json('stats', {...span, exact: 1});
  const open = functions.reduce((sum, f) => sum + f.exclusive, 0);
  const own = functions.find((f) => f.region >= 0 && [0, 8, 9, 10].includes(app.meta.regions[f.region].class)); // by falling time
  const none = app.meta.locations === app.meta.processes ? to - from - open : 0;
  const most = functions[0];
  let text = 'nothing that the trace tells';
  if (none > 0 && none >= (most ? most.exclusive : 0)) text = `own code, no function recorded, ${part(none)}`;
  else if (most) text = `${most.name} ${part(most.exclusive)}` + (own && own !== most ? `, ${own.name} ${part(own.exclusive)}` : '');
  return {row: e.location, process: e.process, t: to - 1, n: null, text: `${who}: ${text}, before ${call}`};
}
