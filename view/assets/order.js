import {$, el, notice} from './dom.js';
import {bytes, count} from './format.js';
import {Folded} from './folded.js';
import {Painter} from './paint.js';

// The order of the rows of the timeline: as recorded, by any sum of their processes in the window, by machine, class or place in a topology,
// with some of them hidden, or one row for each group. A place is a row of the picture, a location what is drawn there.

const mostOrdered = 4096; // locations that can be ordered
const mostFolded = 1024; // that can be drawn as groups: their tiles fit into the cache

export class Order {
  constructor(app) {
    this.app = app;
    this.list = null; // location of each place, of a group its first one; null: as recorded
    this.places = null; // place of each location
    this.groups = null; // [{name, members}] of the places, where rows are groups
    this.folded = null; // painter of groups
    this.values = null; // text of what each location is ordered by
    this.wish = null; // rows to show in the next order
    this.done = ',,';
    this.choice = el('select', {'aria-label': 'Order of rows', onchange: (e) => app.state.change({by: e.target.value})});
    // A dimension in which all processes have one place, or each has its own, groups nothing.
    const places = app.meta.topologies.flatMap((t, k) => t.dimensions.map(({name, size}, d) => (size > 1 && size < app.meta.processes
      ? [`x${k}.${d}`, `by ${name || 'dimension ' + d} of ${t.name || 'topology ' + k}`] : null))).filter(Boolean);
    for (const [by, text] of [['', 'as recorded'], ['calls', 'with calls'], ['wait', 'by waiting'],
      ...['time', 'cpu', 'p2p', 'collective_all', 'io'].map((item) => [item, 'by ' + app.word(item)]), ['node', 'by machine'], ['class', 'by class'], ...places]) {
      this.choice.append(el('option', {value: by}, text));
    }
    this.more = el('option', {hidden: true}); // another item or function
    this.choice.append(this.more);
    this.box = el('input', {type: 'checkbox', onchange: (e) => app.state.change({fold: e.target.checked})});
    this.fold = el('label', {class: 'lock', hidden: true}, this.box, 'one row a group');
    $('order').append(el('label', {}, 'Rows ', this.choice), this.fold);
  }

  at(place) {
    return this.list ? this.list[place] : place;
  }

  // of is the place of a location, -1 if it is hidden.
  of(location) {
    return this.list ? this.places.get(location) ?? -1 : location;
  }

  // row is the row of tiles that a location is drawn from.
  row(location) {
    return this.groups ? this.of(location) : location;
  }

  // label is the name of a place, with its value in the order.
  label(place, plain) {
    if (this.groups) return this.groups[place].name;
    const l = this.at(place);
    return this.app.names.label(l) + (!plain && this.values?.has(l) ? '  ' + this.values.get(l) : '');
  }

  // natural shows some rows as recorded.
  natural(rows) {
    const {state, meta} = this.app;
    this.list = this.places = this.groups = this.folded = this.values = null;
    state.total = Math.max(1, meta.locations);
    state.change({by: '', gone: [], fold: false, rows}, 'rows' + rows);
  }

  // hide takes a location out of the picture, or its group.
  hide(row) {
    const {gone} = this.app.state;
    const rows = this.groups?.[this.of(row)]?.members || [row];
    if (!gone.includes(row)) this.app.state.change({gone: [...gone, ...rows].slice(-200), sel: null});
  }

  // unfold shows the locations of the group at a place, one by one.
  unfold(place) {
    const before = this.groups.slice(0, place).reduce((sum, g) => sum + g.members.length, 0);
    this.wish = [before, before + this.groups[place].members.length];
    this.app.state.change({fold: false});
  }

  // follow makes the order that the state names, once for each choice: it stays as it is when the window moves.
  async follow() {
    const {app} = this;
    const {by, gone, fold, fn} = app.state;
    const key = `${by},${gone},${fold ? 1 : ''}`;
    const known = [...this.choice.options].some((o) => o !== this.more && o.value === by);
    this.more.value = known ? (fn === null ? '' : 'f' + fn) : by;
    this.more.hidden = this.more.value === '';
    const region = app.meta.regions[this.more.value.slice(1)];
    this.more.textContent = 'by ' + (/^f[0-9]/.test(this.more.value) ? 'time in ' + (region?.name || '?') : app.word(this.more.value));
    this.choice.value = by;
    const grouped = by === 'node' || by === 'class' || /^x[0-9]/.test(by);
    this.fold.hidden = !grouped;
    this.box.checked = fold;
    if (key === this.done) return;
    this.done = key;
    this.values = null;
    const list = key === ',,' ? null : await this.sorted(by, gone);
    if (this.done !== key) return;
    this.list = list && list.length ? list : null;
    this.groups = this.folded = null;
    if (this.list && grouped && fold) this.group(by);
    this.places = list && new Map((this.groups ? this.groups.flatMap((g, k) => g.members.map((l) => [l, k])) : list.map((l, k) => [l, k])));
    const {state} = app;
    const whole = state.rows[0] <= 0 && state.rows[1] >= state.total;
    const folds = state.total;
    state.total = this.list ? this.list.length : Math.max(1, app.meta.locations);
    if (this.wish || whole || this.groups || folds > state.total) state.rows = this.wish || [0, state.total];
    this.wish = null;
    state.clamp();
    app.changed('view');
  }

  // key is what the locations of a group have in common: [value to sort by, words].
  key(by, l) {
    const of = this.app.names.of(l) || {node: '', class: -1, places: []};
    if (by === 'node') return [of.node, of.node || 'no machine'];
    if (by === 'class') return [of.class, of.class < 0 ? 'no class' : 'class ' + of.class];
    const [k, d] = by.slice(1).split('.');
    const c = of.places?.[k]?.[d];
    return [c ?? -1, c === undefined ? 'no place' : `${this.app.meta.topologies[k]?.dimensions[d]?.name || 'place'}: ${c}`];
  }

  // group makes places of the locations that have a key in common, and a painter of the means of their tiles.
  group(by) {
    const {app} = this;
    if (this.list.length > mostFolded) {
      notice(`Only ${mostFolded} rows and fewer can be drawn as groups.`);
      return;
    }
    this.groups = [];
    let last;
    for (const l of this.list) {
      const [key, name] = this.key(by, l);
      if (key !== last) this.groups.push({name, members: []});
      this.groups[this.groups.length - 1].members.push(l);
      last = key;
    }
    for (const g of this.groups) g.name += ` (${count(g.members.length)})`;
    this.list = this.groups.map((g) => g.members[0]);
    this.folded = new Painter(new Folded(app.tiles, this.groups), app.meta.regions);
  }

  async sorted(by, gone) {
    const {app} = this;
    if (app.meta.locations > mostOrdered) {
      notice(`Only ${mostOrdered} rows and fewer can be ordered or hidden; this run has more. Choose ranks with the tree.`);
      return null;
    }
    await app.names.sure(0);
    const all = Array.from({length: app.meta.locations}, (_, l) => l).filter((l) => !gone.includes(l));
    if (by === 'calls') return all.filter((l) => app.names.of(l)?.type !== 'metric');
    if (!by) return all;
    if (by === 'node' || by === 'class' || /^x[0-9]/.test(by)) {
      const value = (l) => this.key(by, l)[0];
      return all.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a - b));
    }
    const what = by === 'wait' ? {} : /^f[0-9]/.test(by) ? {region: by.slice(1)} : {item: by};
    const p = await app.ask('profile', {t: app.panels.span(), columns: 1000, ranks: '', ...what});
    const values = by === 'wait' ? p.wait : app.source.static ? (by === 'time' ? p.time : p.series.find((s) => s.item === by)?.values) : p.values;
    if (!values) return all;
    const column = new Map(); // of a process
    p.first.forEach((f, k) => { for (let r = 0; r < p.count[k]; r++) column.set(f + r, Number(values[k]) / p.count[k]); });
    const value = (l) => column.get(app.names.of(l)?.process ?? l) || 0;
    const write = {bytes, count}[p.unit] || ((x) => app.clock.duration(x));
    this.values = new Map(all.map((l) => [l, (p.merged > 1 || !p.exact && !app.source.static ? '≈ ' : '') + write(value(l))]));
    return all.sort((a, b) => value(b) - value(a) || a - b);
  }

  // ranks is the set of processes of some places, for requests; empty for all.
  async ranks([from, to]) {
    const {app} = this;
    if (!this.list) return app.names.ranks(from, to);
    const places = [Math.max(0, Math.floor(from)), Math.ceil(to)];
    const rows = this.groups ? this.groups.slice(...places).flatMap((g) => g.members) : this.list.slice(...places);
    if (rows.length === app.meta.locations) return '';
    const sorted = [...new Set(rows.map((l) => app.names.of(l)?.process ?? l))].sort((a, b) => a - b);
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
    return `${n === 1 ? this.label(Math.floor(from), true) + ',' : n + (this.groups ? ' groups' : ' rows')} ${this.choice.selectedOptions[0]?.text || ''}`;
  }
}
