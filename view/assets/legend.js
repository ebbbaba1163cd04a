import {$, el} from './dom.js';

// The legend below the timeline: what the colours mean. Every entry is a button that hides its colour or lane, and shows it again. The
// function that alone has its colour is an entry too.

export class Legend {
  constructor(app) {
    const {answer, meta, state} = app;
    this.app = app;
    this.buttons = []; // [button, field of the state, letter]
    const there = new Set([0, ...meta.regions.map((r) => r.class), ...(app.second?.meta.regions || []).map((r) => r.class)]); // with own code
    const items = answer.classes.map((name, s) => [name, 's' + s, 'hide', s.toString(36)]).filter(([name], s) => name && there.has(s));
    items.splice(1, 0, ['no function recorded', 'gap', 'hide', 'g']);
    if (meta.waits) items.push(['waiting', 'wait', 'off', 'w']);
    if (meta.rows) items.push(['messages', 'message', 'off', 'm']);
    if (meta.files) items.push(['files', 's6', 'off', 'f']);
    if (meta.critical) items.push(['critical path', 'critical', 'off', 'c']);
    this.choice = el('select', {'aria-label': 'Which messages', onchange: (e) => state.change({msg: e.target.value})},
      ...[['', 'all'], ['late', 'waited for'], ['row', 'of the selected row']].map(([v, text]) => el('option', {value: v}, text)));
    const list = items.map(([name, swatch, field, letter]) => {
      const b = el('button', {title: 'Show or hide; with Shift: all others', onclick: (e) => this.toggle(field, letter, e.shiftKey)},
        el('span', {class: 'swatch ' + swatch, 'aria-hidden': 'true'}), name);
      this.buttons.push([b, field, letter]);
      return el('li', {}, b, letter === 'm' && field === 'off' ? this.choice : null);
    });
    this.only = el('li', {hidden: true}, el('button', {title: 'Give all functions their colours again', onclick: () => state.change({fn: null})}, ''));
    $('legend').replaceChildren(...list, this.only);
  }

  toggle(field, letter, others) {
    const {state} = this.app;
    if (!others || field !== 'hide') {
      state.toggle(field, letter);
      return;
    }
    const rest = this.buttons.filter(([, f, l]) => f === 'hide' && l !== letter).map(([, , l]) => l).join('');
    state.change({hide: state.hide === rest ? '' : rest});
  }

  // follow updates the legend from the state.
  follow() {
    const {state, meta} = this.app;
    for (const [b, field, letter] of this.buttons) b.setAttribute('aria-pressed', state[field].includes(letter) ? 'false' : 'true');
    this.choice.value = state.msg;
    this.choice.hidden = !state.lane('m');
    const region = state.fn === null ? null : meta.regions[state.fn];
    this.only.hidden = !region;
    if (region) this.only.firstChild.textContent = `only ${region.name} ✕`;
  }
}
