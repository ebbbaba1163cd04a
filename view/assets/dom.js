// Small helpers over the document. Text is always set as text: names come from traces and are not trusted.

export const $ = (id) => document.getElementById(id);

// el makes an element: el('td', {class: 'n'}, 'text', child).
export function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? '' : value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.filter((c) => c !== null && c !== undefined && c !== false));
}

let liveTimer = 0;

// say announces a text through the live region. A text that follows quickly replaces one that was not announced yet.
export function say(text) {
  clearTimeout(liveTimer);
  liveTimer = setTimeout(() => { $('live').textContent = text; }, 150);
}

// notice shows a message above the panels, in words, until the next one.
export function notice(text, kind) {
  const box = $('notice');
  box.hidden = !text;
  box.className = kind || '';
  replace(box, el('span', {}, text || ''), el('button', {onclick: () => notice('')}, 'Dismiss'));
}

// fit makes a canvas as large as its box, in device pixels, and returns its context with the sizes in CSS pixels.
export function fit(canvas) {
  const box = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(box.width * scale));
  const h = Math.max(1, Math.round(box.height * scale));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = canvas.getContext('2d');
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  return {ctx, width: box.width, height: box.height, scale};
}

// beginning is the part that text begins with, of at most so many bytes as UTF-8.
export function beginning(text, bytes) {
  const part = new Uint8Array(bytes);
  return text.slice(0, new TextEncoder().encodeInto(text, part).read);
}

// cut shortens text so that it is at most width pixels wide; nothing where not even three letters would fit.
export function cut(ctx, text, width) {
  if (width < 18) return '';
  if (ctx.measureText(text).width <= width) return text;
  let lo = 0;
  let hi = text.length;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (ctx.measureText(text.slice(0, mid) + '…').width <= width) lo = mid;
    else hi = mid - 1;
  }
  return lo < 3 ? '' : text.slice(0, lo) + '…';
}
