import {$, el, notice} from './dom.js';

// The order of the rows of the timeline: as recorded, by what their processes did in the window, by machine or class, with some of them
// hidden. A place is a row of the picture, a location what is drawn there.

const mostOrdered = 4096; // locations that can be ordered

export class Order {
  constructor(app) {
    this.app = app;
    this.list = null; // location of each place; null: as recorded
    this.places = null; // place of each location
    this.done = ',';
    this.choice = el('select', {'aria-label': 'Order of rows', onchange: (e) => app.state.change({by: e.target.value})});
    for (const [by, text] of [['', 'as recorded'], ['calls', 'with calls'], ['wait', 'by waiting'],
      ...['time', 'cpu', 'p2p', 'collective_all', 'io'].map((item) => [item, 'by ' + app.word(item)]), ['node', 'by machine'], ['class', 'by class']]) {
      this.choice.append(el('option', {value: by}, text));
    }
    $('order').append('Rows ', this.choice);
  }

  at(place) {
    return this.list ? this.list[place] : place;
  }

  // of is the place of a location, -1 if it is hidden.
  of(location) {
    return this.list ? this.places.get(location) ?? -1 : location;
  }

  // natural shows some rows as recorded.
  natural(rows) {
    const {state, meta} = this.app;
    this.list = this.places = null;
    state.total = Math.max(1, meta.locations);
    state.change({by: '', gone: [], rows}, 'rows' + rows);
  }

  // hide takes a location out of the picture.
  hide(row) {
    const {gone} = this.app.state;
    if (!gone.includes(row)) this.app.state.change({gone: [...gone, row].slice(-200), sel: null});
  }

  // follow makes the order that the state names, once for each choice: it stays as it is when the window moves.
  async follow() {
    const {app} = this;
    const {by, gone} = app.state;
    const key = by + ',' + gone;
    this.choice.value = by;
    if (key === this.done) return;
    this.done = key;
    const list = key === ',' ? null : await this.sorted(by, gone);
    if (this.done !== key) return;
    this.list = list && list.length ? list : null;
    this.places = list && new Map(list.map((l, k) => [l, k]));
    const {state} = app;
    const whole = state.rows[0] <= 0 && state.rows[1] >= state.total;
    state.total = this.list ? this.list.length : Math.max(1, app.meta.locations);
    if (whole) state.rows = [0, state.total];
    state.clamp();
    app.changed('view');
  }

  async sorted(by, gone) {
    const {app} = this;
    if (app.meta.locations > mostOrdered) {
      notice(`Only ${mostOrdered} rows and fewer can be ordered or hidden; this run has more. Choose ranks with the tree.`);
      return null;
    }
    await app.names.sure(0);
    const all = Array.from({length: app.meta.locations}, (_, l) => l).filter((l) => !gone.includes(l));
    const of = (l) => app.names.of(l) || {process: l, type: '', node: '', class: -1};
    if (by === 'calls') return all.filter((l) => of(l).type !== 'metric');
    if (by === 'node' || by === 'class' || !by) {
      const value = (l) => (by ? of(l)[by] : 0);
      return all.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a - b));
    }
    const p = await app.ask('profile', {t: app.panels.span(), columns: 1000, ranks: ''});
    const values = by === 'wait' ? p.wait : by === 'time' ? p.time : p.series.find((s) => s.item === by)?.values;
    if (!values) return all;
    const column = new Map(); // of a process
    p.first.forEach((f, k) => { for (let r = 0; r < p.count[k]; r++) column.set(f + r, Number(values[k]) / p.count[k]); });
    const value = (l) => column.get(of(l).process) || 0;
    return all.sort((a, b) => value(b) - value(a) || a - b);
  }

  // ranks is the set of processes of some places, for requests; empty for all.
  async ranks([from, to]) {
    const {app} = this;
    if (!this.list) return app.names.ranks(from, to);
    if (from <= 0 && to >= this.list.length && this.list.length === app.meta.locations) return '';
    const shown = this.list.slice(Math.max(0, Math.floor(from)), Math.ceil(to)).map((l) => app.names.of(l)?.process ?? l);
    const sorted = [...new Set(shown)].sort((a, b) => a - b);
    let text = '';
    sorted.forEach((r, k) => { // runs of ranks: 0-3,8
      if (k > 0 && sorted[k - 1] === r - 1) {
        if (sorted[k + 1] !== r + 1) text += '-' + r;
      } else text += (text && ',') + r;
    });
    return text;
  }

  // text says which rows are shown, "" for those as recorded.
  text([from, to]) {
    if (!this.list) return '';
    const n = Math.ceil(to) - Math.floor(from);
    return `${n === 1 ? this.app.names.label(this.at(Math.floor(from))) + ',' : n + ' rows'} ${this.choice.selectedOptions[0].text}`;
  }
}
