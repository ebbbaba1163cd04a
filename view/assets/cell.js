import {count, share} from './format.js';
import {bins, tileRows} from './source.js';

// What the picture shows at a point, found in the tile, and in words.

// cellOf finds the bin of a tile, and the call in it.
export function cellOf(app, used, t, row) {
  const {z, f, group} = used;
  const r = Math.floor(row / group);
  const tile = app.tiles.peek(z, Math.floor(t / app.tiles.width(z)), f, Math.floor(r / tileRows));
  if (!tile) return {};
  const b = Math.min(bins - 1, Math.max(0, Math.floor((t - tile.begin) / tile.width)));
  const local = r % tileRows;
  if (local >= tile.rows) return {};
  const k = local * bins + b;
  const cells = tile.rows * bins;
  const cell = {tile, k, region: tile.region[k], wait: tile.wait[k] / 255, calls: tile.calls[k], flags: tile.flag[k],
    shares: app.answer.classes.map((_, s) => [s, tile.share[s * cells + k] / 255])};
  if (!tile.span) return {cell};
  const s = tile.span;
  let call = -1;
  for (let i = 0; i < tile.spans; i++) {
    if (s.row[i] === local && tile.begin + s.begin[i] <= t && t < tile.begin + s.end[i]) call = i;
  }
  return call < 0 ? {cell} : {cell, call: {n: s.n[call], begin: tile.begin + s.begin[call], end: tile.begin + s.end[call],
    region: s.region[call], class: s.class[call]}};
}

// describe puts a cell into words, for the tip.
export function describe(app, c) {
  const group = app.timeline.used.group;
  const first = Math.floor(c.row / group) * group;
  const step = (app.state.t[1] - app.state.t[0]) / 1000;
  const lines = [`${app.names.group(first, first + group)}   ${app.clock.at(c.t, step)}`];
  if (c.call) {
    lines.push(`${app.meta.regions[c.call.region]?.name || '?'}   ${app.clock.duration(c.call.end - c.call.begin)}`);
  }
  if (!c.cell) return lines.join('\n');
  if (c.cell.flags & 8) return lines.concat('could not be read').join('\n');
  if (!c.call && c.cell.region !== 0xffffffff) lines.push('most: ' + (app.meta.regions[c.cell.region]?.name || '?'));
  const parts = c.cell.shares.filter(([, x]) => x > 0).sort((a, b) => b[1] - a[1]).slice(0, 4)
    .map(([s, x]) => `${app.answer.classes[s]} ${share(x)}`);
  if (!c.call && parts.length) lines.push(parts.join(', '));
  if (!parts.length && !c.call) lines.push('nothing recorded');
  if (c.cell.wait > 0) lines.push(c.call ? 'waiting' : 'waiting ' + share(c.cell.wait));
  else if (app.meta.waits && !(c.cell.tile.flags & 4)) lines.push('waits are drawn for rows of fewer ranks');
  if (!c.call) {
    if (c.cell.calls > 0) lines.push(`calls that begin: ${c.cell.calls === 1 ? '1' : 'at least ' + count(2 ** (c.cell.calls - 1))}`);
    lines.push(`a cell is ${app.clock.duration(c.cell.tile.width)}${group > 1 ? ' × ' + count(group) + ' rows' : ''}` +
      (c.cell.flags & 4 ? ', from a wider one' : ''));
  }
  return lines.join('\n');
}
