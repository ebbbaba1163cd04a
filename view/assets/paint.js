import {colours, hatch} from './theme.js';
import {bins, flagLost, Recent, tileRows, Tiles} from './tiles.js';
import {cut} from './dom.js';

// Painting rows from tiles. A tile becomes a small picture, each bin a stack of its classes' shares, which is scaled to the
// screen; what is not here yet is taken from a coarser tile. Calls are drawn one by one where a tile lists them.

const pictureBytes = 48 << 20;
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
    const used = {z, f, group, wanted: [], missing: false, spans: false, lost: 0};
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.x, box.y, box.w, box.h);
    ctx.clip();
    ctx.fillStyle = colours().lane;
    const top = (r) => box.y + (r - view.rows[0]) * rowHeight;
    ctx.fillRect(box.x, box.y, box.w, top(this.tiles.meta.locations) - box.y);
    for (let i = i0; i <= i1; i++) {
      for (let x = x0; x <= x1; x++) this.one(ctx, view, box, {z, x, f, i, group, rowHeight, rowsAll}, used);
    }
    if (group * rowHeight >= 4) this.separate(ctx, view, box, group * rowHeight, group);
    ctx.restore();
    const middle = (x0 + x1) / 2;
    used.wanted.sort((a, b) => Math.abs(a[1] - middle) - Math.abs(b[1] - middle));
    return used;
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
    this.blit(ctx, view, box, at, tile, z, x, f, i);
    if (tile.span && at.group * at.rowHeight >= 5) {
      used.spans = true;
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
      ctx.rect(box.x + (at.x * width - view.t[0]) * scale, box.y, width * scale, box.h);
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
    ctx.drawImage(picture, px, py, bins * tile.width * scale, tile.rows * height);
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
    const word = c.rgb.map(([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
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
            out[((row + 1) * lines - 1 - y) * bins + b] = word[s];
          }
        }
      }
    }
  }

  // stripes hatches the share of each bin that is waiting, from the bottom of the row.
  stripes(ctx, view, box, at, tile) {
    const height = at.group * at.rowHeight;
    if (height < 4) return;
    tile.stripes ??= stripePath(tile);
    if (tile.stripes === 'none') return;
    const scale = box.w / (view.t[1] - view.t[0]) * tile.width;
    const px = box.x + (tile.begin - view.t[0]) / tile.width * scale;
    const py = box.y + (at.i * tileRows * at.group - view.rows[0]) * at.rowHeight;
    const pattern = hatch(ctx);
    ctx.save();
    pattern.setTransform(new DOMMatrix().scale(1 / scale, 1 / height).translate(-px, -py));
    ctx.translate(px, py);
    ctx.scale(scale, height);
    ctx.fillStyle = pattern;
    ctx.fill(tile.stripes);
    ctx.restore();
  }

  // spans draws calls one by one. In a tall row the open calls around one stay visible above it, like steps.
  spans(ctx, view, box, at, tile) {
    const scale = box.w / (view.t[1] - view.t[0]);
    const height = at.group * at.rowHeight;
    const step = height >= 26 ? 12 : 0;
    const deepest = step ? Math.max(0, Math.floor((height - 12) / step)) : 0;
    const s = tile.span;
    const from = box.x + Math.max(0, (tile.begin - view.t[0]) * scale);
    const to = box.x + Math.min(box.w, (tile.begin + bins * tile.width - view.t[0]) * scale);
    if (to <= from) return;
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, box.y, to - from, box.h);
    ctx.clip();
    ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
    ctx.textBaseline = 'middle';
    for (let k = 0; k < tile.spans; k++) {
      const a = Math.max(-4, (tile.begin + s.begin[k] - view.t[0]) * scale) + box.x;
      const b = Math.min(box.w + 4, (tile.begin + s.end[k] - view.t[0]) * scale) + box.x;
      const row = at.i * tileRows + s.row[k];
      const y = box.y + (row * at.group - view.rows[0]) * at.rowHeight;
      if (b - a < 0.6 || y > box.y + box.h || y + height < box.y) continue;
      const down = Math.min(deepest, s.depth[k]) * step;
      this.span(ctx, s, k, a, b, y + down, height - down, step, from);
    }
    ctx.restore();
  }

  span(ctx, s, k, a, b, y, h, step, left) {
    const c = colours();
    ctx.fillStyle = shade(s.class[k], s.region[k]);
    ctx.fillRect(a, y, b - a, h);
    if (b - a >= 3) {
      ctx.fillStyle = c.bg;
      ctx.fillRect(b - 1, y, 1, h);
      if (step && s.depth[k] > 0) ctx.fillRect(a, y, b - a, 1);
    }
    if (b - a < 26 || h < 11) return;
    const x = Math.max(a, left);
    const label = cut(ctx, this.regions[s.region[k]]?.name || '?', b - x - 6);
    if (!label) return;
    ctx.fillStyle = ink(s.class[k], s.region[k]);
    ctx.fillText(label, x + 3, y + (step ? 6.5 : h / 2));
  }
}

function stripePath(tile) {
  const path = new Path2D();
  let any = false;
  for (let row = 0; row < tile.rows; row++) {
    for (let b = 0; b < bins;) {
      const w = tile.wait[row * bins + b];
      if (w < 2) {
        b++;
        continue;
      }
      const level = Math.ceil(w / 32);
      const from = b;
      while (b < bins && tile.wait[row * bins + b] >= 2 && Math.ceil(tile.wait[row * bins + b] / 32) === level) b++;
      path.rect(from, row + 1 - level / 8, b - from, level / 8);
      any = true;
    }
  }
  return any ? path : 'none';
}

const shades = new Map();
let shadesOf = null;

// shade tells functions of one class apart by lightness; the hue stays that of the class.
function shaded(cls, region) {
  const c = colours();
  if (shadesOf !== c) {
    shades.clear();
    shadesOf = c;
  }
  const key = cls * 4 + region % 4;
  let s = shades.get(key);
  if (!s) {
    const part = [0, 0.14, 0.28, 0.07][region % 4];
    const rgb = (c.rgb[cls] || c.rgb[5]).map((v, k) => Math.round(v * (1 - part) + c.laneRGB[k] * part));
    s = {fill: `rgb(${rgb})`, ink: light(rgb) > 0.179 ? '#000000' : '#ffffff'};
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
