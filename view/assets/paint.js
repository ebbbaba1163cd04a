import {colours, hatch} from './theme.js';
import {bins, flagLost, Recent, shares, tileRows, Tiles} from './source.js';
import {cut} from './dom.js';

// Painting rows from tiles. A tile becomes a small picture, each bin a stack of the shares of its classes, which is scaled to the screen.
// Where a tile is not loaded yet, a coarser one is used. Calls are drawn one by one where a tile lists them.

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
    this.paints = new Map(); // class and region -> colour
    this.waits = true;
    this.hide = '';
    this.fn = null;
  }

  // forget drops pictures, after a change of colours.
  forget() {
    this.pictures.clear();
    this.paints.clear();
  }

  // follow takes from the state what to paint: whether waits show, hidden classes, and the function that alone has its colour.
  follow({off, hide, fn}) {
    this.waits = !off.includes('w');
    if (hide === this.hide && fn === this.fn) return;
    Object.assign(this, {hide, fn});
    this.forget();
  }

  // paintOf is the colour of a class of tiles in a call of a region, or in a cell in which that region has most time.
  paintOf(cls, region) {
    const key = region * shares + cls;
    let p = this.paints.get(key);
    if (p) return p;
    const c = colours();
    const full = this.regions[region]?.class ?? -1;
    const mine = cls === (full < shares ? full : 0);
    const shown = cls === 0 && mine ? full : cls;
    // Functions of the program differ by lightness; the hue is that of the class.
    let rgb = blend(c.rgb[shown] || c.rgb[5], c.laneRGB, shown === 0 && mine ? shadeParts[region % 4] : 0);
    if (this.hide.includes(shown.toString(36))) rgb = c.laneRGB;
    else if (this.fn !== null && !(mine && region === this.fn)) rgb = blend(rgb, c.laneRGB, 0.8);
    p = {rgb, word: word(rgb), fill: `rgb(${rgb})`, ink: light(rgb) > 0.179 ? '#000000' : '#ffffff'};
    this.paints.set(key, p);
    return p;
  }

  // paint draws rows into a rectangle of the canvas. view has t [from, to] and rows [from, to] that fill the rectangle.
  // It returns what it used: zoom, group level, and whether something was missing.
  paint(ctx, view, box) {
    if (view.order) return this.ordered(ctx, view, box);
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
    const used = {z, f, group, tiles: this.tiles, wanted: [], missing: false, single: true, lost: 0};
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

  // ordered paints rows one by one, where they are not in the order of the file.
  ordered(ctx, view, box) {
    const height = box.h / (view.rows[1] - view.rows[0]);
    const all = {z: 0, f: 0, group: 1, tiles: this.tiles, wanted: [], missing: false, single: true, lost: 0};
    const seen = new Set();
    for (let k = Math.max(0, Math.floor(view.rows[0])); k < Math.min(view.order.length, view.rows[1]); k++) {
      const l = view.order[k];
      const used = this.paint(ctx, {t: view.t, rows: [l, l + 1], level: 0}, {x: box.x, y: box.y + (k - view.rows[0]) * height, w: box.w, h: height});
      Object.assign(all, {z: used.z, missing: all.missing || used.missing, single: all.single && used.single, lost: all.lost + used.lost});
      for (const t of used.wanted) {
        if (!seen.has(t.join())) all.wanted.push(t);
        seen.add(t.join());
      }
    }
    return all;
  }

  // listed reports whether all loaded tiles list their calls. Only then callers are drawn above their callees: otherwise they would
  // seem to end where the next tile has only shares.
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
    const listed = tile.span && !view.plain && at.group * at.rowHeight >= 5;
    if (listed) this.spans(ctx, view, box, at, tile, false);
    if (!this.waits) return;
    this.stripes(ctx, view, box, at, tile);
    // The callers of a waiting call do not wait.
    if (listed && at.steps && at.group * at.rowHeight >= stepsFrom) this.spans(ctx, view, box, at, tile, true);
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

  // picture is the tile as an image. Each row has as many lines as its height on the screen needs.
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
        if (w === 0) continue;
        left -= w;
        const {rgb} = this.paintOf(s, tile.region[k]);
        r += w * rgb[0];
        g += w * rgb[1];
        b += w * rgb[2];
      }
      const gap = this.hide.includes('g') ? 0 : Math.min(left, tile.gap[k]);
      const lane = blend(tile.flag[k] & flagLost ? [128, 128, 128] : c.laneRGB, c.gapRGB, left ? gap / left : 0);
      r = (r + left * lane[0]) / 255;
      g = (g + left * lane[1]) / 255;
      b = (b + left * lane[2]) / 255;
      if (this.waits && tile.wait[k] >= 64 && ((k >> 1) & 1)) [r, g, b] = c.waitRGB;
      out[k] = (255 << 24) | (b << 16) | (g << 8) | r;
    }
  }

  stack(tile, out, c, lines) {
    const cells = tile.rows * bins;
    const gap = word(this.hide.includes('g') ? c.laneRGB : c.gapRGB);
    for (let row = 0; row < tile.rows; row++) {
      for (let b = 0; b < bins; b++) {
        const k = row * bins + b;
        let sum = 0;
        let y = 0;
        // A share above 0 gets a line if it is more than half a line high.
        const add = (share, colour) => {
          sum += share;
          for (const to = Math.min(lines, Math.round(sum / 255 * lines)); y < to; y++) out[((row + 1) * lines - 1 - y) * bins + b] = colour;
        };
        for (const s of stackOrder) {
          const w = tile.share[s * cells + k];
          if (w > 0) add(w, this.paintOf(s, tile.region[k]).word);
        }
        if (tile.gap[k] > 0) add(tile.gap[k], gap);
      }
    }
  }

  // stripes hatches the share of each bin that is waiting, from the bottom of the row.
  stripes(ctx, view, box, at, tile) {
    const height = at.group * at.rowHeight;
    if (height < 4) return;
    tile.stripes ??= stripePath(tile);
    const scale = box.w / (view.t[1] - view.t[0]) * tile.width;
    const px = box.x + (tile.begin - view.t[0]) / tile.width * scale;
    const py = box.y + (at.i * tileRows * at.group - view.rows[0]) * at.rowHeight;
    if (tile.stripes) fillScaled(ctx, hatch(ctx), tile.stripes, px, py, scale, height);
  }

  // spans draws calls one by one. In a tall row the open calls around a call stay visible above it, like steps. again draws the steps
  // of own code once more.
  spans(ctx, view, box, at, tile, again) {
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
      if (again && (s.class[k] !== 0 || down + step >= height)) continue;
      const h = again ? step : height - down;
      this.span(ctx, s, k, {a, b, y: y + down, h}, step);
      // Calls without steps hide their callers, so only the innermost call gets its name.
      if (b - a < 26 || h < 12 || again) continue;
      const name = row + ' ' + s.n[k];
      const known = this.labels.get(name); // from the tile before
      if (known) known.b = Math.min(b, to);
      else this.labels.set(name, {x: Math.max(a, from), b: Math.min(b, to), y: y + down + (step ? stepHeight / 2 + 1.5 : h / 2 + 0.5), region: s.region[k], paint: this.paintOf(s.class[k], s.region[k]), row, depth: s.depth[k]});
    }
    ctx.restore();
  }

  span(ctx, s, k, r, step) {
    const c = colours();
    ctx.fillStyle = this.paintOf(s.class[k], s.region[k]).fill;
    ctx.fillRect(r.a, r.y, r.b - r.a, r.h);
    if (r.b - r.a < 8) return; // borders would be most of what is seen
    ctx.fillStyle = c.bg;
    ctx.fillRect(r.b - 1, r.y, 1, r.h);
    if (step && s.depth[k] > 0) ctx.fillRect(r.a, r.y, r.b - r.a, 1);
  }

  // write puts the names on calls. Without steps, the name of a call is left out where a call inside it begins on that name.
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
      ctx.strokeStyle = l.paint.fill; // so that it can be read on stripes
      ctx.strokeText(text, l.x + 3, l.y);
      ctx.fillStyle = l.paint.ink;
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

// stripePath is where a tile waits, null for nowhere.
function stripePath(tile) {
  const path = new Path2D();
  let any = false;
  for (let row = 0; row < tile.rows; row++) {
    const level = (b) => Math.ceil(tile.wait[row * bins + b] / 255 * 32);
    for (let b = 0; b < bins;) {
      const from = b;
      const high = level(b);
      while (b < bins && level(b) === high) b++;
      if (high === 0) continue;
      path.rect(from, row + 1 - high / 32, b - from, high / 32);
      any = true;
    }
  }
  return any ? path : null;
}

const shadeParts = [0, 0.28, 0.14, 0.42];

const blend = (rgb, with_, part) => rgb.map((v, k) => Math.round(v * (1 - part) + with_[k] * part));
const word = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

// light is the relative luminance of WCAG.
function light(rgb) {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : Math.pow((v / 255 + 0.055) / 1.055, 2.4)));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
