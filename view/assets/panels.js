import {$, el, replace} from './dom.js';
import {Failure} from './source.js';
import {asked} from './state.js';

// The panels below the timeline. A panel has key() for what it depends on, and show(box, keep), which asks and fills it.
// All follow the window, unless it is locked: then they stay with the window of that moment.

export class Panels {
  constructor(app, list) {
    this.app = app;
    this.list = list; // [{id, name, key, show}]
    this.shown = '';
    this.timer = 0;
    this.locked = null;
    $('lock').addEventListener('change', (e) => {
      this.locked = e.target.checked ? {t: app.state.t.slice(), rows: app.state.rows.slice()} : null;
      this.follow();
    });
    const bar = $('tabs');
    list.forEach((p, k) => bar.append(el('button', {role: 'tab', id: 'tab-' + p.id, 'aria-controls': 'panel', title: `${p.name} (${k + 1})`,
      onclick: () => app.state.change({tab: p.id})}, p.name)));
    bar.addEventListener('keydown', (e) => this.arrow(e));
  }

  // window is what panels show: the visible one, or the locked one.
  window() {
    return this.locked || this.app.state;
  }

  span() {
    return asked(this.window().t, this.app.state.span);
  }

  async ranks() {
    return this.app.order.ranks(this.window().rows);
  }

  current() {
    const id = this.app.state.tab || (this.app.state.sel ? 'selection' : 'statistics');
    return this.list.find((p) => p.id === id) || this.list[0];
  }

  arrow(e) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (!step) return;
    e.preventDefault();
    e.stopPropagation();
    const k = this.list.indexOf(this.current());
    const next = this.list[(k + step + this.list.length) % this.list.length];
    this.app.state.change({tab: next.id});
    $('tab-' + next.id).focus();
  }

  // follow shows what belongs to the window once it rests.
  follow(now) {
    const p = this.current();
    for (const q of this.list) {
      const tab = $('tab-' + q.id);
      tab.setAttribute('aria-selected', q === p ? 'true' : 'false');
      tab.tabIndex = q === p ? 0 : -1;
    }
    $('panel').setAttribute('aria-labelledby', 'tab-' + p.id);
    if (this.timer) clearTimeout(this.timer);
    else this.app.busy.start();
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.show(p).finally(() => this.app.busy.end());
    }, now ? 0 : this.app.pause);
  }

  async show(p) {
    const key = p.id + ' ' + p.key();
    if (key === this.shown) return;
    const moved = !this.shown.startsWith(p.id + ' ');
    this.shown = key;
    const box = $('panel');
    if (moved) {
      replace(box, el('p', {class: 'note'}, 'asking …'));
      box.scrollTop = 0;
    }
    try {
      const nodes = await p.show();
      if (this.shown === key) replace(box, ...nodes);
    } catch (e) {
      if (this.shown !== key) return;
      if (!(e instanceof Failure)) console.error(e);
      replace(box, el('p', {class: 'note'}, e instanceof Failure ? e.text() : 'This panel failed: ' + e.message));
      if (e.status === 0) this.shown = ''; // the server may come back
    }
  }

  // again shows the panel anew, for example in other colours.
  again() {
    this.shown = '';
    this.follow(true);
  }
}
