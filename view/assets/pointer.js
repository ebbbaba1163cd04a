import {describe, describeMessage} from './cell.js';
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
    return state.sel ? this.app.order.of(state.sel.row) + 0.5 : undefined;
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
    this.app.keyed = false;
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
      const place = Math.floor(timeline.rowAt(e.offsetY));
      const row = this.app.order.at(place);
      if (this.app.order.groups?.[place]) this.app.order.unfold(place);
      else if (place >= 0 && place < state.total) this.app.pick({row, t: state.sel ? state.sel.t : (state.t[0] + state.t[1]) / 2});
      return;
    }
    const l = this.app.overlays.messages?.list;
    const k = timeline.arrows.at(e.offsetX, e.offsetY);
    if (k >= 0) {
      this.app.pick({row: l.from[k], t: l.send_t[k], n: l.send_call[k]});
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
    this.tip();
  }

  hide() {
    $('tip').hidden = true;
  }

  wheel(e) {
    e.preventDefault();
    const {state, timeline} = this.app;
    const unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    const dy = e.deltaY * unit;
    if (e.ctrlKey || e.metaKey) state.zoomTime(Math.exp(Math.max(-1, Math.min(1, dy / 250))), timeline.timeAt(e.offsetX));
    else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      state.panTime((e.shiftKey ? dy : e.deltaX * unit) / timeline.box.w);
    } else state.panRows(dy / timeline.rowHeight());
  }

  // tip tells what is under the pointer, or, where the keyboard moved it, what is selected. It is drawn again with the timeline.
  tip() {
    const {app} = this;
    const {timeline} = app;
    const {sel} = app.state;
    const keys = sel && app.keyed && timeline.used?.group === 1 ? {x: timeline.x(sel.t), y: timeline.middle(sel.row) ?? -1} : null;
    const at = keys || this.at;
    const k = at && at === this.at && !this.from ? timeline.arrows.at(at.x, at.y) : -1;
    if (k !== timeline.arrows.hover) {
      timeline.arrows.hover = k;
      app.schedule();
    }
    const c = !at || this.from ? null : at === keys ? timeline.cellAt(sel.t, sel.row) : timeline.cell(at.x, at.y);
    const tip = $('tip');
    const file = !c && at && !this.from ? app.files.text(at.x, at.y) : '';
    tip.hidden = !c && k < 0 && !file || app.state.table;
    if (tip.hidden) return;
    tip.textContent = file || (k >= 0 ? describeMessage(app, k) : describe(app, c));
    const stage = $('stage').getBoundingClientRect();
    const left = at.x + 16 + tip.offsetWidth > stage.width ? at.x - tip.offsetWidth - 10 : at.x + 16;
    const top = Math.min(at.y + 18, stage.height - tip.offsetHeight - 4);
    tip.style.left = Math.max(0, left) + 'px';
    tip.style.top = Math.max(0, top) + 'px';
  }
}
