// What is looked at: window of time and rows, tab, selection, lanes. It lives in the fragment of the URL, so that a link
// shows the same and the browser's back is zoom back. Changes that follow each other quickly are one step of history.

const quick = 600; // ms

export class State {
  constructor(span, rows) {
    this.span = span; // [begin, end] of the run in ticks
    this.locations = rows;
    this.total = rows; // rows of the picture, fewer where some are hidden
    this.listeners = [];
    this.last = 0;
    this.lastKind = '';
    this.defaults();
    this.read();
    addEventListener('popstate', () => this.moved());
    addEventListener('hashchange', () => this.moved());
  }

  // moved follows the address, unless it is the one that was written.
  moved() {
    if (location.hash === this.written) return;
    this.written = location.hash;
    this.last = 0;
    this.defaults();
    this.read();
    this.tell('view');
  }

  defaults() {
    this.t = this.span.slice();
    this.rows = [0, this.total];
    this.tab = ''; // the selection's where there is one, else statistics
    this.sel = null; // {row, t, n}: a point, or the call with row number n
    this.marks = []; // [{t, note}]
    this.off = ''; // lanes switched off: letters of w, m, c
    this.hide = ''; // classes that are not painted, a digit of base 36 each; g: gaps
    this.fn = null; // region that alone has its colour
    this.counter = null; // the one with a lane
    this.by = ''; // order of the rows
    this.gone = []; // locations that are hidden
    this.align = null; // [node, execution] of the first run at which both are drawn above each other
    this.msg = ''; // messages that are drawn: all, late, or row: those of the selected one
    this.table = false;
    this.details = false;
    this.tree = true;
  }

  read() {
    const q = new URLSearchParams(location.hash.slice(1));
    const pair = (name, low, high) => {
      const m = /^(-?[0-9.]+)\.\.(-?[0-9.]+)$/.exec(q.get(name) || '');
      const a = m ? Number(m[1]) : NaN;
      const b = m ? Number(m[2]) : NaN;
      return a >= low && b <= high && a < b ? [a, b] : null;
    };
    this.t = pair('t', this.span[0], this.span[1]) || this.t;
    this.rows = pair('rows', 0, this.total) || this.rows;
    this.tab = q.get('tab') || this.tab;
    const sel = /^([0-9]+):([0-9.]+)(?::([0-9]+))?$/.exec(q.get('at') || '');
    if (sel && Number(sel[1]) < this.locations) {
      this.sel = {row: Number(sel[1]), t: Number(sel[2]), n: sel[3] === undefined ? null : Number(sel[3])};
    }
    this.marks = q.getAll('mark').map((m) => {
      const cut = m.indexOf(':');
      return {t: Number(cut < 0 ? m : m.slice(0, cut)), note: cut < 0 ? '' : m.slice(cut + 1)};
    }).filter((m) => isFinite(m.t)).slice(0, 50);
    this.off = (q.get('off') || '').replace(/[^wmc]/g, '');
    this.hide = (q.get('hide') || '').replace(/[^0-9a-g]/g, '');
    this.fn = /^[0-9]{1,9}$/.test(q.get('fn')) ? Number(q.get('fn')) : null;
    this.msg = ['late', 'row'].includes(q.get('msg')) ? q.get('msg') : '';
    this.counter = /^[0-9]{1,9}$/.test(q.get('counter')) ? Number(q.get('counter')) : null;
    this.by = (q.get('by') || '').replace(/[^a-z0-9_]/g, '');
    this.gone = (q.get('gone') || '').split('.').filter((x) => /^[0-9]{1,9}$/.test(x)).slice(0, 200).map(Number);
    const align = /^([0-9]{1,9})\.([0-9]{1,9})$/.exec(q.get('align') || '');
    this.align = align ? [Number(align[1]), Number(align[2])] : null;
    this.table = q.get('view') === 'table';
    this.details = q.get('details') === '1';
    this.tree = q.get('tree') !== '0';
  }

  fragment() {
    const q = new URLSearchParams();
    const round = (x) => String(Math.round(x * 1000) / 1000);
    const whole = (a, b) => a[0] === b[0] && a[1] === b[1];
    if (!whole(this.t, this.span)) q.set('t', Math.round(this.t[0]) + '..' + Math.round(this.t[1]));
    if (!whole(this.rows, [0, this.total])) q.set('rows', round(this.rows[0]) + '..' + round(this.rows[1]));
    if (this.tab) q.set('tab', this.tab);
    if (this.sel) q.set('at', this.sel.row + ':' + Math.round(this.sel.t) + (this.sel.n === null ? '' : ':' + this.sel.n));
    for (const m of this.marks) q.append('mark', Math.round(m.t) + (m.note ? ':' + m.note : ''));
    if (this.off) q.set('off', this.off);
    if (this.hide) q.set('hide', this.hide);
    if (this.fn !== null) q.set('fn', this.fn);
    if (this.msg) q.set('msg', this.msg);
    if (this.counter !== null) q.set('counter', this.counter);
    if (this.by) q.set('by', this.by);
    if (this.gone.length) q.set('gone', this.gone.join('.'));
    if (this.align) q.set('align', this.align.join('.'));
    if (this.table) q.set('view', 'table');
    if (this.details) q.set('details', '1');
    if (!this.tree) q.set('tree', '0');
    return '#' + q.toString();
  }

  // write puts the state into the address; kind says which changes join to one step.
  write(kind) {
    const now = performance.now();
    const join = kind === this.lastKind && now - this.last < quick;
    this.last = now;
    this.lastKind = kind;
    const hash = this.fragment();
    if (hash === location.hash || (hash === '#' && !location.hash)) return;
    this.written = hash;
    history[join ? 'replaceState' : 'pushState'](null, '', hash);
  }

  listen(f) {
    this.listeners.push(f);
  }

  tell(what) {
    for (const f of this.listeners) f(what);
  }

  // change sets fields and tells everybody; kind names the sort of change.
  change(fields, kind) {
    Object.assign(this, fields);
    this.clamp();
    this.write(kind || Object.keys(fields).join());
    this.tell('t' in fields || 'rows' in fields ? 'view' : Object.keys(fields)[0]);
  }

  // clamp keeps the window inside of the run and not narrower than a few ticks, or a row.
  clamp() {
    this.t = inside(this.t, this.span, Math.min(4, this.span[1] - this.span[0]));
    this.rows = inside(this.rows, [0, this.total], Math.min(1, this.total));
  }

  zoomTime(factor, at) {
    const [a, b] = this.t;
    const p = at === undefined ? (a + b) / 2 : Math.min(b, Math.max(a, at));
    this.change({t: [p - (p - a) * factor, p + (b - p) * factor]}, 'zoom');
  }

  panTime(part) {
    const d = (this.t[1] - this.t[0]) * part;
    this.change({t: shifted(this.t, d, this.span)}, 'pan');
  }

  zoomRows(factor, at) {
    const [a, b] = this.rows;
    const p = at === undefined ? (a + b) / 2 : Math.min(b, Math.max(a, at));
    this.change({rows: [p - (p - a) * factor, p + (b - p) * factor]}, 'tall');
  }

  panRows(d) {
    this.change({rows: shifted(this.rows, d, [0, this.total])}, 'scroll');
  }

  // show moves the window so that a point is in it, as little as that takes.
  show(t, row) {
    const fields = {};
    const [a, b] = this.t;
    if (t < a || t > b) {
      fields.t = shifted(this.t, t - (a + b) / 2, this.span);
    }
    if (row >= 0 && row < this.rows[0]) fields.rows = shifted(this.rows, row - this.rows[0], [0, this.total]);
    if (row + 1 > this.rows[1]) fields.rows = shifted(this.rows, row + 1 - this.rows[1], [0, this.total]);
    return fields;
  }

  lane(letter) {
    return !this.off.includes(letter);
  }

  // toggle switches a lane (off) or a class (hide) on or off.
  toggle(field, letter) {
    const v = this[field];
    this.change({[field]: v.includes(letter) ? v.replace(letter, '') : v + letter});
  }
}

// asked is a window of time in a request. One to the end of the run has no end: the last event is in it.
export function asked([from, to], span) {
  return Math.floor(from) + '..' + (to >= span[1] ? '' : Math.ceil(to));
}

// shifted moves a range by d, as far as the bounds allow.
function shifted([a, b], d, [low, high]) {
  const by = Math.max(low - a, Math.min(high - b, d));
  return [a + by, b + by];
}

function inside([a, b], [low, high], least) {
  let width = Math.min(high - low, Math.max(least, b - a));
  if (!(width >= 0)) width = high - low;
  const from = Math.max(low, Math.min(high - width, b - a < least ? (a + b - width) / 2 : a));
  return [from, from + width];
}
