import {cut} from './dom.js';
import {colours} from './theme.js';

// Counters as curves: a lane above the rows for the chosen counter, of the selected row, and in the rows of recorders of metrics.

const mostCurves = 64; // curves at a time
const gutterText = 100; // pixels for names

export const writeCounter = (x) => new Intl.NumberFormat(undefined, {notation: 'compact', maximumSignificantDigits: 4}).format(x);

// rangeOf is the least and the largest reading of an answer of api/counter, null without readings; low begins at 0 where that shows enough.
export function rangeOf(v) {
  const low = Math.min(...v.min.filter((x) => x !== null));
  const high = Math.max(...v.max.filter((x) => x !== null));
  return high < low ? null : {low, high, base: low >= 0 && low < high * 0.6 ? 0 : low, top: high > low ? high : low + 1};
}

// curve draws an answer: x and y are the pixels of a time and of a value.
export function curve(ctx, v, x, y) {
  const c = colours();
  ctx.fillStyle = ctx.strokeStyle = c.cls[2];
  ctx.globalAlpha = 0.35;
  v.min.forEach((m, k) => {
    if (m === null) return;
    const from = x(v.begin + k * v.bin_ticks);
    ctx.fillRect(from, y(v.max[k]) - 0.5, Math.max(1, x(v.begin + (k + 1) * v.bin_ticks) - from), y(m) - y(v.max[k]) + 1);
  });
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1.6;
  ctx.beginPath();
  let on = false;
  v.last.forEach((m, k) => {
    if (m === null) return;
    ctx[on ? 'lineTo' : 'moveTo'](x(v.begin + (k + 0.5) * v.bin_ticks), y(m));
    on = true;
  });
  ctx.stroke();
}

export class Counters {
  constructor(app) {
    this.app = app;
  }

  // lane is the height of the lane of the chosen counter.
  lane() {
    return this.app.meta.counters[this.app.state.counter] ? 34 : 0;
  }

  // row is the row whose readings of a counter are shown: the selected one, else that of the recorder which reads it, else the first.
  row(metric) {
    const {app} = this;
    return app.state.sel ? app.here() : app.names.recorder(metric) ?? app.here();
  }

  // wanted are the curves of the window: [counter, location].
  wanted() {
    const {app} = this;
    const list = this.lane() ? [[app.state.counter, this.row(app.state.counter)]] : [];
    for (let k = Math.max(0, Math.floor(app.state.rows[0])); k < app.state.rows[1] && app.timeline.used?.group === 1 && !app.order.groups; k++) {
      const l = app.names.of(app.order.at(k));
      if (l && l.counter >= 0 && list.length < mostCurves) list.push([l.counter, l.location]);
    }
    return list;
  }

  // ask gets these curves, and forgets others.
  ask(span) {
    const {overlays} = this.app;
    const keys = this.wanted().map(([metric, loc]) => [`counter ${metric} ${loc}`, {metric, loc, t: span, bins: 512}]);
    for (const name of Object.keys(overlays)) {
      if (name.startsWith('counter ') && !keys.some(([key]) => key === name)) delete overlays[name];
    }
    return keys.map(([key, params]) => overlays.one(key, 'counter', params));
  }

  draw(ctx, laneY) {
    const {app} = this;
    const {box} = app.timeline;
    for (const [metric, loc] of this.wanted()) {
      const v = app.overlays[`counter ${metric} ${loc}`];
      const lane = app.names.of(loc)?.counter !== metric;
      const [y0, h] = lane ? [laneY, this.lane()] : [app.timeline.top(loc), app.timeline.rowHeight()];
      const r = v && rangeOf(v);
      ctx.fillStyle = colours().dim;
      ctx.textBaseline = 'middle';
      if (lane) {
        ctx.fillText(cut(ctx, app.meta.counters[metric].name, gutterText), 8, y0 + 10);
        ctx.fillText(cut(ctx, app.names.label(loc) + (r ? ', ' + writeCounter(r.high) : ': none'), gutterText), 8, y0 + 24);
      }
      if (!r || y0 === undefined) continue;
      ctx.save();
      ctx.beginPath();
      ctx.rect(box.x, lane ? y0 : Math.max(y0, box.y), box.w, h);
      ctx.clip();
      curve(ctx, v, (t) => app.timeline.x(t), (value) => y0 + h - 2 - (value - r.base) / (r.top - r.base) * (h - 4));
      ctx.restore();
    }
  }

  // text is what a row of metrics reads at a time, "" for other rows.
  text(t, row) {
    const {app} = this;
    const metric = app.names.of(row)?.counter ?? -1;
    const v = metric >= 0 && app.overlays[`counter ${metric} ${row}`];
    if (!v) return '';
    const k = Math.floor((t - v.begin) / v.bin_ticks);
    const unit = app.meta.counters[metric].unit;
    const read = v.mean[k] === null || v.mean[k] === undefined ? 'no reading here' : `${writeCounter(v.mean[k])} ${unit === '#' ? '' : unit}`;
    return `${app.meta.counters[metric].name}: ${read}`;
  }
}
