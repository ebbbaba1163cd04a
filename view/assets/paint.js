import {colours, hatch} from './theme.js';
import {bins, flagLost, Recent, tileRows, Tiles} from './source.js';
import {cut} from './dom.js';

// Painting rows from tiles. A tile becomes a small picture, each bin a stack of its classes' shares, which is scaled to the
// screen; what is not here yet is taken from a coarser tile. Calls are drawn one by one where a tile lists them.

const pictureBytes = 48 << 20;
const stepHeight = 14; // of a caller above its callees
const stepsFrom = 30; // pixels a row must have for them
// The stack of a bin from below: what waits first, so that the stripes of waits lie on it; the program's own code last.
const stackOrder = [1, 2, 3, 4, 5, 7, 6, 0];

export class Painter {
  constructor(tiles, regions) {
    this.tiles = tiles;
    this.regions = regions;
    this.pictures = new Recent(pictureBytes);
    this.waits = true;
  }

  // forget drops pictures, after a change of theme.
  forget() {
    this.pictures.clear();
  }

  // paint draws rows into a rectangle of the canvas. view has t [from, to] and rows [from, to] that fill the rectangle.
  // It returns what it used: zoom, group level, and whether something was missing.
  paint(ctx, view, box) {
    const perPixel = (view.t[1] - view.t[0]) / box.w;
    const rowHeight = box.h / (view.rows[1] - view.rows[0]);
    const z = this.tiles.zoomFor(perPixel);
    const f = view.level ?? this.tiles.levelFor(rowHeight);
    const group = this.tiles.meta.groups[f];
    const width = this.tiles.width(z);
    const x0 = Math.max(0, Math.floor(view.t[0] / width));
    const x1 = Math.min(Math.pow(2, z) - 1, Math.floor(view.t[1] / width));
    const rowsAll = Math.ceil(this.tiles.meta.locations / group);
    const i0 = Math.max(0, Math.floor(view.rows[0] / group / tileRows));
    const i1 = Math.min(Math.ceil(rowsAll / tileRows) - 1, Math.floor(view.rows[1] / group / tileRows));
    const used = {z, f, group, wanted: [], missing: false, single: true, lost: 0};
    const steps = this.listed(z, f, [x0, x1], [i0, i1]);
    this.labels = new Map(); // row and call -> text to write when all tiles are painted
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.x, box.y, box.w, box.h);
    ctx.clip();
    ctx.fillStyle = colours().lane;
    const top = (r) => box.y + (r - view.rows[0]) * rowHeight;
    ctx.fillRect(box.x, box.y, box.w, top(this.tiles.meta.locations) - box.y);
    for (let i = i0; i <= i1; i++) {
      for (let x = x0; x <= x1; x++) this.one(ctx, view, box, {z, x, f, i, group, rowHeight, steps}, used);
    }
    if (group * rowHeight >= 4) this.separate(ctx, view, box, group * rowHeight, group);
    this.write(ctx);
    ctx.restore();
    const middle = (x0 + x1) / 2;
    used.wanted.sort((a, b) => Math.abs(a[1] - middle) - Math.abs(b[1] - middle));
    return used;
  }

  // listed reports whether all tiles that are here list their calls. Only then callers are drawn above their callees: they would
  // seem to end where the next tile has shares alone.
  listed(z, f, [x0, x1], [i0, i1]) {
    for (let i = i0; i <= i1; i++) {
      for (let x = x0; x <= x1; x++) {
        const tile = this.tiles.peek(z, x, f, i);
        if (tile && !tile.span) return false;
      }
    }
    return true;
  }

  // separate draws lines between rows.
  separate(ctx, view, box, height, group) {
    ctx.fillStyle = colours().bg;
    const first = Math.ceil(view.rows[0] / group);
    for (let r = first; r * group <= Math.min(view.rows[1], this.tiles.meta.locations); r++) {
      ctx.fillRect(box.x, Math.round(box.y + (r * group - view.rows[0]) * height / group), box.w, height >= 12 ? 2 : 1);
    }
  }

  one(ctx, view, box, at, used) {
    const {z, x, f, i} = at;
    const tile = this.tiles.peek(z, x, f, i);
    if (!tile) {
      used.wanted.push([z, x, f, i]);
      used.missing = true;
      this.instead(ctx, view, box, at);
      return;
    }
    used.lost += tile.lost;
    if (!tile.span) used.single = false;
    this.blit(ctx, view, box, at, tile, z, x, f, i);
    if (tile.span && !view.plain && at.group * at.rowHeight >= 5) {
      this.spans(ctx, view, box, at, tile);
    }
    if (this.waits) this.stripes(ctx, view, box, at, tile);
  }

  // instead draws the part of a coarser tile that covers a missing one.
  instead(ctx, view, box, at) {
    for (let up = 1; up <= at.z; up++) {
      const z = at.z - up;
      const x = Math.floor(at.x / Math.pow(2, up));
      const tile = this.tiles.peek(z, x, at.f, at.i);
      if (!tile) continue;
      const width = this.tiles.width(at.z);
      ctx.save();
      ctx.beginPath();
      const scale = box.w / (view.t[1] - view.t[0]);
      const left = Math.round(box.x + (at.x * width - view.t[0]) * scale);
      ctx.rect(left, box.y, Math.round(box.x + ((at.x + 1) * width - view.t[0]) * scale) - left, box.h);
      ctx.clip();
      this.blit(ctx, view, box, at, tile, z, x, at.f, at.i);
      ctx.restore();
      return;
    }
  }

  // blit scales the picture of a tile to its place. The last group of rows may have fewer locations than the others.
  blit(ctx, view, box, at, tile, z, x, f, i) {
    if (tile.rows === 0) return;
    const height = at.group * at.rowHeight;
    const picture = this.picture(tile, Tiles.key(z, x, f, i), height);
    const scale = box.w / (view.t[1] - view.t[0]);
    const px = box.x + (tile.begin - view.t[0]) * scale;
    const py = box.y + (i * tileRows * at.group - view.rows[0]) * at.rowHeight;
    ctx.imageSmoothingEnabled = false;
    const left = Math.round(px); // neighbours meet on a pixel
    ctx.drawImage(picture, left, py, Math.round(px + bins * tile.width * scale) - left, tile.rows * height);
  }

  // picture is the tile as an image, with as many lines for each row as its height on the screen is worth.
  picture(tile, key, height) {
    const lines = height < 4 ? 1 : height < 14 ? 6 : 16;
    const name = key + '*' + lines + (this.waits ? 'w' : '');
    let p = this.pictures.find(name);
    if (p) return p;
    p = document.createElement('canvas');
    p.width = bins;
    p.height = tile.rows * lines;
    const ctx = p.getContext('2d');
    const image = ctx.createImageData(bins, p.height);
    const out = new Uint32Array(image.data.buffer);
    const c = colours();
    if (lines === 1) this.mix(tile, out, c);
    else this.stack(tile, out, c, lines);
    ctx.putImageData(image, 0, 0);
    this.pictures.keep(name, p, bins * p.height * 4);
    return p;
  }

  // mix gives every bin the mean colour of its shares, for rows of a pixel or two; much waiting shows as stripes.
  mix(tile, out, c) {
    const cells = tile.rows * bins;
    for (let k = 0; k < cells; k++) {
      let left = 255;
      let r = 0;
      let g = 0;
      let b = 0;
      for (let s = 0; s < 8; s++) {
        const w = Math.min(left, tile.share[s * cells + k]);
        left -= w;
        r += w * c.rgb[s][0];
        g += w * c.rgb[s][1];
        b += w * c.rgb[s][2];
      }
      const lane = tile.flag[k] & flagLost ? [128, 128, 128] : c.laneRGB;
      r = (r + left * lane[0]) / 255;
      g = (g + left * lane[1]) / 255;
      b = (b + left * lane[2]) / 255;
      if (this.waits && tile.wait[k] >= 64 && ((k >> 1) & 1)) [r, g, b] = c.waitRGB;
      out[k] = (255 << 24) | (b << 16) | (g << 8) | r;
    }
  }

  stack(tile, out, c, lines) {
    const cells = tile.rows * bins;
    const toWord = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    const word = c.rgb.map(toWord);
    const own = [0, 1, 2, 3].map((k) => toWord(shaded(0, k).rgb));
    for (let row = 0; row < tile.rows; row++) {
      for (let b = 0; b < bins; b++) {
        const k = row * bins + b;
        let sum = 0;
        let y = 0;
        for (const s of stackOrder) {
          const w = tile.share[s * cells + k];
          if (w === 0) continue;
          sum += w;
          // A share that is there gets a line where it is more than half of one.
          for (const to = Math.min(lines, Math.round(sum / 255 * lines)); y < to; y++) {
            out[((row + 1) * lines - 1 - y) * bins + b] = s === 0 ? own[tile.region[k] & 3] : word[s];
          }
        }
      }
    }
  }

  // stripes hatches the share of each bin that is waiting, from the bottom of the row.
  // Where callers are drawn above their callees it stays below half of it, off their names.
  stripes(ctx, view, box, at, tile) {
    const full = at.group * at.rowHeight;
    if (full < 4) return;
    const part = at.steps && tile.span && full >= stepsFrom ? 0.45 : 1;
    const height = full * part;
    tile.stripes ??= stripePath(tile);
    if (tile.stripes === 'none') return;
    const scale = box.w / (view.t[1] - view.t[0]) * tile.width;
    const px = box.x + (tile.begin - view.t[0]) / tile.width * scale;
    const py = box.y + (at.i * tileRows * at.group - view.rows[0]) * at.rowHeight;
    const pattern = hatch(ctx);
    if (part < 1) {
      tile.rowStripes ??= Array.from({length: tile.rows}, (_, row) => stripePath(tile, row));
      tile.rowStripes.forEach((path, row) => {
        if (path !== 'none') fillScaled(ctx, pattern, path, px, py + (row + 1) * full - height, scale, height);
      });
      return;
    }
    fillScaled(ctx, pattern, tile.stripes, px, py, scale, height);
  }

  // spans draws calls one by one. In a tall row the open calls around one stay visible above it, like steps.
  spans(ctx, view, box, at, tile) {
    const scale = box.w / (view.t[1] - view.t[0]);
    const height = at.group * at.rowHeight;
    const step = at.steps && height >= stepsFrom ? stepHeight : 0;
    const deepest = step ? Math.max(0, Math.floor((height - stepHeight) / step)) : 0;
    const s = tile.span;
    const from = Math.round(box.x + Math.max(0, (tile.begin - view.t[0]) * scale));
    const to = Math.round(box.x + Math.min(box.w, (tile.begin + bins * tile.width - view.t[0]) * scale));
    if (to <= from) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, box.y, to - from, box.h);
    ctx.clip();
    for (let k = 0; k < tile.spans; k++) {
      const a = Math.max(-4, (tile.begin + s.begin[k] - view.t[0]) * scale) + box.x;
      const b = Math.min(box.w + 4, (tile.begin + s.end[k] - view.t[0]) * scale) + box.x;
      const row = at.i * tileRows + s.row[k];
      const y = box.y + (row * at.group - view.rows[0]) * at.rowHeight;
      if (b - a < 0.6 || y > box.y + box.h || y + height < box.y) continue;
      const down = Math.min(deepest, s.depth[k]) * step;
      const h = height - down;
      this.span(ctx, s, k, {a, b, y: y + down, h}, step);
      // Calls without steps hide their callers: only what is in front gets its name.
      if (b - a < 26 || h < 12) continue;
      const name = row + ' ' + s.n[k];
      const known = this.labels.get(name); // from the tile before
      if (known) known.b = Math.min(b, to);
      else this.labels.set(name, {x: Math.max(a, from), b: Math.min(b, to), y: y + down + (step ? stepHeight / 2 + 1.5 : h / 2 + 0.5), region: s.region[k], cls: s.class[k], row, depth: s.depth[k]});
    }
    ctx.restore();
  }

  span(ctx, s, k, r, step) {
    const c = colours();
    ctx.fillStyle = shade(s.class[k], s.region[k]);
    ctx.fillRect(r.a, r.y, r.b - r.a, r.h);
    if (r.b - r.a < 8) return; // borders would be most of what is seen
    ctx.fillStyle = c.bg;
    ctx.fillRect(r.b - 1, r.y, 1, r.h);
    if (step && s.depth[k] > 0) ctx.fillRect(r.a, r.y, r.b - r.a, 1);
  }

  // write puts the names on calls. Where a call begins on the name of the one around it, without steps, that name goes.
  write(ctx) {
    ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
    ctx.textBaseline = 'middle';
    ctx.lineWidth = 3;
    ctx.lineJoin = 'round';
    const list = [...this.labels.values()].sort((p, q) => p.row - q.row || p.y - q.y || p.x - q.x || p.depth - q.depth);
    list.forEach((l, k) => {
      const next = list[k + 1];
      const end = next && next.row === l.row && next.y === l.y ? Math.min(l.b, next.x) : l.b;
      const text = cut(ctx, this.regions[l.region]?.name || '?', end - l.x - 6);
      if (!text) return;
      ctx.strokeStyle = shade(l.cls, l.region); // so that it can be read on stripes
      ctx.strokeText(text, l.x + 3, l.y);
      ctx.fillStyle = ink(l.cls, l.region);
      ctx.fillText(text, l.x + 3, l.y);
    });
    this.labels = null;
  }
}

// fillScaled fills a path in units of bins and rows with a pattern that stays in units of pixels.
function fillScaled(ctx, pattern, path, x, y, sx, sy) {
  ctx.save();
  pattern.setTransform(new DOMMatrix().scale(1 / sx, 1 / sy).translate(-x, -y));
  ctx.translate(x, y);
  ctx.scale(sx, sy);
  ctx.fillStyle = pattern;
  ctx.fill(path);
  ctx.restore();
}

// stripePath is where a tile waits: all of its rows, or one of them, which then is row 0.
function stripePath(tile, only) {
  const path = new Path2D();
  let any = false;
  for (let row = only ?? 0; row < (only === undefined ? tile.rows : only + 1); row++) {
    const top = only === undefined ? row : 0;
    for (let b = 0; b < bins;) {
      const w = tile.wait[row * bins + b];
      if (w < 2) {
        b++;
        continue;
      }
      const level = Math.ceil(w / 32);
      const from = b;
      while (b < bins && tile.wait[row * bins + b] >= 2 && Math.ceil(tile.wait[row * bins + b] / 32) === level) b++;
      path.rect(from, top + 1 - level / 8, b - from, level / 8);
      any = true;
    }
  }
  return any ? path : 'none';
}

const shadeParts = [0, 0.28, 0.14, 0.42];
const shades = new Map();
let shadesOf = null;

// shaded tells functions of the program apart by lightness; the hue is that of the class.
function shaded(cls, region) {
  const c = colours();
  if (shadesOf !== c) {
    shades.clear();
    shadesOf = c;
  }
  const key = cls * 4 + (cls === 0 ? region % 4 : 0);
  let s = shades.get(key);
  if (!s) {
    const part = cls === 0 ? shadeParts[region % 4] : 0;
    const rgb = (c.rgb[cls] || c.rgb[5]).map((v, k) => Math.round(v * (1 - part) + c.laneRGB[k] * part));
    s = {rgb, fill: `rgb(${rgb})`, ink: light(rgb) > 0.179 ? '#000000' : '#ffffff'};
    shades.set(key, s);
  }
  return s;
}

const shade = (cls, region) => shaded(cls, region).fill;
const ink = (cls, region) => shaded(cls, region).ink;

// light is the relative luminance of WCAG.
function light(rgb) {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : Math.pow((v / 255 + 0.055) / 1.055, 2.4)));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
