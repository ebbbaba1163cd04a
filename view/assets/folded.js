import {bins, Recent, shares, tileRows, Tiles} from './source.js';

// Tiles of groups of any locations: each row is the mean of its members, made in the browser from their tiles.

const foldedBytes = 16 << 20;

export class Folded {
  constructor(tiles, groups) {
    this.base = tiles;
    this.groups = groups;
    this.meta = {...tiles.meta, locations: groups.length, groups: [1]};
    this.cache = new Recent(foldedBytes);
  }

  width(z) {
    return this.base.width(z);
  }

  zoomFor(perPixel) {
    return this.base.zoomFor(perPixel);
  }

  levelFor() {
    return 0;
  }

  // blocks are the tiles of the members of the groups in tile i.
  blocks(i) {
    return [...new Set(this.groups.slice(i * tileRows, (i + 1) * tileRows).flatMap((g) => g.members.map((l) => Math.floor(l / tileRows))))];
  }

  want(list) {
    this.base.want(list.flatMap(([z, x, , i]) => this.blocks(i).map((b) => [z, x, 0, b])));
  }

  // peek returns a tile once those of all members are loaded.
  peek(z, x, f, i) {
    const key = Tiles.key(z, x, f, i);
    const known = this.cache.find(key);
    if (known) return known;
    const from = new Map(this.blocks(i).map((b) => [b, this.base.peek(z, x, 0, b)]));
    const [first] = from.values();
    if (!first || [...from.values()].includes(undefined)) return undefined;
    const tile = this.mean(from, this.groups.slice(i * tileRows, (i + 1) * tileRows), first);
    this.cache.keep(key, tile, tile.bytes);
    return tile;
  }

  mean(from, groups, first) {
    const cells = groups.length * bins;
    const t = {flags: first.flags & ~1, rows: groups.length, spans: 0, begin: first.begin, width: first.width, lost: 0, bytes: 16 * cells,
      region: new Uint32Array(cells), share: new Uint8Array(8 * cells), wait: new Uint8Array(cells), calls: new Uint8Array(cells),
      flag: new Uint8Array(cells), gap: new Uint8Array(cells)};
    for (const tile of from.values()) {
      t.flags &= tile.flags;
      t.lost += tile.lost;
    }
    groups.forEach(({members}, row) => {
      const list = members.map((l) => [from.get(Math.floor(l / tileRows)), (l % tileRows) * bins]);
      const sum = (of, b) => list.reduce((all, [tile, at]) => all + of(tile, at + b), 0);
      for (let b = 0; b < bins; b++) {
        const k = row * bins + b;
        let most = -1;
        for (const [tile, at] of list) { // the region is that of the member with the largest share
          for (let s = 0; s < shares; s++) {
            const v = tile.share[s * tile.rows * bins + at + b];
            if (v > most) [most, t.region[k]] = [v, tile.region[at + b]];
          }
          t.flag[k] |= tile.flag[at + b];
        }
        for (let s = 0; s < shares; s++) t.share[s * cells + k] = Math.round(sum((tile, at) => tile.share[s * tile.rows * bins + at], b) / list.length);
        t.wait[k] = Math.ceil(sum((tile, at) => tile.wait[at], b) / list.length);
        t.gap[k] = Math.round(sum((tile, at) => tile.gap[at], b) / list.length);
        const calls = sum((tile, at) => (tile.calls[at] ? 2 ** (tile.calls[at] - 1) : 0), b);
        t.calls[k] = calls > 0 ? 1 + Math.floor(Math.log2(calls)) : 0;
      }
    });
    return t;
  }
}
