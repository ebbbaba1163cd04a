import {count} from './format.js';
import {colours} from './theme.js';

// Messages over the timeline: arrows, or how dense they are where they are too many.

export class Arrows {
  constructor(app, timeline) {
    this.app = app;
    this.timeline = timeline;
    this.height = 34; // of the lane of density, in pixels
    this.drawn = []; // messages that are drawn: [x0, y0, x1, y1, number in the list]
    this.hover = -1; // the one under the pointer
  }

  // draw draws the messages that the choice in the legend shows.
  draw(ctx) {
    const {app, timeline} = this;
    this.drawn = [];
    const m = app.overlays.messages;
    if (!m) return;
    if (m.truncated) {
      this.density(ctx, m);
      return;
    }
    const c = colours();
    ctx.save();
    ctx.beginPath();
    ctx.rect(timeline.box.x, timeline.box.y, timeline.box.w, timeline.box.h);
    ctx.clip();
    const l = m.list;
    const {msg, sel} = app.state;
    for (let k = 0; k < l.from.length; k++) {
      if (msg === 'late' && !(l.wait[k] > 0) || msg === 'row' && sel && l.from[k] !== sel.row && l.to[k] !== sel.row) continue;
      const [y0, y1] = [timeline.middle(l.from[k]), timeline.middle(l.to[k])];
      if (y0 !== undefined && y1 !== undefined) this.drawn.push([timeline.x(l.send_t[k]), y0, timeline.x(l.recv_t[k]), y1, k]);
    }
    ctx.lineWidth = 1;
    ctx.globalAlpha = this.drawn.length > 500 ? 0.5 : 0.85;
    for (const late of [false, true]) {
      ctx.strokeStyle = late ? c.wait : c.arrow;
      ctx.beginPath();
      for (const a of this.drawn) {
        if (l.wait[a[4]] > 0 === late) arrow(ctx, ...a);
      }
      ctx.stroke();
    }
    if (m.more) {
      const text = `${count(l.from.length)} of ${count(m.total)} messages, those waited for longest`;
      ctx.globalAlpha = 1;
      ctx.fillStyle = c.bg;
      ctx.fillRect(timeline.box.x + 4, timeline.box.y + 4, ctx.measureText(text).width + 8, 18);
      ctx.fillStyle = c.text;
      ctx.textBaseline = 'middle';
      ctx.fillText(text, timeline.box.x + 8, timeline.box.y + 13);
    }
    const over = this.drawn.find((a) => a[4] === this.hover);
    if (over) {
      ctx.globalAlpha = 1;
      for (const [width, colour] of [[5, c.bg], [2.5, c.select]]) {
        ctx.lineWidth = width;
        ctx.strokeStyle = colour;
        ctx.beginPath();
        arrow(ctx, ...over);
        ctx.stroke();
      }
    }
    ctx.restore();
  }

  // at is the number of the message that is drawn at a point, -1 for none.
  at(x, y) {
    let best = [3, -1]; // pixels
    for (const [x0, y0, x1, y1, k] of this.drawn) {
      const dx = x1 - x0;
      const dy = y1 - y0;
      const part = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
      const d = Math.hypot(x - x0 - part * dx, y - y0 - part * dy);
      if (d < best[0]) best = [d, k];
    }
    return best[1];
  }

  // density shows how many messages begin in each part of the window, where they are too many for arrows.
  density(ctx, m) {
    const {timeline} = this;
    const c = colours();
    const y = timeline.box.y + timeline.box.h + (timeline.lower ? timeline.lower.h + 18 : 0);
    const most = Math.max(1, ...m.density.count);
    ctx.fillStyle = c.bg;
    ctx.fillRect(0, y, timeline.box.x + timeline.box.w, this.height);
    ctx.fillStyle = c.line;
    ctx.fillRect(0, y, timeline.box.x + timeline.box.w, 1);
    ctx.fillStyle = c.dim;
    ctx.textBaseline = 'middle';
    ctx.fillText('sends, receives', 8, y + 11);
    ctx.fillText(count(m.total), 8, y + 25);
    ctx.fillStyle = c.cls[1];
    ctx.save();
    ctx.beginPath();
    ctx.rect(timeline.box.x, y, timeline.box.w, this.height);
    ctx.clip();
    m.density.count.forEach((n, k) => {
      const from = timeline.x(m.begin + k * m.density.bin_ticks);
      const to = timeline.x(m.begin + (k + 1) * m.density.bin_ticks);
      const h = n / most * (this.height - 5);
      ctx.fillRect(from, y + this.height - h, Math.max(1, to - from - 0.5), h);
    });
    ctx.restore();
  }
}

// arrow adds a line with a head to the path.
export function arrow(ctx, x0, y0, x1, y1) {
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  const d = Math.atan2(y1 - y0, x1 - x0);
  for (const turn of [2.6, -2.6]) {
    ctx.moveTo(x1, y1);
    ctx.lineTo(x1 + 7 * Math.cos(d + turn), y1 + 7 * Math.sin(d + turn));
  }
}
