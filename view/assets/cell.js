import {bytes, count, share} from './format.js';
import {bins, flagLost, shares, tileRows} from './source.js';

// What the picture shows at a point, found in the tile, and in words.

// cellOf finds the bin of a tile, and the call in it.
export function cellOf(app, used, t, row) {
  const {z, f, group} = used;
  const r = Math.floor(row / group);
  const tile = used.tiles.peek(z, Math.floor(t / used.tiles.width(z)), f, Math.floor(r / tileRows));
  if (!tile) return {};
  const b = Math.min(bins - 1, Math.max(0, Math.floor((t - tile.begin) / tile.width)));
  const local = r % tileRows;
  if (local >= tile.rows) return {};
  const k = local * bins + b;
  const cells = tile.rows * bins;
  const cell = {tile, k, region: tile.region[k], wait: tile.wait[k] / 255, calls: tile.calls[k], flags: tile.flag[k],
    gap: tile.gap[k] / 255, shares: Array.from({length: shares}, (_, s) => [s, tile.share[s * cells + k] / 255])};
  if (!tile.span) return {cell};
  const s = tile.span;
  let call = -1;
  for (let i = 0; i < tile.spans; i++) {
    if (s.row[i] === local && tile.begin + s.begin[i] <= t && t < tile.begin + s.end[i]) call = i;
  }
  return call < 0 ? {cell} : {cell, call: {n: s.n[call], begin: tile.begin + s.begin[call], end: tile.begin + s.end[call],
    region: s.region[call], class: s.class[call]}};
}

// idle says what a row is where nothing is recorded and the process has no gap of own code.
function idle(app, c) {
  const l = app.timeline.used.group === 1 && !app.order.groups ? app.names.of(c.row) : null;
  if (!l?.last) return 'no call recorded';
  return c.t < l.first ? app.word('before') : c.t >= l.last ? app.word('after') : l.type === 'accelerator' ? app.word('device_idle') : 'no call recorded';
}

// describe puts a cell into words, for the tip.
export function describe(app, c) {
  const group = app.timeline.used.group;
  const first = Math.floor(c.row / group) * group;
  const step = (app.state.t[1] - app.state.t[0]) / 1000;
  const {groups} = app.order;
  const lines = [`${groups ? groups[app.order.of(c.row)]?.name + ', mean of the rows' : app.names.group(first, first + group)}   ${app.clock.at(c.t, step)}`];
  const {cell} = c;
  if (!cell) return lines.join('\n');
  if (cell.flags & flagLost) return lines.concat('could not be read').join('\n');
  const region = app.meta.regions[(c.call || cell).region];
  const own = app.answer.classes[region && region.class >= shares ? region.class : 0];
  if (c.call) lines.push(`${region?.name || '?'}   ${app.clock.duration(c.call.end - c.call.begin)}`);
  else if (region) lines.push('most: ' + region.name);
  const where = region && region.file && region.line ? `${region.file}:${region.line}` : '';
  if (where) lines.push(where);
  const parts = cell.shares.filter(([, x]) => x > 0).sort((a, b) => b[1] - a[1]).slice(0, 4)
    .map(([s, x]) => `${s === 0 ? own : app.answer.classes[s]} ${share(x)}`);
  if (cell.gap > 0) parts.push(`no function recorded ${share(cell.gap)}`);
  if (!c.call) lines.push(parts.join(', ') || app.counters.text(c.t, c.row) || idle(app, c));
  if (cell.wait > 0) lines.push(c.call ? 'waiting' : 'waiting ' + share(cell.wait));
  else if (app.meta.waits && !(cell.tile.flags & 4)) lines.push('waits are drawn for rows of fewer ranks');
  if (!c.call) {
    if (cell.calls > 0) lines.push(`calls that begin: ${cell.calls === 1 ? '1' : 'at least ' + count(2 ** (cell.calls - 1))}`);
    lines.push(`a cell is ${app.clock.duration(cell.tile.width)}${group > 1 ? ' × ' + count(group) + ' rows' : ''}` +
      (cell.flags & 4 ? ', from a wider one' : ''));
  }
  return lines.join('\n');
}

// describeMessage puts message k of those that are drawn into words.
export function describeMessage(app, k) {
  const l = app.overlays.messages.list;
  const step = (app.state.t[1] - app.state.t[0]) / 1000;
  return [`message, ${app.names.label(l.from[k])} to ${app.names.label(l.to[k])}`, bytes(l.bytes[k]),
    `sent ${app.clock.at(l.send_t[k], step)}, received ${app.clock.at(l.recv_t[k], step)}, ${app.clock.duration(l.recv_t[k] - l.send_t[k])}`,
    l.wait[k] > 0 ? `the receiver waited ${app.clock.duration(l.wait[k])}` : 'the receiver did not wait for it',
    'click: the send'].join('\n');
}
