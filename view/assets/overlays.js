import {asked} from './state.js';

// What is drawn above the tiles and follows the window: messages, critical path, executions of intervals. Each is asked for when the window
// rests. The last answer stays until the next one comes.

export class Overlays {
  constructor(app) {
    this.app = app;
    this.messages = null;
    this.critical = null;
    this.executions = null;
    this.asked = {};
    this.timer = 0;
  }

  // follow asks for what belongs to the window once it rests.
  follow() {
    if (this.timer) clearTimeout(this.timer);
    else this.app.busy.start();
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.all().finally(() => this.app.busy.end());
    }, this.app.pause);
  }

  span() {
    return asked(this.app.state.t, this.app.state.span);
  }

  async all() {
    const {app} = this;
    const meta = app.meta;
    if (!meta.rows) return;
    await app.names.sure(app.here());
    const ranks = await app.order.ranks(app.state.rows);
    const row = app.here();
    const jobs = [];
    const {msg, sel} = app.state;
    const of = msg === 'row' && sel ? (await app.names.sure(sel.row))?.process ?? ranks : ranks;
    if (app.state.lane('m')) jobs.push(this.one('messages', 'messages', {t: this.span(), ranks: of, max: 2000, only: msg === 'late' ? msg : null}));
    if (meta.files && app.state.lane('f')) jobs.push(this.one('files', 'files', {t: this.span(), ranks}));
    if (meta.critical && app.state.lane('c')) jobs.push(this.one('critical', 'critical', {t: this.span()}));
    if (meta.intervals > 1) jobs.push(this.one('executions', 'executions', {loc: row, t: this.span(), max: 400}));
    await Promise.all([...jobs, ...app.counters.ask(this.span())]);
  }

  // one asks for an overlay, unless the last question was the same. In a static file, the answer for the whole run serves every
  // window.
  async one(name, path, params) {
    if (this.app.source.static) params = path === 'executions' ? {loc: params.loc} : {};
    const key = JSON.stringify(params);
    if (this.asked[name] === key) return;
    this.asked[name] = key;
    try {
      const answer = await this.app.source.json(path, params);
      if (this.asked[name] === key) {
        this[name] = answer;
        answer.row = params.loc;
      }
    } catch (e) {
      this[name] = null;
      if (!this.app.source.static && e.status !== 422) this.app.failed(e);
      if (e.status === 0) this.asked[name] = '';
    }
    this.app.schedule();
  }
}
