import {App} from './app.js';
import {ask} from './dialogs.js';
import {$, notice} from './dom.js';
import {Clock, count, processes} from './format.js';
import {Keys} from './keys.js';
import {Failure, openSource} from './source.js';
import {nextTheme, recall, setTheme, theme, watchTheme} from './theme.js';

// The program of the page: keys, buttons, and the start.

function bindKeys(app, keys) {
  const {state} = app;
  const guard = (f) => async () => {
    app.busy.start();
    try {
      await f();
    } catch (e) {
      app.failed(e);
    } finally {
      app.busy.end();
    }
  };
  const bind = {
    w: () => app.zoom(0.6), s: () => app.zoom(1 / 0.6), a: () => state.panTime(-0.2), d: () => state.panTime(0.2),
    W: () => state.zoomRows(0.6, app.pointer.row()), S: () => state.zoomRows(1 / 0.6, app.pointer.row()),
    ArrowUp: () => app.row(-1), ArrowDown: () => app.row(1), ArrowLeft: () => app.step(-1), ArrowRight: () => app.step(1),
    f: () => app.fitSelection(), 0: () => state.change({t: state.span.slice(), rows: [0, state.total]}, 'all'),
    Backspace: () => history.back(), '[': () => app.partner('receive'), ']': () => app.partner('send'),
    n: () => app.stepWait(1), p: () => app.stepWait(-1), c: () => app.cause(), '/': () => app.search(), g: () => app.goTo(),
    m: () => app.mark(''), M: () => ask('Note', 'Note', 'A mark with this note goes to the selected time.', (text) => {
      app.mark(text.trim().slice(0, 80));
      return true;
    }),
    h: () => state.sel && app.order.hide(state.sel.row), H: () => app.order.natural([0, app.meta.locations]),
    r: () => app.setRuler(), t: () => state.change({table: !state.table}), l: () => nextTheme(() => retheme(app)),
    Escape: () => app.clear(), '?': () => keys.help(),
  };
  for (const [key, f] of Object.entries(bind)) keys.on(key, guard(f));
  keys.on('tab', (e) => {
    const p = app.panels.list[Number(e.key) - 1];
    if (p) state.change({tab: p.id});
  });
  const buttons = {'b-back': bind.Backspace, 'b-all': bind[0], 'b-search': bind['/'], 'b-goto': bind.g, 'b-table': bind.t, 'b-help': bind['?'],
    theme: bind.l,
    'b-details': () => state.change({details: !state.details}), 'b-tree': () => state.change({tree: !state.tree})};
  for (const [id, f] of Object.entries(buttons)) $(id).addEventListener('click', guard(f));
  $('skip').addEventListener('click', (e) => {
    e.preventDefault();
    app.timeline.canvas.focus();
  });
}

function retheme(app) {
  app.painter.forget();
  app.order.folded?.forget();
  app.second?.painter.forget();
  app.panels.again();
  app.schedule();
}

// divide makes the border between timeline and panels movable, by pointer and by keys.
function divide(app) {
  const d = $('divider');
  const set = (percent) => {
    const p = Math.round(Math.max(10, Math.min(80, percent)));
    $('bottom').style.height = p + '%';
    d.setAttribute('aria-valuenow', String(p));
    app.schedule();
  };
  d.addEventListener('pointerdown', (e) => d.setPointerCapture(e.pointerId));
  d.addEventListener('pointermove', (e) => {
    if (d.hasPointerCapture(e.pointerId)) set((innerHeight - e.clientY) / innerHeight * 100);
  });
  d.addEventListener('keydown', (e) => {
    const step = {ArrowUp: 3, ArrowDown: -3}[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    set(Number(d.getAttribute('aria-valuenow')) + step);
  });
}

function summary(meta) {
  const clock = new Clock(meta.resolution);
  return processes(meta.processes) + (meta.locations !== meta.processes ? `, ${count(meta.locations)} rows` : '') +
    ` · ${clock.duration(meta.last - meta.first)}`;
}

async function start() {
  // The token came with the address and is a cookie now; it must not be shared with the link.
  const here = new URL(location.href);
  if (here.searchParams.has('k')) {
    here.searchParams.delete('k');
    history.replaceState(null, '', here);
  }
  const source = openSource();
  const answer = await source.json('meta', {});
  source.version = answer.version;
  const app = new App(source, answer);
  const meta = app.meta;
  document.title = meta.name + ' · coppice';
  $('title').textContent = meta.name;
  $('summary').textContent = summary(meta);
  if (meta.partial) notice(`Part of the input is missing or damaged: ${meta.damage || 'see coppice report diagnostics'}.`, 'bad');
  if (!meta.rows) notice('This file has no rows of events (analyzed with --events none): there is no timeline, but intervals and sums.');
  if (meta.locations === 0 || meta.events === 0) notice('This run has no events.');
  const keys = new Keys();
  bindKeys(app, keys);
  divide(app);
  setTheme(recall('coppice-theme', theme()), () => {});
  watchTheme(() => retheme(app));
  app.tree.build();
  app.state.listen((what) => app.changed(what));
  new ResizeObserver(() => app.schedule()).observe($('stage'));
  window.coppice = app; // for scripts that drive the page
  // If there are more recorders of metrics than rows with calls, they would hide these.
  if (!here.hash && meta.recorders * 2 > meta.locations) app.state.change({by: 'calls'});
  app.changed('view');
}

start().catch((e) => {
  notice(e instanceof Failure ? e.text() : 'The viewer failed: ' + e.message, 'bad');
  if (!(e instanceof Failure)) console.error(e);
  document.documentElement.dataset.state = 'failed';
});
