import {chain} from './chain.js';
import {Counters} from './counters.js';
import {Files} from './files.js';
import {ask, hitButton} from './dialogs.js';
import {drawDetails} from './details.js';
import {$, beginning, notice, replace, say} from './dom.js';
import {Clock, count} from './format.js';
import {Legend} from './legend.js';
import {Names} from './names.js';
import {Order} from './order.js';
import {Overlays} from './overlays.js';
import {Overview} from './overview.js';
import {Painter} from './paint.js';
import {CallPanel} from './panelcalls.js';
import {RankPanels} from './panelranks.js';
import {Panels} from './panels.js';
import {TimePanels} from './paneltime.js';
import {Pointer} from './pointer.js';
import {Busy, Failure, Tiles} from './source.js';
import {State} from './state.js';
import {still} from './theme.js';
import {speakWindow, Timeline} from './timeline.js';
import {Tree} from './tree.js';
import {visibleTable} from './visible.js';

const mostQuery = 256; // bytes that api/search takes

// The application: it puts the parts together, and holds what several of them do.

export class App {
  constructor(source, answer) {
    this.source = source;
    this.answer = answer;
    this.meta = answer.runs[0];
    this.busy = new Busy();
    this.pause = 80; // ms that the window rests before what follows it is asked for
    this.busy.idle = () => this.rest();
    this.clock = new Clock(this.meta.resolution);
    const {first, last} = this.meta;
    this.state = new State([first, Math.max(first + 1, last)], Math.max(1, this.meta.locations));
    const again = () => this.schedule();
    const failed = (e) => this.failed(e);
    this.names = new Names(source, 0, this.meta, this.busy, again);
    this.tiles = new Tiles(source, 0, this.meta, this.busy, again, failed);
    this.painter = new Painter(this.tiles, this.meta.regions);
    this.second = answer.runs[1] ? this.other(answer.runs[1], again, failed) : null;
    this.order = new Order(this);
    this.overlays = new Overlays(this);
    this.counters = new Counters(this);
    this.files = new Files(this);
    this.timeline = new Timeline(this);
    this.overview = new Overview(this);
    this.pointer = new Pointer(this);
    this.tree = new Tree(this);
    this.legend = new Legend(this);
    this.panels = new Panels(this, [...new TimePanels(this).list(), ...new RankPanels(this).list(), ...new CallPanel(this).list()]);
    this.at = null;
    this.keyed = false; // the keyboard moved the selection last
    this.waitAt = -1;
    this.frame = 0;
    this.answers = new Map();
  }

  // other is the second run: what both are called, its own tiles, and how its clock follows the first one's.
  other(meta, again, failed) {
    const scale = meta.resolution && this.meta.resolution ? meta.resolution / this.meta.resolution : 1;
    const tiles = new Tiles(this.source, 1, meta, this.busy, again, failed);
    const longer = this.meta.first + (meta.last - meta.first) / scale;
    if (longer > this.state.span[1]) {
      this.state.span[1] = longer;
      this.state.defaults();
      this.state.read();
    }
    const kind = (m) => (m.predicted_from ? 'predicted' : 'measured');
    const words = [kind(this.meta), kind(meta)];
    if (words[0] === words[1]) words.forEach((w, k) => { words[k] = ['first', 'second'][k] + ', ' + w; });
    if (meta.predicted_from && meta.predicted_from !== this.meta.id) words[1] += ' from another run';
    const at = [this.meta.first, meta.first]; // ticks that are drawn above each other
    return {meta, tiles, words, at, note: '', painter: new Painter(tiles, meta.regions),
      names: new Names(this.source, 1, meta, this.busy, again), fromFirst: (t) => at[1] + (t - at[0]) * scale};
  }

  // align draws the second run from the begin of the execution that the state names, or from its own begin.
  async align() {
    const {second} = this;
    const key = String(this.state.align);
    if (!second || second.aligned === key) return;
    second.aligned = key;
    let at = [this.meta.first, second.meta.first];
    second.note = '';
    if (this.state.align) {
      const [node, k] = this.state.align;
      const trees = await Promise.all([this.ask('intervals', {}), this.ask('intervals', {run: 1})]);
      const mine = trees[0].nodes.find((n) => n.node === node);
      const nodes = [mine, mine && trees[1].nodes.find((m) => m.label === mine.label && m.level === mine.level)];
      const begins = await Promise.all(nodes.map(async (n, run) => {
        if (!n) return undefined;
        const {list} = await this.source.json('executions', {node: n.node, loc: 0, max: 4096, run: run || null});
        return list.find((x) => x.k === k)?.begin;
      }));
      if (begins.includes(undefined)) second.note = `Row 0 of one of the runs has no execution #${k} of it among its first 4096: they are aligned at their begins.`;
      else at = begins;
    }
    if (second.aligned !== key) return;
    second.at.splice(0, 2, ...at);
    this.panels.again();
    this.schedule();
  }

  // word is what people call an item of sums, or a wait.
  word(item) {
    return this.answer.words[item] || item.replaceAll('_', ' ');
  }

  // schedule draws in the next frame.
  schedule() {
    if (this.frame) return;
    this.busy.start();
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      try {
        this.draw();
      } finally {
        this.busy.end();
      }
    });
  }

  draw() {
    this.timeline.draw();
    this.overview.draw();
    $('window').textContent = this.windowText();
    this.tree.rename();
    this.pointer.tip();
    if (this.state.table) replace($('table'), visibleTable(this));
  }

  rest() {
    document.documentElement.dataset.state = 'ready';
  }

  windowText() {
    const [a, b] = this.state.t;
    const [r0, r1] = this.state.rows;
    const step = (b - a) / 500;
    const rows = this.order.text(this.state.rows) || (r0 <= 0 && r1 >= this.meta.locations ? (this.meta.locations === this.meta.processes ? 'all ranks' : 'all rows')
      : this.names.group(Math.floor(r0), Math.ceil(r1)));
    const span = a <= this.meta.first && b >= this.meta.last ? 'whole run' : `${this.clock.at(a, step, b)} … ${this.clock.at(b, step)} (${this.clock.duration(b - a)})`;
    return `${span}, ${rows}`;
  }

  failed(e) {
    if (e.name === 'AbortError') return;
    if (this.source.static && e.status === 404) {
      notice('Finer detail is not included in this file. For this, run: coppice serve ' + this.source.data.name);
      return;
    }
    notice(e instanceof Failure ? e.text() : String(e.message || e), 'bad');
  }

  // ask gets an answer for a panel; the last few are kept.
  async ask(path, params) {
    const key = path + JSON.stringify(params);
    if (this.answers.has(key)) return this.answers.get(key);
    let p = params;
    if (this.source.static) p = {}; // answers of the whole run are all that a static file has
    const a = await this.source.json(path, p);
    this.answers.set(key, a);
    if (this.answers.size > 32) this.answers.delete(this.answers.keys().next().value);
    return a;
  }

  // changed reacts to a change of the state: it moves the picture, and asks again where it must.
  changed(what) {
    if (['off', 'view', 'sel', 'counter', 'msg'].includes(what)) this.overlays.follow();
    $('table').hidden = !this.state.table;
    $('timeline').classList.toggle('hidden-picture', this.state.table);
    $('tree').hidden = !this.state.tree;
    this.legend.follow();
    for (const [id, on] of [['b-table', this.state.table], ['b-details', this.state.details], ['b-tree', this.state.tree]]) {
      $(id).setAttribute('aria-pressed', on ? 'true' : 'false');
    }
    if (what === 'view') speakWindow(this);
    if (what === 'off' && this.state.lane('m') === false) this.overlays.asked.messages = '';
    this.busy.start();
    Promise.all([this.align(), this.order.follow()]).catch((e) => this.failed(e)).finally(() => this.busy.end());
    this.tree.mark();
    drawDetails(this);
    this.panels.follow();
    if (what === 'view' || what === 'sel') this.selected().catch((e) => this.failed(e));
    this.schedule();
  }

  // selected asks about the selection, once.
  async selected() {
    const {sel} = this.state;
    if (!sel) {
      this.at = null;
      return null;
    }
    const params = {loc: sel.row, ...(sel.n === null || sel.n === undefined ? {t: Math.floor(sel.t)} : {n: sel.n})};
    const key = JSON.stringify(params);
    if (this.atKey === key) return this.atAnswer;
    this.atKey = key;
    this.busy.start();
    this.atAnswer = this.source.json('at', params);
    try {
      const at = await this.atAnswer;
      if (this.atKey === key) {
        this.at = at;
        this.speakSelection(at);
        this.schedule();
      }
      return at;
    } catch (e) {
      this.at = null;
      this.atKey = '';
      throw e;
    } finally {
      this.busy.end();
    }
  }

  speakSelection(at) {
    const c = at.stack[0];
    const w = at.waits[0];
    say(`${this.names.label(this.state.sel.row)}: ` + (c ? `${c.name}, ${this.clock.duration(c.end - c.begin)} from ${this.clock.at(c.begin, 1)}` : 'no open call') +
      (w ? `, waits ${this.clock.duration(w.ticks)}, ${this.word(w.pattern)}` : '') +
      (at.messages.length ? `, ${at.messages[0].kind} of ${count(at.messages[0].bytes)} bytes` : ''));
  }

  // here is the location of the selection, or of the first visible row.
  here() {
    return this.state.sel ? this.state.sel.row : this.order.at(Math.max(0, Math.floor(this.state.rows[0])));
  }

  // pick selects a point or a call.
  pick({row, t, n}) {
    this.state.change({sel: {row, t, n: n ?? null}});
  }

  // go selects, and moves the window there.
  go({row, t, n}) {
    this.keyed = true;
    const fields = this.state.show(t, this.order.of(row));
    this.state.change({...fields, sel: {row, t, n: n ?? null}}, 'go' + row + ' ' + t);
    this.state.tell('sel');
  }

  async step(direction) {
    const {sel} = this.state;
    if (!sel) {
      this.pick({row: this.here(), t: (this.state.t[0] + this.state.t[1]) / 2});
      return;
    }
    const from = sel.n === null ? {t: Math.floor(sel.t)} : {n: sel.n};
    const next = await this.source.json('next', {loc: sel.row, ...from, kind: 'call', step: direction});
    if (!next.found) say(direction > 0 ? 'No later call in this row.' : 'No earlier call in this row.');
    else this.go({row: next.location, t: next.t, n: next.n});
  }

  row(d) {
    const {sel} = this.state;
    const group = this.timeline.used?.group || 1;
    const row = sel ? this.order.at(Math.min(this.state.total - 1, Math.max(0, this.order.of(sel.row) + d * group))) : this.here();
    const t = sel ? sel.t : (this.state.t[0] + this.state.t[1]) / 2;
    this.go({row, t: Math.min(this.state.t[1], Math.max(this.state.t[0], t))});
  }

  // fitSelection makes the selected call fill half of the window; called again, its interval.
  async fitSelection() {
    const at = await this.selected();
    if (!at) return;
    const c = at.stack[0] || at.intervals[at.intervals.length - 1];
    if (!c) return;
    const room = Math.max(2, (c.end - c.begin) / 2);
    const wanted = [c.begin - room, c.end + room];
    const inner = at.intervals[at.intervals.length - 1];
    const [a, b] = this.state.t;
    const there = Math.abs(a - wanted[0]) + Math.abs(b - wanted[1]) < (b - a) * 0.02 + 8;
    if (there && inner) this.state.change({t: [inner.begin, Math.max(inner.begin + 4, inner.end)]}, 'fit2');
    else this.state.change({t: wanted}, 'fit');
  }

  // partner goes to the other side of a message: [ to the sender, ] to the receiver.
  async partner(kind) {
    const at = await this.selected();
    const m = at?.messages.find((x) => x.kind === kind && x.mate);
    if (!m) {
      say(kind === 'receive' ? 'No received message here.' : 'No sent message here.');
      return;
    }
    this.go({row: m.mate.location, t: m.mate.begin, n: m.mate.call});
  }

  // cause goes a step towards the origin of the selected wait: to what the process that ended it did during the wait.
  async cause() {
    const at = await this.selected();
    const w = at?.waits.find((x) => x.ended) || at?.waits[0];
    const [step] = w ? await chain(this, w, 1) : [];
    if (step?.row !== undefined) this.go(step);
    say(step ? step.text : 'No wait here.');
  }

  // waitList is the longest waits of the panels' window. A static file has those of the whole run.
  async waitList() {
    if (!this.meta.waits) throw new Failure({what: 'wait states are not in this file', do: 'coppice analyze finds them, without --events none'}, 422);
    const a = await this.ask('waits', {t: this.panels.span(), ranks: await this.panels.ranks(), max: 100});
    if (!this.source.static) return a;
    const {t} = this.panels.window();
    return {...a, list: a.list.filter((w) => w.end > t[0] && w.begin < t[1])};
  }

  async goWait(k) {
    // The list of the steps stays the same while the user steps, although each step moves the window.
    const w = await this.waitList();
    if (!w.list.length) {
      say('No waits here.');
      return;
    }
    if (k !== undefined) this.stepping = {list: w.list, k};
    const x = this.stepping.list[this.stepping.k];
    this.go({row: x.location, t: (x.begin + x.end) / 2});
    say(`Wait ${this.stepping.k + 1} of ${this.stepping.list.length}: ${this.word(x.pattern)}, ${this.clock.duration(x.ticks)}, rank ${x.process}`);
  }

  async stepWait(d) {
    if (!this.stepping) {
      const {list} = await this.waitList();
      this.stepping = {list, k: d > 0 ? -1 : 0};
    }
    const {list} = this.stepping;
    if (!list.length) {
      this.stepping = null;
      say('No waits here.');
      return;
    }
    this.stepping.k = (this.stepping.k + d + list.length) % list.length;
    await this.goWait();
  }

  async findRank(rank) {
    const row = this.meta.locations === this.meta.processes ? rank : await this.rowOf(rank);
    this.go({row, t: this.state.sel ? this.state.sel.t : (this.state.t[0] + this.state.t[1]) / 2});
  }

  // rowOf finds the first row of a process by halving: rows are in the order of processes.
  async rowOf(rank) {
    let lo = 0;
    let hi = this.meta.locations - 1;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      const l = await this.names.sure(mid);
      if (!l || l.process >= rank) hi = mid;
      else lo = mid + 1;
    }
    return lo;
  }

  // search looks for names that contain a text. Of a text that is longer than a question may be, it uses the beginning.
  search() {
    const hint = 'Functions, intervals, ranks; NAME #3 for its third call in the selected row, longest NAME for extreme calls.';
    const find = async (text, show) => {
      if (!text.trim()) return show(hint, []);
      try {
        const [, name, k] = /^(.*\S)\s*#([1-9][0-9]*)\s*$/.exec(text) || [];
        const a = await this.source.json('search', {q: beginning(name || text, mostQuery), max: 50});
        const what = {region: 'function', location: 'row', call: 'call'};
        show(`${count(a.hits.length + a.more)} found`, a.hits.map((h) => hitButton(what[h.kind] || h.kind, h.label, h.detail, () => this.found(h, k))));
      } catch (e) {
        show(e instanceof Failure ? e.text() : e.message, []);
      }
    };
    ask('Search', 'Search text', hint, () => true, find);
  }

  async found(h, k) {
    this.busy.start();
    try {
      if (h.kind === 'interval' && h.begin !== null) this.state.change({t: [h.begin, Math.max(h.begin + 4, h.end)], tab: 'intervals'}, 'found');
      else if (h.location !== null) this.go({row: h.location, t: h.begin ?? this.state.t[0], n: h.kind === 'call' ? h.n : null});
      else if (h.kind === 'time' && h.begin !== null) this.go({row: this.here(), t: h.begin});
      else if (h.region !== null) await this.nextOf(h, k);
      this.timeline.canvas.focus();
    } catch (e) {
      this.failed(e);
    } finally {
      this.busy.end();
    }
  }

  // nextOf goes to the next call of a function, or to call k, in the selected row or the first visible one.
  async nextOf(h, k) {
    this.state.change({fn: h.region});
    const row = this.here();
    const n = await this.source.json('next', {loc: row, kind: 'region', region: h.region, ...(k ? {k} : {t: Math.floor(this.state.t[0]), step: 1})});
    if (n.found) this.go({row, t: n.t, n: n.n});
    else if (k) notice(n.side === 'beyond' ? 'That call comes too late to be looked for: go to a time near it.' : `${h.label} has fewer than ${k} calls on ${this.names.label(row)}.`);
    else notice(`${h.label} is not called on ${this.names.label(row)} after ${this.clock.at(this.state.t[0], 1)}. Select another row and search again.`);
  }

  goTo() {
    const hint = 'A time, as 1.25s, 30ms, 40%, or ticks as #12345; a window, as 80%..90%; or a call of the selected row by its number, as n 77.';
    const time = (text) => this.clock.parse(text, this.state.span[1] - this.state.span[0]) + (/%/.test(text) ? this.state.span[0] : 0);
    const inside = (t) => t >= this.state.span[0] && t <= this.state.span[1];
    ask('Go to', 'Time or call number', hint, async (text, show) => {
      const n = /^\s*n\s*([0-9]+)\s*$/i.exec(text);
      const row = this.here();
      if (n) {
        try {
          const at = await this.source.json('at', {loc: row, n: Number(n[1])});
          this.go({row, t: at.t, n: Number(n[1])});
          return true;
        } catch (e) {
          show(e instanceof Failure ? e.text() : e.message, []);
          return false;
        }
      }
      const [at, end] = text.split('..').map(time);
      if (inside(at) && inside(end) && at < end) {
        this.state.change({t: [at, end]}, 'go');
        return true;
      }
      if (!inside(at) || end !== undefined) {
        show(isNaN(at) || isNaN(end ?? 0) ? `“${text}” is not a time. ${hint}` : 'That is outside of the run. ' + hint, []);
        return false;
      }
      this.go({row, t: at});
      return true;
    });
  }

  mark(note) {
    const t = this.state.sel ? this.state.sel.t : this.pointer.time() ?? (this.state.t[0] + this.state.t[1]) / 2;
    this.state.change({marks: [...this.state.marks, {t: Math.round(t), note}].slice(-50)});
    say('Mark at ' + this.clock.at(t, 1));
  }

  setRuler() {
    const t = this.pointer.time() ?? (this.state.t[0] + this.state.t[1]) / 2;
    const r = this.timeline.ruler;
    this.timeline.ruler = r && r.length === 1 ? [r[0], t] : [t];
    say(this.timeline.ruler.length === 2 ? this.clock.duration(Math.abs(t - r[0])) : 'Ruler from ' + this.clock.at(t, 1));
    this.schedule();
  }

  clear() {
    this.timeline.ruler = null;
    this.stepping = null;
    this.pointer.hide();
    notice('');
    this.state.change({sel: null});
  }

  // smooth animates a zoom in a few frames, unless the user prefers reduced motion.
  zoom(factor) {
    const at = this.pointer.time();
    if (still()) {
      this.state.zoomTime(factor, at);
      return;
    }
    const frames = 5;
    const part = Math.pow(factor, 1 / frames);
    let k = 0;
    this.busy.start();
    const next = () => {
      this.state.zoomTime(part, at);
      if (++k < frames) requestAnimationFrame(next);
      else this.busy.end();
    };
    next();
  }
}
