// What is looked at: window of time and rows, tab, selection, lanes. It lives in the fragment of the URL, so that a link
// shows the same and the browser's back is zoom back. Changes that follow each other quickly are one step of history.

const quick = 600; // ms

// numbers are those of the groups of a pattern, null where the text does not fit.
const numbers = (pattern, text) => pattern.exec(text || '')?.slice(1).map(Number) || null;
const number = (v) => numbers(/^([0-9]{1,9})$/, v)?.[0] ?? null;

// Parts of the address other than window, selection and marks: name there, field, value of a text, and text of a value if it differs.
// Without a text the value is the default.
const fields = [
  ['tab', 'tab', (v) => v], // '': the selection's where there is one, else statistics
  ['off', 'off', (v) => v.replace(/[^wmcf]/g, '')], // lanes switched off
  ['hide', 'hide', (v) => v.replace(/[^0-9a-g]/g, '')], // classes that are not painted, a digit of base 36 each; g: gaps
  ['fn', 'fn', number], // region that alone has its colour
  ['msg', 'msg', (v) => (['late', 'row'].includes(v) ? v : '')], // messages that are drawn: all, late, or those of the selected row
  ['counter', 'counter', number], // the one with a lane
  ['by', 'by', (v) => v.replace(/[^a-z0-9_.]/g, '')], // order of the rows
  ['fold', 'fold', (v) => v === '1', Number], // a row for each group of the order
  ['gone', 'gone', (v) => v.split('.').filter((x) => number(x) !== null).slice(0, 200).map(Number), (x) => x.join('.')], // hidden locations
  ['align', 'align', (v) => numbers(/^([0-9]{1,9})\.([0-9]{1,9})$/, v), (x) => x.join('.')], // node, and its execution at which both runs are drawn above each other
  ['view', 'table', (v) => v === 'table', () => 'table'],
  ['details', 'details', (v) => v === '1', Number],
  ['tree', 'tree', (v) => v !== '0', Number],
];

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

  // moved reads the state from the address, unless the page itself has just written that address.
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
    this.sel = null; // {row, t, n}: a point, or the call with row number n
    this.marks = []; // [{t, note}]
    for (const [, field, from] of fields) this[field] = from('');
  }

  read() {
    const q = new URLSearchParams(location.hash.slice(1));
    const pair = (name, low, high) => {
      const [a, b] = numbers(/^(-?[0-9.]+)\.\.(-?[0-9.]+)$/, q.get(name)) || [];
      return a >= low && b <= high && a < b ? [a, b] : null;
    };
    this.t = pair('t', this.span[0], this.span[1]) || this.t;
    this.rows = pair('rows', 0, this.total) || this.rows;
    const [row, t, n] = numbers(/^([0-9]+):([0-9.]+)(?::([0-9]+))?$/, q.get('at')) || [];
    if (row < this.locations) this.sel = {row, t, n: isNaN(n) ? null : n};
    this.marks = q.getAll('mark').map((m) => {
      const cut = m.indexOf(':');
      return {t: Number(cut < 0 ? m : m.slice(0, cut)), note: cut < 0 ? '' : m.slice(cut + 1)};
    }).filter((m) => isFinite(m.t)).slice(0, 50);
    for (const [name, field, from] of fields) if (q.has(name)) this[field] = from(q.get(name));
  }

  fragment() {
    const q = new URLSearchParams();
    const round = (x) => String(Math.round(x * 1000) / 1000);
    const whole = (a, b) => a[0] === b[0] && a[1] === b[1];
    if (!whole(this.t, this.span)) q.set('t', Math.round(this.t[0]) + '..' + Math.round(this.t[1]));
    if (!whole(this.rows, [0, this.total])) q.set('rows', round(this.rows[0]) + '..' + round(this.rows[1]));
    if (this.sel) q.set('at', this.sel.row + ':' + Math.round(this.sel.t) + (this.sel.n === null ? '' : ':' + this.sel.n));
    for (const m of this.marks) q.append('mark', Math.round(m.t) + (m.note ? ':' + m.note : ''));
    for (const [name, field, from, to] of fields) {
      if (String(this[field]) !== String(from(''))) q.set(name, to ? to(this[field]) : this[field]);
    }
    return '#' + q.toString();
  }

  // write puts the state into the address; kind says which changes join into one step.
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
