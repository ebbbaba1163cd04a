import {el} from './dom.js';

// Tables of panels: columns that sort on a click, numbers to the right.

// table makes one. A column is {head, of: (row) => text or node, n: is a number, by: (row) => what to sort by}.
export function table(caption, columns, rows, sorted) {
  const body = el('tbody', {});
  const order = {k: sorted ?? -1, down: true};
  const heads = columns.map((c, k) => el('th', {class: c.n ? 'n' : null, scope: 'col', 'aria-sort': 'none'},
    c.by ? el('button', {onclick: () => sort(k)}, c.head) : c.head));
  const fill = () => {
    const list = rows.slice();
    if (order.k >= 0) {
      const {by} = columns[order.k];
      list.sort((a, b) => {
        const x = by(a);
        const y = by(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (order.down ? -1 : 1);
      });
    }
    body.replaceChildren(...list.map((row) => el('tr', {}, ...columns.map((c, k) => {
      const value = c.of(row);
      return k === 0 ? el('th', {class: c.n ? 'n' : null, scope: 'row'}, value) : el('td', {class: c.n ? 'n' : null}, value);
    }))));
    heads.forEach((h, k) => h.setAttribute('aria-sort', k !== order.k ? 'none' : order.down ? 'descending' : 'ascending'));
  };
  const sort = (k) => {
    order.down = order.k === k ? !order.down : Boolean(columns[k].n);
    order.k = k;
    fill();
  };
  fill();
  return el('table', {}, caption ? el('caption', {}, caption) : null, el('thead', {}, el('tr', {}, ...heads)), body);
}

// stack is a bar of parts [[class of swatch, share]], with the numbers as its text.
export function stack(parts, label) {
  const bar = el('div', {class: 'bar', role: 'img', 'aria-label': label || parts.map(([, x]) => Math.round(x * 100) + ' %').join(' ')});
  for (const [s, x] of parts) {
    const i = el('i', {class: s === 'wait' ? s : 's' + s});
    i.style.width = Math.max(0, Math.min(100, x * 100)) + '%';
    bar.append(i);
  }
  return bar;
}

// facts is a list of names and values.
export function facts(pairs) {
  const dl = el('dl', {});
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === '') continue;
    dl.append(el('dt', {}, name), el('dd', {}, value));
  }
  return dl;
}

export function link(text, action, title) {
  return el('button', {class: 'link', onclick: action, title}, text);
}
