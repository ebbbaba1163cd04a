import {el, fit} from './dom.js';
import {roundStep} from './format.js';
import {colours} from './theme.js';

// Small charts of panels on a canvas. Each has a table or text with the same content next to it.

// chart makes a canvas of a size, drawn when it is in the page.
export function chart(width, height, label, draw, pick) {
  const canvas = el('canvas', {role: 'img', 'aria-label': label});
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  requestAnimationFrame(() => {
    const {ctx} = fit(canvas);
    ctx.clearRect(0, 0, width, height);
    ctx.font = '12px system-ui, "DejaVu Sans", sans-serif';
    ctx.textBaseline = 'middle';
    draw(ctx, colours());
  });
  if (pick) {
    canvas.addEventListener('click', (e) => pick(e.offsetX, e.offsetY, true));
    canvas.addEventListener('mousemove', (e) => { canvas.title = pick(e.offsetX, e.offsetY, false) || ''; });
  }
  return canvas;
}

// scale gives round values from 0 or low up to high: {at: [...], top}.
export function scale(low, high, n) {
  const step = roundStep(Math.max(high - low, 1e-300) / n);
  const at = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9) && at.length < 20; k++) at.push(k * step + 0); // no negative 0
  return at;
}

// yAxis draws values and lines across; it returns the function from value to pixel.
export function yAxis(ctx, c, box, low, high, write) {
  const y = (v) => box.y + box.h - (v - low) / (high - low || 1) * box.h;
  for (const v of scale(low, high, 4)) {
    ctx.fillStyle = c.line;
    ctx.fillRect(box.x, Math.round(y(v)), box.w, 1);
    ctx.fillStyle = c.dim;
    const text = write(v);
    ctx.fillText(text, box.x - 6 - ctx.measureText(text).width, y(v));
  }
  return y;
}

// columns draws parts, {fill, of: (column) => value}, stacked in a column for each of first, the lowest ranks of columns, with both axes. It
// returns the functions from value and column to pixels, and the width of a column.
export function columns(ctx, c, box, high, write, first, parts) {
  const y = yAxis(ctx, c, box, 0, high, write);
  const x = (k) => Math.round(box.x + k * box.w / first.length); // whole pixels: parts of one would shade the columns
  const wide = (k) => Math.max(1, x(k + 1) - x(k) - (box.w / first.length > 4 ? 1 : 0));
  first.forEach((_, k) => {
    let sum = 0;
    for (const {fill, of} of parts) {
      ctx.fillStyle = fill;
      const top = y(sum + of(k));
      ctx.fillRect(x(k), top, wide(k), y(sum) - top);
      sum += of(k);
    }
  });
  ctx.fillStyle = c.dim;
  for (let k = 0; k < first.length; k += Math.max(1, Math.ceil(first.length / (box.w / 44)))) {
    const text = String(first[k]);
    ctx.fillText(text, Math.min(x(k) + 2, box.x + box.w + 10 - ctx.measureText(text).width), box.y + box.h + 12);
  }
  return {x, y, wide};
}

// heat is a colour for a share from 0 to 1, from the background to the strongest.
export function heat(c, x) {
  const strong = c.heat;
  return `rgb(${c.laneRGB.map((v, k) => Math.round(v + (strong[k] - v) * (0.12 + 0.88 * x)))})`;
}
