import {chart, columns} from './chart.js';
import {cut, el} from './dom.js';
import {count, share} from './format.js';
import {shares} from './source.js';
import {part, sourceOf, swatch} from './paneltime.js';
import {link, table} from './table.js';

// The panel of call paths of the window: as a flame graph, as a tree with its sums, and by rank.

const rowHeight = 18;
const mostPaths = 200; // of the table

export class CallPanel {
  constructor(app) {
    this.app = app;
    this.metric = 'inclusive';
    this.path = []; // names of the path that fills the graph, outermost first
  }

  list() {
    return [{id: 'calls', name: 'Calls', show: () => this.show(),
      key: () => [this.app.panels.span(), this.app.panels.window().rows, this.app.order.done, this.metric, ...this.path].join()}];
  }

  go(path) {
    this.path = path;
    this.app.panels.follow(true);
  }

  // tree reads the paths, with what each has by the metric with all below it, and finds the one that fills the graph.
  async tree() {
    const {app} = this;
    const a = await app.ask('calltree', {t: app.panels.span(), ranks: await app.panels.ranks()});
    const nodes = a.nodes.map((n, k) => ({...n, k, waits: n.wait, path: []}));
    for (const n of nodes) n.path = [...(n.parent >= 0 ? nodes[n.parent].path : []), n.name];
    for (const n of nodes.slice().reverse()) {
      if (n.parent >= 0) nodes[n.parent].waits += n.waits;
      n.value = this.metric === 'inclusive' ? n.inclusive : n.waits;
    }
    const top = nodes.find((n) => n.path.join('\n') === this.path.join('\n')) || null;
    const shown = nodes.filter((n) => !top || n === top || this.path.every((name, d) => n.path[d] === name));
    return {...a, nodes: shown, top, whole: top ? top.value : this.metric === 'inclusive' ? a.time : nodes.filter((n) => n.parent < 0).reduce((sum, n) => sum + n.value, 0)};
  }

  async show() {
    const {app} = this;
    const a = await this.tree();
    if (!a.nodes.length) return [el('p', {class: 'note'}, 'No call is open in this window.')];
    const choose = el('select', {'aria-label': 'Width', onchange: (e) => {
      this.metric = e.target.value;
      app.panels.follow(true);
    }}, ...[['inclusive', 'time'], ['waits', 'waiting']].map(([v, text]) => el('option', {value: v, selected: v === this.metric}, text)));
    const time = (x) => app.clock.duration(x);
    const cls = (n) => (n.region >= 0 ? app.meta.regions[n.region].class : 0);
    const paths = table(`call paths of the ${part(app)}` + (a.more ? `, without ${count(a.more)} of less time` : '') + (a.folded ? `; ${count(a.folded)} calls count as their callers' own time` : ''), [
      {head: 'path', of: (n) => el('span', {class: 'indent' + Math.min(4, n.depth)}, swatch(cls(n)), ' ', link(n.name, () => this.go(n.path), 'let this path fill the graph'))},
      {head: 'of ' + time(a.whole), n: true, of: (n) => share(n.value / (a.whole || 1)), by: (n) => n.value},
      {head: 'time', n: true, of: (n) => time(n.inclusive), by: (n) => n.inclusive},
      {head: 'in itself', n: true, of: (n) => time(n.exclusive), by: (n) => n.exclusive},
      {head: 'waiting', n: true, of: (n) => (n.waits ? time(n.waits) : ''), by: (n) => n.waits},
      {head: 'calls', n: true, of: (n) => count(n.calls), by: (n) => n.calls},
      {head: 'most', n: true, of: (n) => this.most(a, n)},
      ...(a.nodes.some((n) => app.meta.regions[n.region]?.line) ? [{head: 'source', of: (n) => sourceOf(app.meta.regions[n.region]) || ''}] : [])], a.nodes.slice(0, mostPaths));
    const width = Math.max(320, document.getElementById('panel').clientWidth - 40);
    return [el('p', {}, 'Width is ', choose, a.top ? el('span', {}, `, of ${this.path.join(' › ')}, `, link('all calls', () => this.go([]), 'back to all calls')) : null),
      this.flames(a, width), el('div', {class: 'columns'}, paths, a.top ? this.ranks(a) : null)];
  }

  // most is the column of ranks that has most of a path, where there are several.
  most(a, n) {
    if (a.first.length < 2) return '';
    const mean = n.by.map((v, k) => v / a.count[k]);
    const k = mean.indexOf(Math.max(...mean));
    return link(`${this.app.clock.duration(mean[k])} (rank ${a.first[k]}${a.count[k] > 1 ? '…' : ''})`, () => this.app.findRank(a.first[k]), 'go to the rank');
  }

  flames(a, width) {
    const {app} = this;
    const base = a.top ? a.top.depth : 0;
    const boxes = []; // {x, w, y, n}
    const at = new Map(); // number of a path -> where its next part goes
    let next = 0;
    for (const n of a.nodes) {
      const inner = n !== a.top && n.parent >= 0;
      const x = inner ? at.get(n.parent) ?? 0 : next;
      const w = n.value / (a.whole || 1) * width;
      if (inner) at.set(n.parent, x + w);
      else next = x + w;
      at.set(n.k, x);
      if (w >= 0.5) boxes.push({x, w, y: (n.depth - base) * rowHeight, n});
    }
    const height = rowHeight * (1 + Math.max(0, ...boxes.map((b) => b.n.depth - base)));
    const draw = (ctx) => {
      for (const {x, w, y, n} of boxes) {
        const cls = n.region >= 0 ? app.meta.regions[n.region].class : 0;
        const p = app.painter.paintOf(cls < shares ? cls : 0, n.region);
        ctx.fillStyle = p.fill;
        ctx.fillRect(x, y, Math.max(0.5, w - 1), rowHeight - 1);
        ctx.fillStyle = p.ink;
        ctx.fillText(cut(ctx, n.name, w - 6), x + 3, y + rowHeight / 2);
      }
    };
    return chart(width, height, 'Flame graph of the call paths; the table below it has the same', draw, (x, y, click) => {
      const hit = boxes.find((b) => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + rowHeight);
      if (hit && click) this.go(hit.n === a.top ? hit.n.path.slice(0, -1) : hit.n.path);
      return hit ? `${hit.n.path.join(' › ')}: ${app.clock.duration(hit.n.value)}, ${share(hit.n.value / (a.whole || 1))}; ${count(hit.n.calls)} calls` : '';
    });
  }

  // ranks draws the time of the path that fills the graph, by rank.
  ranks(a) {
    const {app} = this;
    const mean = a.top.by.map((v, k) => v / a.count[k]);
    const box = {x: 70, y: 8, w: 420, h: 120};
    const w = box.w / mean.length;
    const cls = a.top.region >= 0 ? app.meta.regions[a.top.region].class : 0;
    const draw = (ctx, c) => {
      columns(ctx, c, box, Math.max(1, ...mean), (v) => app.clock.duration(v), a.first, [{fill: c.cls[cls], of: (k) => mean[k]}]);
    };
    const pick = (x, _, click) => {
      const k = Math.floor((x - box.x) / w);
      if (!(k >= 0 && k < mean.length)) return '';
      if (click) app.findRank(a.first[k]);
      return `rank ${a.first[k]}${a.count[k] > 1 ? '–' + (a.first[k] + a.count[k] - 1) : ''}: ${app.clock.duration(mean[k])}`;
    };
    return el('div', {}, el('h3', {}, `${a.top.name} by rank` + (a.merged > 1 ? `, means of ${a.merged}` : '')),
      chart(box.x + box.w + 20, 150, `Time of ${a.top.name} by rank; the column most of the table has the largest`, draw, pick));
  }
}
