import {$, cut, fit, say} from './dom.js';
import {arrow, Arrows} from './arrows.js';
import {cellOf} from './cell.js';
import {colours, hatch} from './theme.js';

// The timeline: axis and lanes on top, rows of processes below, overlays on them. It draws; pointer.js moves it.

const gutter = 112;
const axisHeight = 22;
const laneHeight = 15;
const criticalHeight = 13;
const leastStay = 4; // pixels that the critical path stays in a row, to be drawn there
const font = '12px system-ui, "DejaVu Sans", sans-serif';

export class Timeline {
  constructor(app) {
    this.app = app;
    this.canvas = $('timeline');
    this.box = {x: gutter, y: axisHeight, w: 1, h: 1};
    this.used = null;
    this.ruler = null; // [from] or [from, to]
    this.drag = null; // [from, to] while the pointer draws a window
    this.arrows = new Arrows(app, this);
  }

  x(t) {
    const {t: [a, b]} = this.app.state;
    return this.box.x + (t - a) / (b - a) * this.box.w;
  }

  // y of a place.
  y(row) {
    const {rows: [a, b]} = this.app.state;
    return this.box.y + (row - a) / (b - a) * this.box.h;
  }

  // top and middle are those of the row that shows a location; undefined if no row does.
  top(location) {
    const {group} = this.used;
    const place = group === 1 ? this.app.order.of(location) : Math.floor(location / group) * group;
    return place < 0 ? undefined : this.y(place);
  }

  middle(location) {
    const y = this.top(location);
    return y === undefined ? y : y + this.rowHeight() * this.used.group / 2;
  }

  timeAt(x) {
    const {t: [a, b]} = this.app.state;
    return a + (x - this.box.x) / this.box.w * (b - a);
  }

  rowAt(y) {
    const {rows: [a, b]} = this.app.state;
    return a + (y - this.box.y) / this.box.h * (b - a);
  }

  rowHeight() {
    return this.box.h / (this.app.state.rows[1] - this.app.state.rows[0]);
  }

  draw() {
    const {ctx, width, height} = fit(this.canvas);
    const {app} = this;
    const c = colours();
    this.layout(width, height);
    ctx.fillStyle = c.bg;
    ctx.fillRect(0, 0, width, height);
    ctx.font = font;
    const {order} = app;
    for (const p of [app.painter, order.folded]) p?.follow(app.state);
    this.used = (order.folded || app.painter).paint(ctx, {t: app.state.t, rows: app.state.rows, order: order.folded ? null : order.list}, this.box);
    this.used.tiles.want(this.used.wanted);
    if (this.used.group === 1 && !order.groups) this.absent(ctx);
    this.labels(ctx, this.box, this.used.group, app.names, app.state.rows, order);
    if (app.second) this.drawSecond(ctx);
    this.axis(ctx, width);
    this.intervals(ctx);
    app.counters.draw(ctx, this.counterY);
    app.files.draw(ctx, this.filesY);
    if (app.state.lane('c')) this.critical(ctx);
    if (app.state.lane('m')) this.arrows.draw(ctx);
    else this.arrows.drawn = [];
    this.marks(ctx, height);
    this.selection(ctx);
  }

  // layout shares out the height: lanes that have nothing to show take none.
  layout(width, height) {
    const {app} = this;
    const depth = intervalLevels(app.overlays.executions);
    this.laneY = axisHeight;
    this.counterY = axisHeight + depth * laneHeight;
    this.filesY = this.counterY + app.counters.lane();
    this.criticalY = this.filesY + app.files.lane();
    const critical = app.meta.critical && app.state.lane('c') ? criticalHeight + 3 : 0;
    const m = app.overlays.messages;
    this.density = app.state.lane('m') && m && m.truncated ? this.arrows.height : 0;
    const top = this.criticalY + critical;
    let rest = Math.max(20, height - top - this.density);
    this.lower = null;
    if (app.second) {
      const head = 18;
      const h = Math.max(10, (rest - 2 * head) / 2);
      this.headY = top;
      this.box = {x: gutter, y: top + head, w: Math.max(10, width - gutter), h};
      this.lower = {x: gutter, y: top + 2 * head + h, w: this.box.w, h};
      return;
    }
    this.box = {x: gutter, y: top, w: Math.max(10, width - gutter), h: rest};
  }

  // drawSecond shows the second run below, on the same clock from where both are aligned.
  drawSecond(ctx) {
    const {app} = this;
    const p = app.second;
    const {groups} = app.order; // which the second run does not have
    const order = groups ? undefined : app.order.list?.filter((l) => l < p.meta.locations);
    const rows = groups ? [0, p.meta.locations] : app.state.rows.map((r) => Math.min(r, order ? order.length : p.meta.locations));
    const view = {t: app.state.t.map(p.fromFirst), rows, order};
    const name = app.meta.regions[app.state.fn]?.name;
    p.painter.follow({off: app.state.off, hide: app.state.hide, fn: name === undefined ? null : p.meta.regions.findIndex((r) => r.name === name)});
    const used = p.painter.paint(ctx, view, this.lower);
    p.tiles.want(used.wanted);
    this.labels(ctx, this.lower, used.group, p.names, view.rows, {
      of: (l) => (order ? order.indexOf(l) : l), label: (r) => p.names.label(order ? order[r] : r), list: order});
    ctx.fillStyle = colours().text;
    ctx.textBaseline = 'middle';
    ctx.fillText(`${p.words[0]}: ${app.meta.name}`, gutter + 4, this.headY + 10);
    ctx.fillText(`${p.words[1]}: ${p.meta.name}`, gutter + 4, this.lower.y - 8);
  }

  labels(ctx, box, group, names, rows, order) {
    const height = box.h / (rows[1] - rows[0]) * group;
    const every = Math.max(1, Math.ceil(15 / height));
    const first = Math.floor(rows[0] / group / every) * every;
    const {sel} = this.app.state;
    const selected = !sel ? -1 : group === 1 ? order.of(sel.row) : Math.floor(sel.row / group);
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, box.y, gutter, box.h);
    ctx.clip();
    ctx.textBaseline = 'middle';
    for (let r = first; r * group < Math.min(rows[1], order.list ? order.list.length : names.total); r += every) {
      const y = box.y + (r * group - rows[0]) * height / group;
      const text = group === 1 ? order.label(r) : names.short(r * group, (r + 1) * group);
      ctx.fillStyle = r === selected ? colours().accent : every > 1 ? colours().dim : colours().text;
      const middle = Math.min(box.y + box.h - 7, Math.max(box.y + 7, y + Math.min(height, 400) / 2));
      ctx.fillText(cut(ctx, text, gutter - 12), 8, middle);
    }
    if (selected >= 0) {
      ctx.fillStyle = colours().accent;
      ctx.fillRect(0, box.y + (selected * group - rows[0]) * height / group, 4, Math.max(2, height));
    }
    ctx.restore();
  }

  axis(ctx, width) {
    const {app} = this;
    const c = colours();
    const [a, b] = app.state.t;
    const marks = app.clock.marks(a, b, Math.max(2, Math.floor(this.box.w / 110)));
    ctx.textBaseline = 'middle';
    ctx.fillStyle = c.line;
    ctx.fillRect(0, axisHeight - 1, width, 1);
    for (const t of marks.at) {
      const x = this.x(t);
      ctx.fillStyle = c.line;
      ctx.fillRect(Math.round(x), axisHeight - 7, 1, 7);
      const text = app.clock.at(t, marks.step);
      const w = ctx.measureText(text).width;
      if (x + 3 + w > width) continue;
      ctx.fillStyle = c.dim;
      ctx.fillText(text, x + 4, axisHeight / 2);
    }
    ctx.fillStyle = c.dim;
    ctx.fillText(app.clock.resolution ? 'time' : 'ticks', 8, axisHeight / 2);
  }

  // intervals are the executions on the selected row, or the first one.
  intervals(ctx) {
    const e = this.app.overlays.executions;
    const levels = intervalLevels(e);
    if (!levels) return;
    const c = colours();
    ctx.fillStyle = c.dim;
    ctx.textBaseline = 'middle';
    ctx.fillText(cut(ctx, 'intervals ' + this.app.names.label(e.row), gutter - 12), 8, this.laneY + laneHeight / 2);
    ctx.save();
    ctx.beginPath();
    ctx.rect(this.box.x, this.laneY, this.box.w, levels * laneHeight);
    ctx.clip();
    for (const x of e.placed) {
      if (x.level >= levels) continue;
      const from = Math.max(this.x(x.begin), this.box.x - 2);
      const to = Math.min(this.x(x.end), this.box.x + this.box.w + 2);
      if (to - from < 0.5) continue;
      const y = this.laneY + x.level * laneHeight;
      ctx.fillStyle = x.node % 2 ? c.lane : c.row;
      ctx.fillRect(from, y + 1, to - from, laneHeight - 2);
      ctx.fillStyle = c.edge;
      ctx.fillRect(from, y + 1, 1, laneHeight - 2);
      ctx.fillStyle = c.text;
      ctx.fillText(cut(ctx, `${x.label.replace(/\s+/g, ' ')} #${x.k}`, to - from - 6), from + 4, y + laneHeight / 2 + 0.5);
    }
    if (e.more) {
      const x = Math.max(this.box.x, this.x(e.list[e.list.length - 1].end)) + 8;
      ctx.fillStyle = c.dim;
      ctx.fillText(cut(ctx, 'there are more: zoom in', this.box.x + this.box.w - x), x, this.laneY + laneHeight / 2 + 0.5);
    }
    ctx.restore();
  }

  // absent writes into rows of processes what they are before their first event and after their last one.
  absent(ctx) {
    const {app, box} = this;
    if (this.rowHeight() < 12) return;
    const [t0, t1] = app.state.t;
    ctx.fillStyle = colours().dim;
    ctx.textBaseline = 'middle';
    for (let row = Math.max(0, Math.floor(app.state.rows[0])); row < Math.min(app.state.total, app.state.rows[1]); row++) {
      const l = app.names.of(app.order.at(row));
      if (!l?.last) continue;
      for (const [from, to, word] of [[t0, Math.min(l.first, t1), 'before'], [Math.max(l.last, t0), t1, 'after']]) {
        const x = Math.max(box.x, this.x(from)) + 4;
        const fits = [app.word(word), word].find((text) => ctx.measureText(text).width <= this.x(to) - x - 4);
        if (to > from && fits) ctx.fillText(fits, x, this.y(row + 0.5));
      }
    }
  }

  // critical draws the lane of the path, and the path as a line over the rows it runs through. Both have one value for each
  // pixel: what the path does there for most of the time, and where. Stays of less than a few pixels are left to the lane.
  critical(ctx) {
    const {app} = this;
    const cr = app.overlays.critical;
    if (!app.meta.critical) return;
    const c = colours();
    ctx.fillStyle = c.dim;
    ctx.textBaseline = 'middle';
    ctx.fillText(cr?.truncated ? 'critical path ≈' : 'critical path', 8, this.criticalY + criticalHeight / 2 + 2);
    if (!cr) return;
    const {x: left, w} = this.box;
    const group = this.used.group;
    const pixels = Array.from({length: Math.ceil(w)}, () => new Map()); // of a class and a row: time
    for (const p of cr.pieces) {
      const from = Math.max(0, this.x(p.begin) - left);
      const to = Math.min(w, this.x(p.end) - left);
      const cls = p.activity === 'cpu' ? 0 : app.meta.regions[p.region]?.class ?? 0;
      const row = p.activity === 'outside' ? -1 : Math.floor(p.location / group);
      for (let k = Math.floor(from); k < to; k++) {
        const key = row * 16 + cls;
        pixels[k].set(key, (pixels[k].get(key) || 0) + Math.min(to, k + 1) - Math.max(from, k));
      }
    }
    const runs = []; // [first pixel, pixel after the last one, class, row]
    pixels.forEach((m, k) => {
      if (m.size === 0) return;
      const [key] = [...m].reduce((a, b) => (b[1] > a[1] ? b : a));
      const cls = key & 15;
      ctx.fillStyle = key < 0 ? c.lane : app.painter.hide.includes(cls.toString(36)) ? c.lane : c.cls[cls];
      ctx.fillRect(left + k, this.criticalY + 2, 1, criticalHeight);
      const row = key >> 4;
      const last = runs[runs.length - 1];
      if (last && last[1] === k && last[2] === row) last[1] = k + 1;
      else runs.push([k, k + 1, row]);
    });
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, this.box.y, w, this.box.h);
    ctx.clip();
    const path = new Path2D();
    let before = null;
    for (const [from, to, row] of runs) {
      if (row < 0 || to - from < leastStay) continue;
      const y = this.top(row * group) + this.rowHeight() * group - 4;
      if (Number.isNaN(y)) continue;
      if (before !== null && from - before < 2) path.lineTo(left + from, y);
      else path.moveTo(left + from, y);
      path.lineTo(left + to, y);
      before = to;
    }
    for (const [width, colour] of [[4, c.bg], [2, c.critical]]) {
      ctx.lineWidth = width;
      ctx.strokeStyle = colour;
      ctx.stroke(path);
    }
    ctx.restore();
  }

  marks(ctx, height) {
    const {app} = this;
    const c = colours();
    ctx.save();
    ctx.beginPath();
    ctx.rect(this.box.x, 0, this.box.w, height);
    ctx.clip();
    ctx.fillStyle = c.mark;
    ctx.strokeStyle = c.mark;
    app.state.marks.forEach((m, k) => {
      const x = Math.round(this.x(m.t)) + 0.5;
      ctx.setLineDash([4, 3]);
      line(ctx, x, 0, x, height);
      ctx.setLineDash([]);
      const text = m.note || 'mark ' + (k + 1);
      ctx.fillStyle = c.bg;
      ctx.fillRect(x + 1, 1, ctx.measureText(text).width + 6, axisHeight - 3);
      ctx.fillStyle = c.mark;
      ctx.fillText(text, x + 4, axisHeight / 2);
    });
    if (this.ruler) this.drawRuler(ctx, height, c);
    if (this.drag) {
      const [a, b] = this.drag.map((t) => this.x(t)).sort((p, q) => p - q);
      ctx.fillStyle = c.select;
      ctx.globalAlpha = 0.22;
      ctx.fillRect(a, 0, b - a, height);
      ctx.globalAlpha = 1;
      ctx.strokeStyle = c.select;
      ctx.strokeRect(a + 0.5, 0.5, b - a, height - 1);
      ctx.fillStyle = c.text;
      ctx.fillText(app.clock.duration(Math.abs(this.drag[1] - this.drag[0])), b + 4, this.box.y + 10);
    }
    ctx.restore();
  }

  drawRuler(ctx, height, c) {
    const [a, b] = this.ruler;
    ctx.strokeStyle = ctx.fillStyle = c.accent;
    ctx.lineWidth = 1.5;
    line(ctx, this.x(a), 0, this.x(a), height);
    if (b === undefined) return;
    line(ctx, this.x(b), 0, this.x(b), height);
    const y = this.box.y + 16;
    line(ctx, this.x(a), y, this.x(b), y);
    const text = this.app.clock.duration(Math.abs(b - a));
    const x = Math.max(this.box.x + 4, (this.x(a) + this.x(b)) / 2 - ctx.measureText(text).width / 2);
    ctx.fillStyle = c.bg;
    ctx.fillRect(x - 4, y - 9, ctx.measureText(text).width + 8, 18);
    ctx.fillStyle = c.text;
    ctx.fillText(text, x, y);
  }

  // selection outlines the call, and draws its message and its waits.
  selection(ctx) {
    const {app} = this;
    const {sel} = app.state;
    if (!sel) return;
    const c = colours();
    const at = app.at;
    const y = this.top(sel.row);
    if (y === undefined) return;
    const h = Math.max(3, this.rowHeight() * this.used.group);
    ctx.save();
    ctx.beginPath();
    ctx.rect(this.box.x, this.box.y, this.box.w, this.box.h);
    ctx.clip();
    ctx.strokeStyle = c.select;
    ctx.fillStyle = c.select;
    line(ctx, this.x(sel.t), this.box.y, this.x(sel.t), this.box.y + this.box.h);
    if (at) {
      for (const w of at.waits) this.waitSpan(ctx, w, y, h);
      for (const m of at.messages) this.mate(ctx, m, c);
      const w = at.waits.find((x) => x.ended);
      if (w) this.link(ctx, w.ended, w, c);
      if (at.stack.length > 0) {
        const call = at.stack[0];
        const from = Math.max(this.x(call.begin), this.box.x - 5);
        const to = Math.min(Math.max(this.x(call.end), this.x(call.begin) + 3), this.box.x + this.box.w + 5);
        ctx.lineWidth = 4;
        ctx.strokeStyle = c.bg;
        ctx.strokeRect(from, y + 1, to - from, h - 2);
        ctx.lineWidth = 2;
        ctx.strokeStyle = c.select;
        ctx.strokeRect(from, y + 1, to - from, h - 2);
      }
    }
    ctx.restore();
  }

  waitSpan(ctx, w, y, h) {
    const from = this.x(w.begin);
    const to = this.x(w.end);
    const p = hatch(ctx);
    p.setTransform(new DOMMatrix());
    ctx.fillStyle = p;
    ctx.fillRect(from, y + 1, Math.max(2, to - from), h - 2);
  }

  mate(ctx, m, c) {
    if (!m.mate) return;
    const mine = {loc: m.location, t: m.kind === 'send' ? m.begin : m.end};
    const other = {loc: m.mate.location, t: m.kind === 'send' ? m.mate.end : m.mate.begin};
    const [from, to] = m.kind === 'send' ? [mine, other] : [other, mine];
    ctx.strokeStyle = c.bg;
    ctx.lineWidth = 5;
    this.arrowBetween(ctx, from, to);
    ctx.strokeStyle = c.select;
    ctx.lineWidth = 2.5;
    this.arrowBetween(ctx, from, to);
  }

  // link is the dotted line to a wait from what ended it.
  link(ctx, ended, w, c) {
    ctx.strokeStyle = c.wait;
    ctx.lineWidth = 2;
    ctx.setLineDash([3, 3]);
    this.arrowBetween(ctx, {loc: ended.location, t: ended.begin}, {loc: w.location, t: w.end});
    ctx.setLineDash([]);
  }

  arrowBetween(ctx, from, to) {
    const [y0, y1] = [this.middle(from.loc), this.middle(to.loc)];
    if (y0 === undefined || y1 === undefined) return;
    ctx.beginPath();
    arrow(ctx, this.x(from.t), y0, this.x(to.t), y1);
    ctx.stroke();
  }

  cellAt(t, row) {
    return {t, row, ...cellOf(this.app, this.used, t, this.app.order.row(row))};
  }

  // cell tells what the picture shows at a point: bin of the tile there, and the innermost call if calls are listed.
  cell(x, y) {
    const {app} = this;
    if (!this.used || x < this.box.x || y < this.box.y || y >= this.box.y + this.box.h) return null;
    const t = this.timeAt(x);
    const place = Math.floor(this.rowAt(y));
    return place < 0 || place >= app.state.total ? null : this.cellAt(t, app.order.at(place));
  }
}

// intervalLevels places executions on levels by their nesting, and says how many levels there are, 3 at most.
function intervalLevels(e) {
  if (!e || !e.list.length) return 0;
  if (!e.placed) {
    const open = [];
    e.placed = [];
    for (const x of e.list.slice().sort((a, b) => a.begin - b.begin || b.end - a.end)) {
      while (open.length && open[open.length - 1] <= x.begin) open.pop();
      e.placed.push({...x, level: open.length});
      open.push(x.end);
    }
    // The whole program is left out: all of the window is in it.
    const inner = e.placed.filter((x) => x.node !== 0);
    const least = Math.min(...inner.map((x) => x.level));
    e.placed = inner.map((x) => ({...x, level: x.level - least}));
    e.levels = inner.length ? Math.min(3, 1 + Math.max(...e.placed.map((x) => x.level))) : 0;
  }
  return e.levels;
}

function line(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

// speakWindow says what is visible.
export function speakWindow(app) {
  say('Showing ' + app.windowText());
}
