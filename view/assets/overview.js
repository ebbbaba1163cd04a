import {$, fit} from './dom.js';
import {colours} from './theme.js';

// The strip above the timeline: the whole run, and a brush that is the visible window.

const grip = 7;

export class Overview {
  constructor(app) {
    this.app = app;
    this.canvas = $('overview');
    this.from = null;
    const c = this.canvas;
    c.addEventListener('pointerdown', (e) => this.down(e));
    c.addEventListener('pointermove', (e) => this.move(e));
    c.addEventListener('pointerup', () => { this.from = null; });
    c.addEventListener('pointercancel', () => { this.from = null; });
    c.addEventListener('keydown', (e) => this.key(e));
  }

  // level is the finest group of which all rows are in one tile.
  level() {
    const {groups, locations} = this.app.meta;
    let f = 0;
    while (f + 1 < groups.length && locations / groups[f] > 64) f++;
    return f;
  }

  draw() {
    const {ctx, width, height} = fit(this.canvas);
    const {app} = this;
    const c = colours();
    this.width = width;
    ctx.fillStyle = c.bg;
    ctx.fillRect(0, 0, width, height);
    const shown = app.painter.waits;
    app.painter.waits = false;
    const used = app.painter.paint(ctx, {t: app.state.span, rows: [0, app.meta.locations], level: this.level(), plain: true},
      {x: 0, y: 2, w: width, h: height - 4});
    app.painter.waits = shown;
    app.tiles.wantToo(used.wanted);
    const a = this.x(app.state.t[0]);
    const b = Math.max(a + 2, this.x(app.state.t[1]));
    ctx.fillStyle = c.bg;
    ctx.globalAlpha = 0.62;
    ctx.fillRect(0, 0, a, height);
    ctx.fillRect(b, 0, width - b, height);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = c.bg;
    ctx.lineWidth = 4;
    ctx.strokeRect(a, 1, b - a, height - 2);
    ctx.strokeStyle = c.select;
    ctx.lineWidth = 2;
    ctx.strokeRect(a, 1, b - a, height - 2);
    const part = (app.state.t[0] - app.state.span[0]) / (app.state.span[1] - app.state.span[0]);
    this.canvas.setAttribute('aria-valuenow', String(Math.round(part * 100)));
    this.canvas.setAttribute('aria-valuetext', app.windowText());
  }

  x(t) {
    const [a, b] = this.app.state.span;
    return (t - a) / (b - a) * this.width;
  }

  time(x) {
    const [a, b] = this.app.state.span;
    return a + Math.max(0, Math.min(1, x / this.width)) * (b - a);
  }

  down(e) {
    this.canvas.setPointerCapture(e.pointerId);
    const t = this.app.state.t.slice();
    const a = this.x(t[0]);
    const b = this.x(t[1]);
    const whole = b - a > this.width * 0.98;
    let kind = 'new';
    if (!whole && Math.abs(e.offsetX - a) < grip) kind = 'left';
    else if (!whole && Math.abs(e.offsetX - b) < grip) kind = 'right';
    else if (!whole && e.offsetX > a && e.offsetX < b) kind = 'move';
    this.from = {x: e.offsetX, t, kind};
  }

  move(e) {
    if (!this.from) return;
    const {state} = this.app;
    const at = this.time(e.offsetX);
    const start = this.time(this.from.x);
    const [a, b] = this.from.t;
    if (this.from.kind === 'move') {
      state.t = [a, b];
      state.panTime((at - start) / (b - a));
      return;
    }
    const range = {new: [start, at], left: [at, b], right: [a, at]}[this.from.kind].sort((p, q) => p - q);
    if (this.from.kind === 'new' && Math.abs(e.offsetX - this.from.x) < 4) return;
    state.change({t: range}, 'brush');
  }

  key(e) {
    const {state} = this.app;
    const act = {ArrowLeft: () => state.panTime(-0.1), ArrowRight: () => state.panTime(0.1), ArrowUp: () => state.zoomTime(1 / 1.4),
      ArrowDown: () => state.zoomTime(1.4), Home: () => state.panTime(-1e9), End: () => state.panTime(1e9)}[e.key];
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  }
}
