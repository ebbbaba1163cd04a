import {el} from './dom.js';
import {count, share} from './format.js';
import {table} from './table.js';
import {bins, shares, tileRows} from './source.js';

// The picture as a table: for every visible row the shares of its classes in the visible window, from the same tiles.

const mostRows = 256;

// rowShares sums the bins of a row in the window. The result has the mean shares, and how much of the window was known.
function rowShares(app, used, r) {
  const {t} = app.state;
  const width = used.tiles.width(used.z);
  const sums = new Float64Array(shares);
  let gap = 0;
  let wait = 0;
  let calls = 0;
  let weight = 0;
  for (let x = Math.floor(t[0] / width); x <= Math.floor(t[1] / width); x++) {
    const tile = used.tiles.peek(used.z, x, used.f, Math.floor(r / tileRows));
    const local = r % tileRows;
    if (!tile || local >= tile.rows) continue;
    const cells = tile.rows * bins;
    for (let b = 0; b < bins; b++) {
      const from = Math.max(t[0], tile.begin + b * tile.width);
      const part = Math.min(t[1], tile.begin + (b + 1) * tile.width) - from;
      if (part <= 0) continue;
      const k = local * bins + b;
      weight += part;
      for (let s = 0; s < shares; s++) sums[s] += tile.share[s * cells + k] * part;
      gap += tile.gap[k] * part;
      wait += tile.wait[k] * part;
      calls += tile.calls[k] ? 2 ** (tile.calls[k] - 1) : 0;
    }
  }
  const scale = weight > 0 ? 1 / 255 / weight : 0;
  return {shares: [...sums].map((s) => s * scale), gap: gap * scale, wait: wait * scale, calls, known: weight / (t[1] - t[0])};
}

// visibleTable is the table of what the timeline shows.
export function visibleTable(app) {
  const used = app.timeline.used;
  const first = Math.floor(app.state.rows[0] / used.group);
  const last = Math.min(Math.ceil(app.state.rows[1] / used.group), Math.ceil(app.state.total / used.group));
  const rows = [];
  for (let r = first; r < Math.min(last, first + mostRows); r++) rows.push({r, ...rowShares(app, used, used.group === 1 ? app.order.row(app.order.at(r)) : r)});
  const {classes} = app.answer;
  const shown = classes.slice(0, shares).map((_, s) => s).filter((s) => rows.some((x) => x.shares[s] > 0.0005));
  const name = (x) => (used.group === 1 ? app.order.label(x.r) : app.names.group(x.r * used.group, (x.r + 1) * used.group));
  const columns = [{head: 'row', of: name, by: (x) => x.r}];
  for (const s of shown) columns.push({head: classes[s], n: true, of: (x) => share(x.shares[s]), by: (x) => x.shares[s]});
  const rest = (x) => Math.max(0, 1 - x.gap - x.shares.reduce((a, b) => a + b, 0));
  columns.push({head: 'no function recorded', n: true, of: (x) => share(x.gap), by: (x) => x.gap},
    {head: 'no events', n: true, of: (x) => share(rest(x)), by: rest},
    {head: 'of it waiting', n: true, of: (x) => share(x.wait), by: (x) => x.wait},
    {head: 'calls, at least', n: true, of: (x) => count(x.calls), by: (x) => x.calls});
  const caption = `${app.windowText()}, in shares of the time, rounded to 1/255` +
    (last - first > mostRows ? `; the first ${mostRows} of ${count(last - first)} rows` : '') +
    (rows.some((x) => x.known < 0.99) ? '; still loading, or parts lie outside of the run' : '');
  return el('div', {}, table(caption, columns, rows));
}
