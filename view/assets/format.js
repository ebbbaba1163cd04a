// Numbers and times as people read them, in the locale's grouping.

const grouped = new Intl.NumberFormat();
const three = new Intl.NumberFormat(undefined, {maximumSignificantDigits: 3});
const allThree = new Intl.NumberFormat(undefined, {minimumSignificantDigits: 3, maximumSignificantDigits: 3});
const percent = new Intl.NumberFormat(undefined, {style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1});

export function count(n) {
  return n === null || n === undefined ? '–' : grouped.format(n);
}

export function processes(n) {
  return `${count(n)} ${n === 1 ? 'process' : 'processes'}`;
}

export function share(x) {
  return x === null || x === undefined || !isFinite(x) ? '–' : percent.format(x);
}

export function ratio(x) {
  return x === null || x === undefined || !isFinite(x) ? '–' : x.toFixed(3);
}

export function bytes(n) {
  if (n === null || n === undefined) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let u = 0;
  let x = Number(n);
  while (x >= (u === 0 ? 1000 : 999.5) && u < units.length - 1) {
    x /= 1000;
    u++;
  }
  return (u === 0 ? grouped : three).format(x) + ' ' + units[u];
}

const timeUnits = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];

// unitOf is the largest unit in which a time of that many seconds, rounded to three digits, is at least one.
function unitOf(seconds) {
  for (const u of timeUnits) {
    if (seconds >= u[0] * 0.9995) return u;
  }
  return timeUnits[timeUnits.length - 1];
}

// roundStep is 1, 2 or 5 times a power of ten, not below x.
export function roundStep(x) {
  const power = Math.pow(10, Math.floor(Math.log10(x)));
  return [1, 2, 5, 10].find((k) => k * power >= x * 0.9999) * power;
}

// Clock turns ticks into words: seconds where the trace tells its resolution, ticks where not.
export class Clock {
  constructor(resolution) {
    this.resolution = resolution > 0 ? resolution : 0; // ticks per second
  }

  // duration of some ticks with three significant digits, of long ones all whole seconds.
  duration(ticks) {
    if (ticks === null || ticks === undefined) return '–';
    if (this.resolution === 0) return grouped.format(Math.round(ticks)) + ' ticks';
    const s = Number(ticks) / this.resolution;
    if (s === 0) return '0 s';
    const [u, name] = unitOf(Math.abs(s));
    const x = s / u;
    if (Math.abs(x) >= 999.5) return grouped.format(Math.round(x)) + ' ' + name;
    return (name === 'ns' ? three : allThree).format(x) + ' ' + name;
  }

  // at is a point of time, exact enough to tell points apart that are step ticks from each other; in the unit of another one.
  at(ticks, step, other = ticks) {
    if (this.resolution === 0) return grouped.format(Math.round(ticks));
    const s = Number(ticks) / this.resolution + 0; // no negative 0
    const d = Math.max(step / this.resolution, 1e-12);
    const [u, name] = unitOf(Math.max(Math.abs(Number(other) / this.resolution), d));
    const digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10(d / u) - 1e-9)));
    return new Intl.NumberFormat(undefined, {minimumFractionDigits: digits, maximumFractionDigits: digits})
      .format(s / u) + ' ' + name;
  }

  // ticks gives round points of time for an axis: at most n of them in [from, to].
  marks(from, to, n) {
    const unit = this.resolution || 1;
    const step = roundStep(Math.max((to - from) / unit / n, 1e-12));
    const out = [];
    for (let k = Math.ceil(from / unit / step - 1e-9) + 0; k * step * unit <= to && out.length <= n + 1; k++) {
      out.push(k * step * unit);
    }
    return {step: step * unit, at: out};
  }

  // parse reads 12.5, 12.5s, 30ms, 40% of a span, or #ticks; NaN where it is none of these.
  parse(text, span) {
    const m = /^\s*(#)?\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*(s|ms|us|µs|ns|%)?\s*$/i.exec(text);
    if (!m) return NaN;
    const x = parseFloat(m[2]);
    if (m[1]) return m[3] ? NaN : x;
    if (m[3] === '%') return span * x / 100;
    if (this.resolution === 0) return m[3] ? NaN : x;
    const unit = {s: 1, ms: 1e-3, us: 1e-6, 'µs': 1e-6, ns: 1e-9}[(m[3] || 's').toLowerCase()];
    return x * unit * this.resolution;
  }
}
