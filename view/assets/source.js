// Where answers come from: the server, or what is embedded in a static file. Both give the JSON of an endpoint or the
// bytes of a tile, or throw a Failure with the server's words.

export class Failure extends Error {
  constructor(words, status) {
    super([words.what, words.where, words.why].filter(Boolean).join(': '));
    this.words = words;
    this.status = status;
  }

  // text is all four parts: what, where, why, what to do.
  text() {
    return this.message.replace(/[.\s]*$/, '.') + (this.words.do ? ' ' + this.words.do : '');
  }
}

// Busy counts what is in progress; the page is ready when nothing is.
export class Busy {
  constructor() {
    this.n = 0;
    this.idle = () => {};
  }

  start() {
    this.n++;
    document.documentElement.dataset.state = 'busy';
  }

  end() {
    this.n--;
    if (this.n === 0) this.idle();
  }
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// Server asks the server that the page came from. Immutable answers stay in the browser's own cache.
class Server {
  constructor() {
    this.version = '';
    this.static = false;
  }

  address(path, params) {
    const q = new URLSearchParams();
    for (const [k, v] of Object.entries(params || {})) {
      if (v !== null && v !== undefined && v !== '') q.set(k, v);
    }
    if (this.version) q.set('v', this.version);
    return 'api/' + path + (q.size ? '?' + q : '');
  }

  async ask(path, params, signal) {
    for (let tries = 0; ; tries++) {
      let r;
      try {
        r = await fetch(this.address(path, params), {signal, credentials: 'same-origin'});
      } catch (e) {
        if (e.name === 'AbortError') throw e;
        throw new Failure({what: 'the server does not answer', why: 'it has ended, or the connection to it is broken',
          do: 'Start it again, coppice serve RUN.xtf, and open the address that it prints.'}, 0);
      }
      if (r.ok) return r;
      if (r.status === 503 && tries < 5) {
        await wait(200 << tries);
        continue;
      }
      throw new Failure(await words(r), r.status);
    }
  }

  async json(path, params, signal) {
    return (await this.ask(path, params, signal)).json();
  }

  async tile(run, z, x, f, i, signal) {
    return (await this.ask(`tile/${z}/${x}/${f}-${i}`, {run: run || null}, signal)).arrayBuffer();
  }
}

async function words(r) {
  try {
    return (await r.json()).error;
  } catch {
    return {what: 'the server answered ' + r.status + ' ' + r.statusText, where: new URL(r.url).pathname};
  }
}

// Embedded answers from what coppice export --to viewer put into the file.
class Embedded {
  constructor(data) {
    this.data = data;
    this.static = true;
    this.version = '';
  }

  missing(path) {
    return new Failure({what: 'not included in this file', where: path, why: '',
      do: 'For this, run: coppice serve ' + this.data.name}, 404);
  }

  // json finds the answer to exactly this question; one for the whole run has no span.
  async json(path, params) {
    const q = Object.entries(params || {}).filter(([, v]) => v !== null && v !== undefined && v !== '')
      .map(([k, v]) => k + '=' + v).sort().join('&');
    const key = path + (q ? '?' + q : '');
    if (!Object.hasOwn(this.data.json, key)) throw this.missing(path);
    return this.data.json[key];
  }

  async tile(run, z, x, f, i) {
    const text = this.data.tiles[`${run}/${z}/${x}/${f}-${i}`];
    if (text === undefined) throw this.missing('deeper zoom');
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
  }
}

export function openSource() {
  const embedded = document.getElementById('embedded');
  return embedded ? new Embedded(JSON.parse(embedded.textContent)) : new Server();
}

// Tiles: 512 bins by up to 64 rows, as the server packs them. A decoded tile is views into one buffer, without a copy.
// The cache is bounded in bytes, so that the browser never holds more than what is near the window.

export const bins = 512;
export const tileRows = 64;
export const shares = 8; // classes that tiles have planes of; own code has all that come after
const cacheBytes = 48 << 20;
const atOnce = 6;

const flagSpans = 1;
export const flagLost = 8;

// decodeTile reads the layout of api/tile. It throws where the bytes do not fit together.
function decodeTile(buffer) {
  const v = new DataView(buffer);
  if (buffer.byteLength < 64 || v.getUint32(0, true) !== 0x4c495443 || v.getUint16(4, true) !== 2) {
    throw new Error('this is not a tile');
  }
  const flags = v.getUint16(6, true);
  const rows = v.getUint32(8, true);
  const spans = v.getUint32(12, true);
  const cells = rows * bins;
  const tail = 64 + cells * 16;
  if (rows > tileRows || buffer.byteLength < tail + spans * 34) throw new Error('a tile is shorter than it says');
  const t = {
    flags, rows, spans, first: v.getUint32(16, true), size: v.getUint32(20, true), begin: v.getFloat64(24, true),
    width: v.getFloat64(32, true), lost: v.getUint32(40, true), bytes: buffer.byteLength,
    region: new Uint32Array(buffer, 64, cells),
    share: new Uint8Array(buffer, 64 + 4 * cells, 8 * cells),
    wait: new Uint8Array(buffer, 64 + 12 * cells, cells),
    calls: new Uint8Array(buffer, 64 + 13 * cells, cells),
    flag: new Uint8Array(buffer, 64 + 14 * cells, cells),
    gap: new Uint8Array(buffer, 64 + 15 * cells, cells),
  };
  let at = tail;
  const next = (Type, n) => {
    const a = new Type(buffer, at, n);
    at += n * Type.BYTES_PER_ELEMENT;
    return a;
  };
  if (flags & flagSpans) {
    t.span = {begin: next(Float64Array, spans), end: next(Float64Array, spans), n: next(Float64Array, spans),
      region: next(Uint32Array, spans), row: next(Uint16Array, spans), depth: next(Uint16Array, spans),
      class: next(Uint8Array, spans), flags: next(Uint8Array, spans)};
  }
  return t;
}

// Recent is a map that forgets what was not used for longest, beyond a number of bytes.
export class Recent {
  constructor(limit) {
    this.limit = limit;
    this.bytes = 0;
    this.map = new Map();
  }

  find(key) {
    const e = this.map.get(key);
    if (!e) return undefined;
    this.map.delete(key);
    this.map.set(key, e);
    return e.value;
  }

  keep(key, value, bytes) {
    const old = this.map.get(key);
    if (old) {
      this.bytes -= old.bytes;
      this.map.delete(key);
    }
    this.map.set(key, {value, bytes});
    this.bytes += bytes;
    for (const [k, e] of this.map) {
      if (this.bytes <= this.limit || this.map.size === 1) break;
      this.map.delete(k);
      this.bytes -= e.bytes;
    }
  }

  clear() {
    this.map.clear();
    this.bytes = 0;
  }
}

// Tiles gets the tiles of one run.
export class Tiles {
  constructor(source, run, meta, busy, changed, failed) {
    Object.assign(this, {source, run, meta, busy, changed, failed});
    this.cache = new Recent(cacheBytes);
    this.wanted = []; // most wanted first
    this.too = []; // what is wanted besides what want is called with
    this.active = new Map(); // key -> AbortController
    this.refused = new Map(); // key -> Failure
  }

  // width is the ticks of a tile of a zoom.
  width(z) {
    return bins * Math.pow(2, this.meta.scale - z);
  }

  // zoomFor is the coarsest zoom whose bins are at most 1.6 pixels wide.
  zoomFor(ticksPerPixel) {
    const z = Math.ceil(this.meta.scale - Math.log2(ticksPerPixel * 1.6));
    return Math.max(0, Math.min(this.meta.scale, z));
  }

  // levelFor is the finest group of rows of which each gets some height, of those that the file has.
  levelFor(rowHeight) {
    let f = 0;
    while (f + 1 < this.meta.groups.length && rowHeight * this.meta.groups[f] < 1.5) f++;
    return f;
  }

  static key(z, x, f, i) {
    return `${z}/${x}/${f}-${i}`;
  }

  peek(z, x, f, i) {
    return this.cache.find(Tiles.key(z, x, f, i));
  }

  // want replaces the list of tiles to get. Tiles in progress that are in neither list are given up.
  want(list) {
    const keys = new Set();
    this.wanted = [...list, ...this.too].filter((t) => {
      const key = Tiles.key(...t);
      if (keys.has(key) || this.cache.map.has(key) || this.refused.has(key)) return false;
      keys.add(key);
      return true;
    });
    for (const [key, control] of this.active) {
      if (!keys.has(key)) control.abort();
    }
    this.pump();
  }

  // wantToo replaces the second list of tiles to get, which come after the first.
  wantToo(list) {
    this.too = list;
    this.want(this.wanted);
  }

  pump() {
    for (const t of this.wanted) {
      if (this.active.size >= atOnce) return;
      if (!this.active.has(Tiles.key(...t))) this.get(...t);
    }
  }

  async get(z, x, f, i) {
    const key = Tiles.key(z, x, f, i);
    const control = new AbortController();
    this.active.set(key, control);
    this.busy.start();
    let over = true;
    try {
      const tile = decodeTile(await this.source.tile(this.run, z, x, f, i, control.signal));
      this.cache.keep(key, tile, tile.bytes);
    } catch (e) {
      if (e.name === 'AbortError') {
        over = false; // it may be wanted again by now
      } else {
        this.refused.set(key, e);
        if (e.status === 0) setTimeout(() => this.refused.delete(key), 3000); // the server may come back
        this.failed(e);
      }
    } finally {
      this.active.delete(key);
      if (over) {
        this.wanted = this.wanted.filter((t) => Tiles.key(...t) !== key);
        this.changed();
      }
      this.pump();
      this.busy.end();
    }
  }
}
