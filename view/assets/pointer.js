import {describe} from './cell.js';
import {$} from './dom.js';

// Mouse and touch on the timeline: drag selects, click picks, wheel scrolls, Ctrl+wheel zooms, Shift+drag pans.

const least = 5; // pixels that are a drag

export class Pointer {
  constructor(app) {
    this.app = app;
    this.at = null; // {x, y} of the pointer over the canvas
    const c = app.timeline.canvas;
    c.addEventListener('pointerdown', (e) => this.down(e));
    c.addEventListener('pointermove', (e) => this.move(e));
    c.addEventListener('pointerup', (e) => this.up(e));
    c.addEventListener('pointercancel', () => this.stop());
    c.addEventListener('pointerleave', () => this.leave());
    c.addEventListener('wheel', (e) => this.wheel(e), {passive: false});
    c.addEventListener('dblclick', () => app.fitSelection());
  }

  // time under the pointer, undefined where it is not over the timeline: zooming then keeps the middle.
  time() {
    const {timeline, state} = this.app;
    if (this.at && this.at.x >= timeline.box.x) return timeline.timeAt(this.at.x);
    const {sel} = state;
    return sel && sel.t >= state.t[0] && sel.t <= state.t[1] ? sel.t : undefined;
  }

  row() {
    const {timeline, state} = this.app;
    if (this.at && this.at.y >= timeline.box.y) return timeline.rowAt(this.at.y);
    return state.sel ? state.sel.row + 0.5 : undefined;
  }

  down(e) {
    if (e.button !== 0) return;
    this.app.timeline.canvas.focus();
    this.app.timeline.canvas.setPointerCapture(e.pointerId);
    this.from = {x: e.offsetX, y: e.offsetY, t: this.app.state.t.slice(), rows: this.app.state.rows.slice(), pan: e.shiftKey};
    this.hide();
  }

  move(e) {
    this.at = {x: e.offsetX, y: e.offsetY};
    if (!this.from) {
      this.tip();
      return;
    }
    const dx = e.offsetX - this.from.x;
    const dy = e.offsetY - this.from.y;
    if (this.from.pan) {
      const {state, timeline} = this.app;
      const dt = -dx / timeline.box.w * (this.from.t[1] - this.from.t[0]);
      state.t = this.from.t.slice();
      state.rows = this.from.rows.slice();
      state.panRows(-dy / timeline.box.h * (this.from.rows[1] - this.from.rows[0]));
      state.panTime(dt / (this.from.t[1] - this.from.t[0]));
      return;
    }
    if (Math.abs(dx) < least) return;
    const {timeline} = this.app;
    timeline.drag = [timeline.timeAt(Math.max(timeline.box.x, this.from.x)),
      timeline.timeAt(Math.max(timeline.box.x, e.offsetX))];
    this.app.schedule();
  }

  up(e) {
    const {timeline, state} = this.app;
    const from = this.from;
    const drag = timeline.drag;
    this.stop();
    if (!from || from.pan) return;
    if (drag) {
      state.change({t: drag.sort((a, b) => a - b)}, 'drag' + performance.now());
      return;
    }
    if (e.offsetX < timeline.box.x) {
      const row = Math.floor(timeline.rowAt(e.offsetY));
      if (row >= 0 && row < this.app.meta.locations) this.app.pick({row, t: state.sel ? state.sel.t : (state.t[0] + state.t[1]) / 2});
      return;
    }
    const c = timeline.cell(e.offsetX, e.offsetY);
    if (c) this.app.pick({row: c.row, t: c.t, n: c.call ? c.call.n : null});
  }

  stop() {
    this.from = null;
    this.app.timeline.drag = null;
    this.app.schedule();
  }

  leave() {
    this.at = null;
    this.hide();
  }

  hide() {
    $('tip').hidden = true;
  }

  wheel(e) {
    e.preventDefault();
    this.hide();
    const {state, timeline} = this.app;
    const unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    const dy = e.deltaY * unit;
    if (e.ctrlKey || e.metaKey) state.zoomTime(Math.exp(Math.max(-1, Math.min(1, dy / 250))), timeline.timeAt(e.offsetX));
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      state.panTime((e.shiftKey ? dy : e.deltaX * unit) / timeline.box.w);
    } else state.panRows(dy / timeline.rowHeight());
  }

  tip() {
    const c = this.app.timeline.cell(this.at.x, this.at.y);
    const tip = $('tip');
    if (!c) {
      tip.hidden = true;
      return;
    }
    tip.textContent = describe(this.app, c);
    tip.hidden = false;
    const stage = $('stage').getBoundingClientRect();
    const left = this.at.x + 16 + tip.offsetWidth > stage.width ? this.at.x - tip.offsetWidth - 10 : this.at.x + 16;
    const top = Math.min(this.at.y + 18, stage.height - tip.offsetHeight - 4);
    tip.style.left = Math.max(0, left) + 'px';
    tip.style.top = Math.max(0, top) + 'px';
  }
}
