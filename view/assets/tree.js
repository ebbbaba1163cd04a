import {$, el, replace} from './dom.js';

// The tree of ranks: groups of 16, of 16 groups, and so on, so that no level has more than 16 entries however many
// processes there are. Choosing a group makes it fill the timeline.

export class Tree {
  constructor(app) {
    this.app = app;
    this.root = $('ranks');
    this.root.addEventListener('keydown', (e) => this.key(e));
  }

  // build makes the tree anew, open to its first level. Entries are one flat list; their level says what is in what.
  build() {
    const total = this.app.meta.locations;
    let size = 1;
    while (size * 16 < total) size *= 16;
    const all = this.item(0, total, size, 1);
    replace(this.root, el('ul', {role: 'tree', 'aria-label': 'Ranks'}, all));
    this.fill(all);
    this.mark();
  }

  // item is a group of rows [from, to), whose parts have size rows.
  item(from, to, size, level) {
    const leaf = to - from <= 1;
    const name = level === 1 ? `all ${this.app.meta.processes === to ? 'ranks' : 'rows'}` : leaf ? this.app.names.label(from)
      : this.app.names.group(from, to);
    const e = el('li', {role: 'treeitem', tabindex: level === 1 ? '0' : '-1', 'aria-level': level, 'aria-expanded': leaf ? null : 'false',
      'aria-selected': 'false'}, el('div', {class: 'item indent' + Math.min(4, level - 1)},
      el('span', {class: 'twist', 'aria-hidden': 'true'}, leaf ? '' : '▸'), el('span', {}, name)));
    e.group = {from, to, size, level, leaf};
    e.firstChild.addEventListener('click', (ev) => {
      this.focus(e);
      if (ev.target.classList.contains('twist')) this.toggle(e);
      else this.choose(e);
    });
    e.firstChild.addEventListener('dblclick', () => this.app.order.natural([from, to]));
    return e;
  }

  fill(e) {
    const {from, to, size, level} = e.group;
    const parts = [];
    for (let r = from; r < to; r += size) parts.push(this.item(r, Math.min(to, r + size), Math.max(1, size / 16), level + 1));
    e.after(...parts);
    this.turn(e, true);
  }

  close(e) {
    while (e.nextElementSibling && e.nextElementSibling.group.level > e.group.level) e.nextElementSibling.remove();
    this.turn(e, false);
  }

  turn(e, open) {
    e.setAttribute('aria-expanded', open ? 'true' : 'false');
    e.querySelector('.twist').textContent = open ? '▾' : '▸';
  }

  toggle(e) {
    if (e.group.leaf) return;
    if (e.getAttribute('aria-expanded') === 'true') this.close(e);
    else this.fill(e);
    this.mark();
  }

  // parent is the entry that contains another one.
  parent(e) {
    let p = e.previousElementSibling;
    while (p && p.group.level >= e.group.level) p = p.previousElementSibling;
    return p;
  }

  choose(e) {
    const {from, to, leaf} = e.group;
    if (leaf) this.app.pick({row: from, t: this.app.state.sel ? this.app.state.sel.t : this.app.state.t[0]});
    else this.app.order.natural([from, to]);
  }

  focus(e) {
    for (const x of this.root.querySelectorAll('[tabindex="0"]')) x.tabIndex = -1;
    e.tabIndex = 0;
    e.focus();
  }

  // mark selects the entry whose rows are visible, or that of the selected row.
  mark() {
    const {rows, sel} = this.app.state;
    for (const e of this.root.querySelectorAll('[role="treeitem"]')) {
      const {from, to, leaf} = e.group;
      const on = leaf ? sel && sel.row === from : rows[0] === from && rows[1] === to;
      e.setAttribute('aria-selected', on ? 'true' : 'false');
    }
  }

  // rename writes names that came in the meantime.
  rename() {
    for (const e of this.root.querySelectorAll('[role="treeitem"]')) {
      const {from, to, level, leaf} = e.group;
      if (level === 1) continue;
      const name = leaf ? this.app.names.label(from) : this.app.names.group(from, to);
      if (e.firstChild.lastChild.textContent !== name) e.firstChild.lastChild.textContent = name;
    }
  }

  key(e) {
    const item = e.target.closest('[role="treeitem"]');
    if (!item) return;
    const all = [...this.root.querySelectorAll('[role="treeitem"]')];
    const k = all.indexOf(item);
    const expanded = item.getAttribute('aria-expanded') === 'true';
    const go = (x) => x && this.focus(x);
    const act = {
      ArrowDown: () => go(all[k + 1]), ArrowUp: () => go(all[k - 1]), Home: () => go(all[0]), End: () => go(all[all.length - 1]),
      ArrowRight: () => (expanded ? go(all[k + 1]) : this.toggle(item)),
      ArrowLeft: () => (expanded ? this.toggle(item) : go(this.parent(item))),
      Enter: () => (e.shiftKey ? this.app.order.natural([item.group.from, item.group.to]) : this.choose(item)), ' ': () => this.choose(item),
    }[e.key];
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  }
}
