import {$} from './dom.js';

// Themes: light, dark, or the system's. Colours are in style.css alone; the canvas reads them from there.

const themes = ['system', 'light', 'dark'];
const darkSystem = matchMedia('(prefers-color-scheme: dark)');
let palette = null;

function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage is off, or the page is a file
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // settings then last as long as the page
  }
}

export function recall(key, otherwise) {
  return stored(key) ?? otherwise;
}

export function theme() {
  return document.documentElement.dataset.theme || 'system';
}

export function setTheme(name, changed) {
  document.documentElement.dataset.theme = themes.includes(name) ? name : 'system';
  remember('coppice-theme', theme());
  $('theme').textContent = 'Theme: ' + theme();
  follow();
  changed();
}

// follow makes the page dark or light, and colours be read anew.
function follow() {
  document.documentElement.toggleAttribute('data-dark', theme() === 'dark' || theme() === 'system' && darkSystem.matches);
  palette = null;
}

export function nextTheme(changed) {
  setTheme(themes[(themes.indexOf(theme()) + 1) % themes.length], changed);
}

export function watchTheme(changed) {
  for (const query of [darkSystem, matchMedia('(forced-colors: active)')]) {
    query.addEventListener('change', () => {
      follow();
      changed();
    });
  }
}

export const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

// colours of the theme in force, read once per theme.
export function colours() {
  if (palette) return palette;
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue('--' + name).trim();
  palette = {cls: [], rgb: []};
  for (let i = 0; get('c' + i); i++) { // in the order of the classes of api/meta
    palette.cls.push(get('c' + i));
    palette.rgb.push(parse(get('c' + i)));
  }
  for (const name of ['bg', 'lane', 'text', 'dim', 'line', 'accent', 'wait', 'critical', 'arrow', 'select', 'mark',
    'edge', 'panel', 'row', 'gap']) {
    palette[name] = get(name);
  }
  palette.laneRGB = parse(palette.lane);
  palette.gapRGB = parse(palette.gap);
  palette.waitRGB = parse(palette.wait);
  palette.heat = parse(palette.accent);
  palette.hatch = null;
  return palette;
}

const probe = document.createElement('canvas').getContext('2d');

// parse reads any colour, also the system's colours that forced-colors brings.
function parse(colour) {
  probe.fillStyle = '#000000';
  probe.fillStyle = colour;
  const n = parseInt(probe.fillStyle.slice(1, 7), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

// hatch is the pattern of waits: stripes of the wait colour, so that they show without colour too.
export function hatch(ctx) {
  const p = colours();
  if (p.hatch) return p.hatch;
  const tile = document.createElement('canvas');
  tile.width = tile.height = 10;
  const t = tile.getContext('2d');
  t.strokeStyle = p.bg;
  t.lineWidth = 3.4;
  const stripe = () => {
    t.beginPath();
    for (const [x, y] of [[-2, 2], [0, 10], [8, 12]]) {
      const n = y === 10 ? 10 : 4;
      t.moveTo(x, y);
      t.lineTo(x + n, y - n);
    }
    t.stroke();
  };
  stripe();
  t.strokeStyle = p.wait;
  t.lineWidth = 1.8;
  stripe();
  p.hatch = ctx.createPattern(tile, 'repeat');
  return p.hatch;
}
