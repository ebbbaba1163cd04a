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
