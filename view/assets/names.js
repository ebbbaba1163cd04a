// Names of rows, fetched in chunks when they come into view.

const chunk = 4096;

export class Names {
  constructor(source, run, {locations, counters}, busy, changed) {
    Object.assign(this, {source, run, total: locations, counters, busy, changed});
    this.chunks = new Map();
  }

  // of is the location of a row, or null until it is known.
  of(row) {
    if (row < 0 || row >= this.total) return null;
    const c = Math.floor(row / chunk);
    const have = this.chunks.get(c);
    if (have === undefined) this.fetch(c);
    return have?.[row - c * chunk] || null;
  }

  // sure is like of, but waits until the location is known.
  async sure(row) {
    const c = Math.floor(row / chunk);
    if (this.chunks.get(c) === undefined) this.fetch(c);
    const have = await this.pending?.get(c) ?? this.chunks.get(c);
    return have?.[row - c * chunk] || null;
  }

  fetch(c) {
    this.chunks.set(c, null);
    this.pending ??= new Map();
    this.pending.set(c, this.load(c));
  }

  async load(c) {
    this.busy.start();
    try {
      const a = await this.source.json('locations', {from: c * chunk, max: chunk, run: this.run || null});
      this.chunks.set(c, a.list);
      if (this.chunks.size > 64) this.chunks.delete(this.chunks.keys().next().value);
      return a.list;
    } catch {
      return null; // rows then have numbers only
    } finally {
      this.pending.delete(c);
      this.changed();
      this.busy.end();
    }
  }

  // recorder is the first row, among those known, of a recorder that reads a counter.
  recorder(counter) {
    return [...this.chunks.values()].flatMap((list) => list || []).find((l) => l.counter === counter)?.location;
  }

  label(row) {
    const l = this.of(row);
    if (!l) return 'row ' + row;
    if (l.type !== 'cpu' && l.name) return l.name;
    if (l.counter >= 0) return this.counters[l.counter].name.replace(/^.*:::/, ''); // without the part of PAPI that reads it
    return 'rank ' + l.process + (l.thread ? '.' + l.thread : '');
  }

  // group is the label of some rows.
  group(from, to) {
    const last = Math.min(to, this.total) - 1;
    if (last <= from) return this.label(from);
    const a = this.of(from);
    const b = this.of(last);
    if (!a || !b) return `rows ${from}–${last}`;
    if (a.process !== b.process) return `ranks ${a.process}–${b.process}`;
    const whole = this.of(from - 1)?.process !== a.process && this.of(last + 1)?.process !== a.process;
    return 'rank ' + a.process + (whole ? '' : `, rows ${from}–${last}`);
  }

  // short is like group, for places with little room.
  short(from, to) {
    const text = this.group(from, to);
    return text.length > 13 ? text.replace(/^(ranks|rows|rank \d+, rows) /, '') : text;
  }

  // ranks is the set of processes of some rows, for requests; empty for all of them.
  async ranks(from, to) {
    if (from <= 0 && to >= this.total) return '';
    const a = await this.sure(Math.max(0, Math.floor(from)));
    const b = await this.sure(Math.min(this.total, Math.ceil(to)) - 1);
    return a && b ? (a.process === b.process ? '' + a.process : a.process + '-' + b.process) : '';
  }
}
