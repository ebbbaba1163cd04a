import {chain} from './chain.js';
import {el} from './dom.js';
import {bytes, count, processes, ratio, share} from './format.js';
import {facts, link, stack, table} from './table.js';

// Panels about time: selection, statistics, intervals, waits.

// about is the best guess of a number that may be {lower, upper, about}.
export const about = (x) => (x !== null && typeof x === 'object' ? x.about : x);

// vague reports bounds that are so wide that the value between them says nothing.
const vague = (x) => x !== null && typeof x === 'object' && Number(x.upper) > 2 * Number(x.lower);

// part says what sums are about: a static file only has those of the whole run.
export function part(app) {
  return app.source.static ? 'whole run' : 'visible window';
}

// sourceOf says where a function is, if the trace says so.
export function sourceOf(region) {
  if (!region?.file?.includes('.')) return null; // some writers name a paradigm there
  return region.line ? `${region.file}:${region.line}` : region.file;
}

export function swatch(cls) {
  return el('span', {class: 'swatch ' + (cls === 'wait' ? cls : 's' + cls), 'aria-hidden': 'true'});
}

export class TimePanels {
  constructor(app) {
    this.app = app;
    this.exact = '';
    this.node = 0;
  }

  list() {
    const span = () => this.app.panels.span() + ' ' + this.app.panels.window().rows + this.app.order.done;
    return [
      {id: 'selection', name: 'Selection', key: () => JSON.stringify(this.app.state.sel), show: () => this.selection()},
      {id: 'statistics', name: 'Statistics', key: () => span() + this.exact, show: () => this.statistics()},
      {id: 'intervals', name: 'Intervals', key: () => span() + this.node, show: () => this.intervals()},
      {id: 'waits', name: 'Waits', key: span, show: () => this.waits()},
    ];
  }

  time(t) {
    return this.app.clock.duration(t);
  }

  at(t) {
    return this.app.clock.at(t, Math.max(1, (this.app.state.t[1] - this.app.state.t[0]) / 2000));
  }

  jump(text, side, title) {
    return link(text, () => this.app.go({row: side.location, t: side.begin, n: side.call ?? null}), title);
  }

  async selection() {
    const {app} = this;
    if (!app.state.sel) {
      return [el('p', {class: 'note'}, 'Nothing is selected. Click a call, or press ↓ and → in the timeline. ',
        'Panels show what belongs to the visible window. ? lists the keys.')];
    }
    const at = await app.selected();
    if (!at) return [el('p', {class: 'note'}, 'No answer yet.')];
    const call = at.stack[0];
    const left = el('div', {}, el('h2', {}, call ? call.name : 'no open call'), facts([
      ['where', `${app.names.label(app.state.sel.row)}${at.location.node ? ' on ' + at.location.node : ''}`],
      ['begin', call ? this.at(call.begin) : this.at(at.t)], ['time', call ? this.time(call.end - call.begin) + (call.cut ? ' (the trace has no end of it)' : '') + (call.estimated ? ' (estimated from samples)' : '') : null],
      ['in itself', call ? this.time(call.exclusive) : null],
      ['source', call ? sourceOf(app.meta.regions[call.region]) : null],
      ['call number', call ? count(call.n) : null],
      ['interval', at.intervals.length ? at.intervals.map((i) => `${i.label.replace(/\s+/g, ' ')} #${i.k}`).join(' › ') : null],
      ['critical path', at.critical ? `yes, ${at.critical.activity} from ${this.at(at.critical.begin)} for ${this.time(at.critical.end - at.critical.begin)}` : null],
      ['file operation', at.io ? `${bytes(at.io.done)} of ${bytes(at.io.asked)} ${at.io.file}` : null],
    ]));
    return [el('div', {class: 'columns'}, left, ...this.partners(at), at.waits.length ? await this.origin(at.waits.find((x) => x.ended) || at.waits[0]) : null, this.stackOf(at))];
  }

  stackOf(at) {
    if (at.stack.length < 1) return null;
    return table('call stack, innermost first' + (at.more ? `, ${count(at.more)} outer calls left out` : ''), [
      {head: 'call', of: (c) => el('span', {}, swatch(Math.max(0, c.class)), ' ', link(c.name, () => this.app.go({row: at.location.location, t: c.begin, n: c.n}), 'select this call'))},
      {head: 'begin', n: true, of: (c) => this.at(c.begin)}, {head: 'time', n: true, of: (c) => this.time(c.end - c.begin)},
      {head: 'in itself', n: true, of: (c) => this.time(c.exclusive)}], at.stack);
  }

  partners(at) {
    const out = [];
    for (const m of at.messages.slice(0, 8)) {
      out.push(el('div', {}, el('h3', {}, m.kind), facts([
        [m.kind === 'send' ? 'to' : 'from', m.mate ? this.jump(`rank ${m.mate.process}, ${m.mate.name} (${m.kind === 'send' ? ']' : '['})`, m.mate, 'go to the partner')
          : m.peer >= 0 ? `rank ${m.peer}, no partner found` : 'not known'],
        ['size', bytes(m.bytes)], ['tag', count(m.tag)], ['communicator', m.comm],
        ['partner', m.mate ? `${this.at(m.mate.begin)} … ${this.at(m.mate.end)}` : null]])));
    }
    if (at.collective) {
      const c = at.collective;
      out.push(el('div', {}, el('h3', {}, c.name), facts([
        ['communicator', `${c.comm}${c.members ? `, ${count(c.members)} members` : ''}`], ['operation', '#' + count(c.ordinal)],
        ['root', c.root >= 0 ? 'rank ' + c.root : null], ['sent, received', `${bytes(c.sent)}, ${bytes(c.received)}`],
        ['last to enter', c.last ? this.jump(`rank ${c.last.process}, ${this.at(c.last_enter)}`, c.last, 'go there') : null],
        ['last to leave', this.at(c.last_leave)]])));
    }
    for (const w of at.waits.slice(0, 4)) {
      out.push(el('div', {}, el('h3', {}, el('span', {class: 'swatch wait'}), ' waits: ' + this.app.word(w.pattern)), facts([
        ['time', `${this.time(w.ticks)} from ${this.at(w.begin)}`],
        ['ended by', w.ended ? this.ended(w) : 'not known'],
        ['launched', {queued: 'after another one of its stream', late: 'after the wait began, by another thread'}[w.launch]]])));
    }
    return out;
  }

  // ended goes to the call that ended a wait.
  ended(w) {
    const late = w.ended.begin > w.end ? ', before ' : ', '; // of a receive that was posted before it is waited for
    return this.jump(`rank ${w.ended.process}${w.ended.name ? late + w.ended.name : ''}`, w.ended, 'go to the call that ended the wait');
  }

  // origin lists what led to a wait, back to own code.
  async origin(wait) {
    const steps = await chain(this.app, wait);
    return table('what led to this wait (c goes a step)', [
      {head: 'step', n: true, of: (s) => count(steps.indexOf(s) + 1)},
      {head: 'while it was waited for', of: (s) => (s.row === undefined ? s.text : link(s.text, () => this.app.go(s), 'go there'))}], steps);
  }

  number(x, write, exact) {
    if (x === null || typeof x !== 'object') return write(x);
    const title = `between ${write(x.lower)} and ${write(x.upper)}`;
    const text = vague(x) ? `${write(x.lower)} to ${write(x.upper)}` : '≈ ' + write(x.about);
    return exact ? link(text, exact, title + '; click for the exact value') : el('span', {title}, text);
  }

  async statistics() {
    const {app} = this;
    const t = app.panels.span();
    const s = await app.ask('stats', {t, ranks: await app.panels.ranks(), exact: this.exact === t ? 1 : null});
    const exact = s.exact ? null : () => { // bytes of functions stay approximate
      this.exact = t;
      app.panels.follow(true);
    };
    const unit = {ticks: (x) => this.time(x), count, bytes};
    const items = table(`${processes(s.processes)} in ${this.time(s.end - s.begin)}, ${part(app)}` + (s.exact ? ', exact' : ''), [
      {head: 'item', of: (i) => link(app.word(i.item), () => app.state.change({by: i.item}), 'sort the rows by it'), by: (i) => app.word(i.item)},
      {head: 'sum', n: true, of: (i) => this.number(i.sum, unit[i.unit] || count, exact), by: (i) => Number(about(i.sum))},
      {head: 'least', n: true, of: (i) => (i.min ? `${(unit[i.unit] || count)(i.min.value)} (rank ${i.min.rank})` : '')},
      {head: 'most', n: true, of: (i) => (i.max ? `${(unit[i.unit] || count)(i.max.value)} (rank ${i.max.rank})` : '')}], s.items);
    const all = s.time || 1;
    const cls = (f) => (f.region >= 0 ? app.meta.regions[f.region].class : 0);
    const functions = table(`functions of the ${part(app)}, with their shares of ${this.time(s.time)} on all rows` + (s.more ? `; ${count(s.more)} with less time left out` : ''), [
      {head: 'function', of: (f) => el('span', {}, swatch(cls(f)), ' ', link(f.name, () => app.state.change({fn: f.region === app.state.fn || f.region < 0 ? null : f.region}), 'show this function alone in its colour; / finds its calls')), by: (f) => f.name},
      {head: 'share', of: (f) => (vague(f.exclusive) ? '–' : stack([[cls(f), Number(about(f.exclusive)) / all]], share(Number(about(f.exclusive)) / all)))},
      {head: 'in itself', n: true, of: (f) => this.number(f.exclusive, (x) => this.time(x), exact), by: (f) => Number(about(f.exclusive))},
      {head: 'with callees', n: true, of: (f) => this.number(f.inclusive, (x) => this.time(x), exact), by: (f) => Number(about(f.inclusive))},
      {head: 'calls', n: true, of: (f) => this.number(f.calls, count, exact), by: (f) => Number(about(f.calls))},
      {head: 'bytes', n: true, of: (f) => (Number(about(f.bytes)) ? this.number(f.bytes, bytes, exact) : ''), by: (f) => Number(about(f.bytes))}], s.functions);
    return [this.lost(s.lost), s.note ? el('p', {class: 'note'}, s.note + '.') : null, el('div', {class: 'columns'}, functions, items)];
  }

  lost(list) {
    if (!list || !list.length) return null;
    return el('p', {class: 'note'}, `${count(list.length)} locations could not be read and are left out: ` +
      list.slice(0, 3).map((l) => `process ${l.process}: ${l.error}`).join('; '));
  }

  async intervals() {
    const {app} = this;
    const a = await app.ask('intervals', {});
    const detail = await this.intervalDetail(a.nodes.find((n) => n.node === this.node) || a.nodes[0]).catch((e) =>
      el('p', {class: 'note'}, e.message));
    const t = table('intervals over all processes' + (a.more ? `; ${count(a.more)} more are not listed` : ''), [
      {head: 'interval', of: (n) => el('span', {class: n.level ? 'indent' + Math.min(4, n.level) : null}, link(n.label.replace(/\s+/g, ' '), () => {
        this.node = n.node;
        app.state.change({t: [n.begin, n.end]}, 'interval');
        app.panels.follow(true);
      }, 'show its span'))},
      {head: 'executions', n: true, of: (n) => count(n.executions), by: (n) => n.executions},
      {head: 'processes', n: true, of: (n) => count(n.participants), by: (n) => n.participants},
      {head: 'time', n: true, of: (n) => this.time(n.execution), by: (n) => Number(n.execution)},
      {head: 'efficiency', of: (n) => el('span', {class: 'lock'}, ratio(n.efficiency), stack([[0, n.efficiency || 0]], ratio(n.efficiency))), by: (n) => n.efficiency || 0},
      {head: 'parallel', n: true, of: (n) => ratio(n.pop.parallel), by: (n) => n.pop.parallel || 0},
      {head: 'lost', n: true, of: (n) => this.time(n.lost), by: (n) => Number(n.lost)},
      {head: 'MPI', n: true, of: (n) => this.time(n.mpi), by: (n) => Number(n.mpi)},
      {head: 'waiting', n: true, of: (n) => this.time(n.wait), by: (n) => Number(n.wait)}], a.nodes);
    return [this.lost(a.lost), el('div', {class: 'columns'}, t, detail)];
  }

  // intervalDetail has the characteristics of one interval.
  async intervalDetail(node) {
    if (!node) return null;
    const a = await this.app.ask('interval/' + node.node, {});
    const ticks = a.interval.ticks || {};
    const rows = Object.entries(ticks).filter(([, v]) => v !== null && v !== 0)
      .map(([k, v]) => [k.replaceAll('_', ' '), this.time(Array.isArray(v) ? v[0] / v[1] : v)]);
    return el('div', {}, el('h3', {}, node.label.replace(/\s+/g, ' ')), facts([['efficiency', ratio(a.interval.efficiency)],
      ...Object.entries(node.pop).map(([e, v]) => [e.replace('_', ' ') + (e === 'parallel' ? ' efficiency' : ''), ratio(v)]), ...rows]));
  }

  async waits() {
    const {app} = this;
    const w = await app.waitList();
    const waiting = (p) => !p.item.endsWith('_completion'); // at the end of a collective nobody is waited for
    const sum = w.patterns.filter(waiting).reduce((s, p) => s + Number(about(p.sum)), 0) || 1;
    const patterns = table('by pattern, ' + part(app), [
      {head: 'pattern', of: (p) => this.app.word(p.item), by: (p) => p.item},
      {head: 'time', n: true, of: (p) => (typeof p.sum === 'object' ? '≈ ' : '') + this.time(about(p.sum)), by: (p) => Number(about(p.sum))},
      {head: 'of waits', of: (p) => (waiting(p) ? stack([['wait', Number(about(p.sum)) / sum]], share(Number(about(p.sum)) / sum)) : '')}], w.patterns, 1);
    const list = table(`longest waits of the window (n, p)` + (w.complete ? '' : `, of ${count(w.seen)} looked at`), [
      {head: 'time', n: true, of: (x) => link(this.time(x.ticks), () => app.goWait(w.list.indexOf(x)), 'go to the wait'), by: (x) => x.ticks},
      {head: 'rank', n: true, of: (x) => count(x.process), by: (x) => x.process},
      {head: 'at', n: true, of: (x) => this.at(x.begin), by: (x) => x.begin},
      {head: 'pattern', of: (x) => this.app.word(x.pattern), by: (x) => x.pattern},
      {head: 'in', of: (x) => (x.region >= 0 ? app.meta.regions[x.region].name : x.path[x.path.length - 1] || '')},
      {head: 'ended by', of: (x) => (x.ended ? this.ended(x) : 'not known')}], w.list);
    const c = await app.ask('causes', {});
    const causes = table('waits of the whole run are caused by (delay costs)' + (c.more ? `; ${count(c.more)} smaller ones left out` : ''), [
      {head: 'caused by', of: (x) => (x.path.length ? x.path[x.path.length - 1] : 'no call'), by: (x) => x.path.join()},
      {head: 'activity', of: (x) => this.app.word(x.activity), by: (x) => x.activity},
      {head: 'waits of', of: (x) => this.app.word(x.pattern), by: (x) => x.pattern},
      {head: 'short', n: true, of: (x) => this.time(x.short), by: (x) => Number(x.short)},
      {head: 'long', n: true, of: (x) => this.time(x.long), by: (x) => Number(x.long)},
      {head: 'of waits', of: (x) => stack([['wait', x.share || 0]], share(x.share)), by: (x) => x.share || 0},
      {head: 'most', n: true, of: (x) => link(`${this.time(x.worst)} (rank ${x.worst_rank})`, () => app.findRank(x.worst_rank), 'go to the rank'), by: (x) => x.worst}], c.list);
    if (!w.list.length) return [el('p', {class: 'note'}, 'No process waits in this window.'), w.patterns.length ? patterns : null];
    return [this.lost(w.lost), el('div', {class: 'columns'}, list, patterns, c.list.length ? causes : null)];
  }
}

