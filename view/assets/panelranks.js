import {chart, columns, heat, yAxis} from './chart.js';
import {curve, rangeOf, writeCounter} from './counters.js';
import {el} from './dom.js';
import {bytes, Clock, count, processes, ratio, share} from './format.js';
import {facts, link, table} from './table.js';
import {about, part, swatch} from './paneltime.js';

// Panels about processes: ranks, matrix, counters, classes, comparison.

const seconds = (x) => new Clock(1).duration(x);

export class RankPanels {
  constructor(app) {
    this.app = app;
    this.what = 'bytes';
    this.exact = '';
  }

  list() {
    const {app} = this;
    const span = () => app.panels.span() + ' ' + app.panels.window().rows + app.order.done;
    const list = [
      {id: 'ranks', name: 'Ranks', key: () => span() + this.exact, show: () => this.ranks()},
      {id: 'matrix', name: 'Matrix', key: () => this.what, show: () => this.matrix()},
      {id: 'counters', name: 'Counters', key: () => app.panels.span() + app.state.counter + (app.state.sel ? app.state.sel.row : ''), show: () => this.counters()},
      {id: 'classes', name: 'Classes', key: () => '', show: () => this.classes()},
    ];
    if (app.second) list.push({id: 'comparison', name: 'Comparison', key: () => String(app.state.align), show: () => this.comparison()});
    return list;
  }

  width() {
    return Math.max(320, Math.min(900, document.getElementById('panel').clientWidth - 620));
  }

  async ranks() {
    const {app} = this;
    const t = app.panels.span();
    const p = await app.ask('profile', {t, ranks: await app.panels.ranks(), columns: Math.min(1000, this.width() - 80),
      exact: this.exact === t ? 1 : null});
    const exact = () => {
      this.exact = t;
      app.panels.follow(true);
    };
    const series = p.series.filter((s) => s.values.some((v) => Number(v) > 0));
    const time = p.time.map(Number);
    const span = Math.max(1, ...time.map((v, k) => v / p.count[k]));
    const box = {x: 70, y: 8, w: this.width() - 80, h: 150};
    const column = (x) => Math.floor((x - box.x) / box.w * p.first.length);
    const name = (k) => (p.count[k] > 1 ? `ranks ${p.first[k]}–${p.first[k] + p.count[k] - 1}` : 'rank ' + p.first[k]);
    const draw = (ctx, c) => {
      const {x, y, wide} = columns(ctx, c, box, span, (v) => app.clock.duration(v), p.first,
        series.map((s) => ({fill: c.cls[s.class], of: (k) => Number(s.values[k]) / p.count[k]})));
      ctx.fillStyle = c.wait;
      p.wait.forEach((w, k) => ctx.fillRect(x(k), y(Number(w) / p.count[k]), wide(k), 2));
    };
    const pick = (x, _, click) => {
      const k = column(x);
      if (k < 0 || k >= p.first.length) return '';
      if (click) app.findRank(p.first[k]);
      return `${name(k)}: ` + series.map((s) => `${this.app.word(s.item)} ${app.clock.duration(Number(s.values[k]) / p.count[k])}`).join(', ') +
        `, of it waiting ${app.clock.duration(Number(p.wait[k]) / p.count[k])}`;
    };
    const sum = (values) => values.reduce((a, v) => a + Number(v), 0);
    const total = sum(p.time) || 1;
    const extreme = (values, better) => values.reduce((best, v, k) => (better(Number(v) / p.count[k], Number(values[best]) / p.count[best]) ? k : best), 0);
    const legend = table(`time of ${processes(sum(p.count))}, ${part(app)}` + (p.exact ? '' : ', ≈'), [
      {head: 'class', of: (s) => el('span', {}, swatch(s.cls), ' ', s.name)},
      {head: 'share', n: true, of: (s) => this.share(s.sum, total, exact)},
      {head: 'least', n: true, of: (s) => this.extreme(p, s.values, extreme(s.values, (a, b) => a < b), name)},
      {head: 'most', n: true, of: (s) => this.extreme(p, s.values, extreme(s.values, (a, b) => a > b), name)}],
    [...series.map((s) => ({name: this.app.word(s.item), cls: s.class, values: s.values, sum: s.sum})),
      {name: 'of it waiting', cls: 'wait', values: p.wait, sum: p.waits}]);
    return [el('div', {class: 'columns'}, el('div', {}, chart(this.width(), 180, 'Time of each rank by class, mean of merged ranks; the table next to it has the extremes', draw, pick),
      el('p', {class: 'note'}, (p.merged > 1 ? `${p.merged} ranks a column, their mean. ` : '') + 'The line in each column is the time spent waiting.')), legend)];
  }

  // share prints a share of a sum, with the bounds of the sum if it has some: those of a short window may be as wide as the window.
  share(x, total, exact) {
    if (typeof x !== 'object') return share(Number(x) / total);
    return link(`≈ ${share(about(x) / total)}, ${share(x.lower / total)} to ${share(x.upper / total)}`, exact, 'click for the exact value');
  }

  extreme(p, values, k, name) {
    if (!values.length) return '';
    return link(`${this.app.clock.duration(Number(values[k]) / p.count[k])} (${name(k)})`, () => this.app.findRank(p.first[k]), 'go to the rank');
  }

  async matrix() {
    const {app} = this;
    const m = await app.ask('matrix', {});
    const values = this.what === 'bytes' ? m.bytes : m.messages;
    const write = this.what === 'bytes' ? bytes : count;
    const most = Math.max(1, ...values.map(Number));
    const least = Math.min(most, ...values.map(Number).filter((v) => v > 0));
    const size = Math.max(140, Math.min(420, document.getElementById('panel').clientHeight - 70));
    const cell = size / m.cells;
    const box = {x: 54, y: 22};
    const name = (i) => (m.merged > 1 ? `${i * m.merged}–${Math.min(m.processes, (i + 1) * m.merged) - 1}` : String(i));
    const level = (v) => (v <= 0 ? 0 : most === least ? 1 : Math.log(v / least) / Math.log(most / least));
    const draw = (ctx, c) => {
      ctx.fillStyle = c.lane;
      ctx.fillRect(box.x, box.y, size, size);
      m.from.forEach((f, k) => {
        ctx.fillStyle = heat(c, level(Number(values[k])));
        ctx.fillRect(box.x + m.to[k] * cell, box.y + f * cell, Math.max(1, cell - (cell > 5 ? 1 : 0)), Math.max(1, cell - (cell > 5 ? 1 : 0)));
      });
      ctx.fillStyle = c.dim;
      const room = ctx.measureText(String(m.processes)).width + 12;
      const every = Math.max(1, Math.ceil(m.cells / (size / room)));
      for (let i = 0; i < m.cells; i += every) {
        ctx.fillText(String(i * m.merged), box.x + (i + 0.5) * cell - 4, box.y - 8);
        const text = String(i * m.merged);
        ctx.fillText(text, box.x - 8 - ctx.measureText(text).width, box.y + (i + 0.5) * cell);
      }
      ctx.fillText('to', box.x + size + 12, box.y - 8);
      ctx.fillText('from', 2, box.y - 8);
    };
    const at = new Map(m.from.map((f, k) => [f + ' ' + m.to[k], k]));
    const pick = (x, y, click) => {
      const k = at.get(Math.floor((y - box.y) / cell) + ' ' + Math.floor((x - box.x) / cell));
      if (k === undefined) return '';
      if (click) app.findRank(m.from[k] * m.merged);
      return `${name(m.from[k])} to ${name(m.to[k])}: ${count(m.messages[k])} messages, ${bytes(m.bytes[k])}`;
    };
    const order = m.from.map((_, k) => k).sort((a, b) => Number(values[b]) - Number(values[a])).slice(0, 50);
    const pairs = table('largest pairs of the whole run', [
      {head: 'from', n: true, of: (k) => link(name(m.from[k]), () => app.findRank(m.from[k] * m.merged), 'go to the rank'), by: (k) => m.from[k]},
      {head: 'to', n: true, of: (k) => link(name(m.to[k]), () => app.findRank(m.to[k] * m.merged), 'go to the rank'), by: (k) => m.to[k]},
      {head: 'messages', n: true, of: (k) => count(m.messages[k]), by: (k) => m.messages[k]},
      {head: 'bytes', n: true, of: (k) => bytes(m.bytes[k]), by: (k) => m.bytes[k]}], order);
    const other = this.what === 'bytes' ? 'messages' : 'bytes';
    const scaleBar = chart(size, 30, 'scale', (ctx, c) => {
      for (let i = 0; i < 100; i++) {
        ctx.fillStyle = heat(c, i / 99);
        ctx.fillRect(box.x + i * (size - box.x) / 100, 0, (size - box.x) / 100 + 1, 10);
      }
      ctx.fillStyle = c.dim;
      const none = values.some((v) => Number(v) === 0) ? [write(0)] : []; // cells of messages without bytes have the lightest colour, too
      ctx.fillText((none.length && most === least ? none : [...none, write(least)]).join(', '), box.x, 20);
      const text = write(most);
      ctx.fillText(text, size - ctx.measureText(text).width, 20);
    });
    const notes = [`Colour is ${this.what}, on a logarithmic scale.`];
    if (m.merged > 1) notes.push(`${m.merged} ranks a row and column.`);
    if (m.unknown) notes.push(`${count(m.unknown)} messages have no known partner.`);
    if (!m.complete) notes.push('Not complete: not all channels were read.');
    return [el('div', {class: 'columns'},
      el('div', {}, chart(box.x + size + 30, box.y + size + 6, 'Who sends how much to whom; the table next to it has the largest pairs', draw, pick), scaleBar),
      el('div', {}, el('p', {class: 'note'}, notes.join(' '), ' ', link('Show ' + other, () => {
        this.what = other;
        app.panels.follow(true);
      })), m.from.length ? pairs : el('p', {class: 'note'}, 'No messages were sent.')))];
  }

  async counters() {
    const {app} = this;
    if (!app.meta.counters.length) return [el('p', {class: 'note'}, 'The trace has no counters. Score-P records some with SCOREP_METRIC_PAPI.')];
    await app.names.sure(0); // recorders are known by their rows
    const metric = app.meta.counters[app.state.counter ?? app.names.of(app.here())?.counter] || app.meta.counters[0];
    const row = app.counters.row(metric.id);
    const choose = el('select', {id: 'metric', 'aria-label': 'Counter', onchange: (e) => app.state.change({counter: Number(e.target.value)})},
      ...app.meta.counters.map((m) => el('option', {value: m.id, selected: m.id === metric.id}, m.name)));
    const v = await app.ask('counter', {metric: metric.id, loc: row, t: app.panels.span(), bins: 512});
    const head = el('p', {}, choose, ` ${app.names.label(row)}` + (metric.unit ? `, in ${metric.unit}` : '') + (metric.description && metric.description !== metric.name ? `. ${metric.description} ` : ' '),
      app.state.counter === null ? link('show it above the timeline', () => app.state.change({counter: metric.id})) : link('take the lane away', () => app.state.change({counter: null})));
    const r = rangeOf(v);
    if (!r) return [head, el('p', {class: 'note'}, 'No reading of this counter on this row in the window. Select another row.')];
    const box = {x: 90, y: 8, w: this.width() - 100, h: 130};
    const draw = (ctx, c) => {
      const x = (t) => box.x + (t - v.begin) / (v.bin_ticks * v.min.length) * box.w;
      curve(ctx, v, x, yAxis(ctx, c, box, r.base, r.top, writeCounter));
      const marks = app.clock.marks(v.begin, v.begin + v.bin_ticks * v.min.length, 6);
      for (const t of marks.at) {
        const text = app.clock.at(t, marks.step);
        ctx.fillStyle = c.dim;
        if (x(t) + ctx.measureText(text).width < box.x + box.w + 8) ctx.fillText(text, x(t), box.y + box.h + 14);
      }
    };
    const readings = v.mean.filter((x) => x !== null);
    return [head, el('div', {class: 'columns'}, chart(this.width(), 166, `${metric.name} over time; the list next to it has its extremes`, draw),
      facts([['readings', count(v.rows) + (v.sampled ? ', a part of them shown' : '')], ['least', writeCounter(r.low)], ['most', writeCounter(r.high)],
        ['mean of bins', writeCounter(readings.reduce((a, b) => a + b, 0) / readings.length)], ['values', metric.cumulative ? 'accumulate: the slope is the rate' : 'as read']]))];
  }

  async classes() {
    const {app} = this;
    if (!app.meta.classes) {
      return [el('p', {class: 'note'}, 'Classes of processes were not computed. coppice analyze TRACE -o RUN.xtf --classes 5% --dendrogram finds them.')];
    }
    const a = await app.ask('classes', {});
    const out = [el('p', {class: 'note'}, `Processes that call the same and compute alike (${a.options}).`)];
    for (const g of a.groups.slice(0, 50)) {
      const t = table(`group ${g.group}: ranks ${g.ranks}, ${count(g.calls)} calls each, cut at ${app.clock.duration(g.threshold)}`, [
        {head: 'class', n: true, of: (k) => String(k.class), by: (k) => k.class},
        {head: 'representative', n: true, of: (k) => link('rank ' + k.representative, () => app.findRank(k.representative), 'go to the rank')},
        {head: 'processes', n: true, of: (k) => count(k.processes), by: (k) => k.processes},
        {head: 'ranks', of: (k) => (k.ranks.length > 60 ? k.ranks.slice(0, 57) + '…' : k.ranks)},
        {head: 'computation, least', n: true, of: (k) => app.clock.duration(k.least), by: (k) => k.least},
        {head: 'mean', n: true, of: (k) => app.clock.duration(k.mean), by: (k) => k.mean},
        {head: 'most', n: true, of: (k) => app.clock.duration(k.most), by: (k) => k.most},
        {head: 'spread', n: true, of: (k) => share(k.spread), by: (k) => k.spread || 0}], g.classes);
      out.push(el('div', {class: 'columns'}, t, this.dendrogram(g)));
    }
    if (a.groups.length > 50) out.push(el('p', {class: 'note'}, `${count(a.groups.length - 50)} more groups: coppice report RUN.xtf classes`));
    return out;
  }

  // dendrogram draws the merges of a group: clusters from the left, joined at their height. Large ones show the last merges.
  dendrogram(g) {
    if (!g.merges.length) return el('p', {class: 'note'}, g.processes > 1 ? 'No two processes were merged.' : 'One process.');
    const most = 60;
    const merges = g.merges.slice(-most);
    const {leaves, nodes} = placed(merges);
    const step = Math.max(13, Math.min(20, 220 / leaves.length));
    const box = {x: 84, y: 8, w: 300, h: leaves.length * step};
    const high = Math.max(1, ...merges.map((m) => m.height), Number(g.threshold) || 0);
    const draw = (ctx, c) => {
      const x = (h) => box.x + h / high * box.w;
      const y = (k) => box.y + (k + 0.5) * step;
      leaves.forEach((l, k) => {
        ctx.fillStyle = c.text;
        ctx.fillText('rank ' + l + (g.merges.length > most ? ' …' : ''), 4, y(k));
      });
      ctx.strokeStyle = c.text;
      ctx.lineWidth = 1.2;
      ctx.beginPath();
      for (const n of nodes) {
        ctx.moveTo(x(n.ha), y(n.ya));
        ctx.lineTo(x(n.h), y(n.ya));
        ctx.lineTo(x(n.h), y(n.yb));
        ctx.lineTo(x(n.hb), y(n.yb));
      }
      ctx.stroke();
      if (Number(g.threshold) > 0) {
        ctx.strokeStyle = c.wait;
        ctx.setLineDash([4, 3]);
        ctx.beginPath();
        ctx.moveTo(x(g.threshold), box.y);
        ctx.lineTo(x(g.threshold), box.y + box.h);
        ctx.stroke();
        ctx.setLineDash([]);
      }
      ctx.fillStyle = c.dim;
      ctx.fillText('0', box.x - 3, box.y + box.h + 10);
      const text = this.app.clock.duration(high);
      ctx.fillText(text, box.x + box.w - ctx.measureText(text).width, box.y + box.h + 10);
    };
    return el('div', {}, el('p', {class: 'note'}, `Dendrogram: ${count(g.merges.length)} merges` +
      (g.merges.length > most ? `, the last ${most}` : '') + (Number(g.threshold) > 0 ? '; the dashed line is the cut' : '')),
    chart(box.x + box.w + 12, box.y + box.h + 22, `Dendrogram of group ${g.group}`, draw));
  }

  async comparison() {
    const {app} = this;
    const p = await app.ask('compare', {});
    const [a, b] = p.runs;
    const [first, second] = app.second.words;
    const items = a.items.map((i) => ({item: i.item, a: i, b: b.items.find((j) => j.item === i.item)})).filter((i) => i.b);
    const value = (i) => (i.seconds !== null ? seconds(i.seconds) : count(i.count));
    const number = (i) => i.seconds ?? i.count;
    const t = table('sums over all processes', [
      {head: 'item', of: (i) => this.app.word(i.item)},
      {head: first, n: true, of: (i) => value(i.a), by: (i) => number(i.a)},
      {head: second, n: true, of: (i) => value(i.b), by: (i) => number(i.b)},
      {head: 'ratio', n: true, of: (i) => (number(i.a) ? ratio(number(i.b) / number(i.a)) : '–'), by: (i) => (number(i.a) ? number(i.b) / number(i.a) : 0)}], items);
    return [el('div', {class: 'columns'}, el('div', {}, facts([[first, `${a.name}: ${seconds(a.seconds)}, efficiency ${ratio(a.efficiency)}`],
      [second, `${b.name}: ${seconds(b.seconds)}, efficiency ${ratio(b.efficiency)}`],
      [`${second} ÷ ${first}`, a.seconds && b.seconds ? ratio(b.seconds / a.seconds) : null]]), await this.alignment(), this.compared(p)), t)];
  }

  // alignment chooses the instants that are drawn at the same place: the begins of both runs, or the begin of an execution that both
  // have.
  async alignment() {
    const {app} = this;
    const [{nodes}, other] = await Promise.all([app.ask('intervals', {}), app.ask('intervals', {run: 1})]);
    const common = nodes.filter((n) => n.node > 0 && other.nodes.some((m) => m.label === n.label && m.level === n.level));
    const [node, k] = app.state.align || [0, 0];
    const choose = el('select', {'aria-label': 'Interval', onchange: (e) => app.state.change({align: Number(e.target.value) ? [Number(e.target.value), 0] : null})},
      el('option', {value: 0}, 'the begin of the runs'), ...common.map((n) => el('option', {value: n.node, selected: n.node === node}, n.label.replace(/\s+/g, ' '))));
    const number = el('input', {type: 'number', min: 0, value: k, 'aria-label': 'Execution', onchange: (e) => app.state.change({align: [node, Math.max(0, Math.floor(e.target.value))]})});
    return el('p', {}, 'Aligned at ', choose, node ? ' #' : null, node ? number : null, app.second.note ? ' ' + app.second.note : null);
  }

  // compared draws the time of ranks in both runs side by side.
  compared(p) {
    const parts = timeParts(p);
    const box = {x: 70, y: 18, w: this.width() / 2 - 80, h: 120};
    const total = (k, which) => parts.reduce((sum, s) => sum + s[which][k], 0);
    const high = Math.max(1e-12, ...p.first.map((_, k) => Math.max(total(k, 'first'), total(k, 'second'))));
    const one = (which, name) => chart(this.width() / 2, 160, `Time of ranks, ${name}`, (ctx, c) => {
      ctx.fillStyle = c.text;
      ctx.fillText(name, box.x, 8);
      columns(ctx, c, box, high, seconds, p.first,
        parts.map((s) => ({fill: c.cls[s.class], of: (k) => s[which][k]})));
    });
    return el('div', {class: 'lock'}, ...['first', 'second'].map((x, k) => one(x, this.app.second.words[k])));
  }
}

// timeParts are the series that add up to the time of ranks in one of the runs. Collectives come without barriers; waits and
// the whole time are not parts next to the others.
export function timeParts(p) {
  return p.series.filter((s) => s.class >= 0 && (s.first.some((v) => v > 0) || s.second.some((v) => v > 0)));
}

// placed orders the leaves of merges so that no lines cross, and gives every merge its place. Without recursion.
export function placed(merges) {
  const members = new Map(); // cluster, by its first process -> leaves in order
  const height = new Map();
  const leavesOf = (p) => members.get(p) || [p];
  const order = [];
  for (const m of merges) {
    order.push({a: leavesOf(m.first), b: leavesOf(m.second), ha: height.get(m.first) || 0, hb: height.get(m.second) || 0, h: m.height});
    const keep = Math.min(m.first, m.second);
    members.set(keep, [...leavesOf(m.first), ...leavesOf(m.second)]);
    members.delete(Math.max(m.first, m.second));
    height.set(keep, m.height);
  }
  const leaves = [...members.values()].flat();
  const at = new Map(leaves.map((l, k) => [l, k]));
  const middles = new Map(); // first leaf and size of a cluster -> its line
  const nodes = order.map((n) => {
    const y = (list) => middles.get(list[0] + ' ' + list.length) ?? at.get(list[0]);
    const node = {ha: n.ha, hb: n.hb, h: n.h, ya: y(n.a), yb: y(n.b)};
    middles.set(n.a[0] + ' ' + (n.a.length + n.b.length), (node.ya + node.yb) / 2);
    return node;
  });
  return {leaves, nodes};
}
