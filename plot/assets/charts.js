// Charts over one common stretch of time: values at the cursor, zoom by drag, pinch and keys.
// Everything that is shown as text is set as text, never as markup.
'use strict';

const seed = document.getElementById('seed');
const SVG = seed ? seed.namespaceURI : '';

function el(name, attributes, text) {
  const out = document.createElementNS(SVG, name);
  for (const key in attributes) out.setAttribute(key, attributes[key]);
  if (text !== undefined) out.textContent = text;
  return out;
}

function tag(name, className, text) {
  const out = document.createElement(name);
  if (className) out.className = className;
  if (text !== undefined) out.textContent = text;
  return out;
}

const pad2 = (n) => String(n).padStart(2, '0');

function clock(ms, withSeconds) {
  const d = new Date(ms);
  return pad2(d.getUTCHours()) + ':' + pad2(d.getUTCMinutes()) +
    (withSeconds ? ':' + pad2(d.getUTCSeconds()) : '');
}

function day(ms) {
  return new Date(ms).toISOString().slice(5, 10);
}

function moment(ms) {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}

function span(ms) {
  const s = Math.abs(ms) / 1000;
  if (s < 1) return Math.round(s * 1000) + ' ms';
  if (s < 60) return (s < 10 ? s.toFixed(1) : Math.round(s)) + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + Math.round(s % 60) + ' s';
  if (s < 172800) return Math.floor(s / 3600) + ' h ' + Math.round(s % 3600 / 60) + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.round(s % 86400 / 3600) + ' h';
}

function figures(v) {
  const size = Math.abs(v);
  if (size >= 1000) return Math.round(v).toString();
  if (size >= 100) return v.toFixed(0);
  if (size >= 10) return v.toFixed(1);
  if (size >= 0.01 || size === 0) return v.toPrecision(3);
  return v.toExponential(1);
}

// 1, 2 or 5 times a power of ten, so that about `count` of them cover the span.
function niceStep(range, count) {
  const rough = range / count;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const lead = rough / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600,
  43200, 86400, 172800, 604800, 1209600, 2592000].map((s) => s * 1000);

function timeTicks(from, to, count) {
  const range = to - from;
  const step = timeSteps.find((s) => range / s <= count) ||
    Math.ceil(range / count / 2592000000) * 2592000000;
  const ticks = [];
  let lastDay = '';
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const today = day(t);
    const text = step >= 86400000 ? today : clock(t, step < 60000);
    ticks.push({ t, text, day: today !== lastDay && step < 86400000 ? today : '' });
    lastDay = today;
  }
  return ticks;
}

// A series is {t: [...], v: [...]}: the first time and then the steps between, in milliseconds.
function unpack(packed, t0) {
  if (!packed) return { t: [], v: [] };
  const t = new Array(packed.t.length);
  let at = t0;
  for (let i = 0; i < t.length; i++) t[i] = at += packed.t[i];
  return { t, v: packed.v, s: packed.s };
}

// The place of the last point not after `at`; -1 before the first.
function before(t, at) {
  let low = 0;
  let high = t.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] <= at) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// The stretch of time that all charts show, and where the cursor is.
class View {
  constructor(from, to) {
    this.whole = [from, Math.max(to, from + 1)];
    this.from = this.whole[0];
    this.to = this.whole[1];
    this.cursor = (this.from + this.to) / 2;
    this.charts = [];
    this.watchers = [];
    this.asked = false;
  }

  zoom(from, to) {
    const least = Math.min(50, this.whole[1] - this.whole[0]);
    if (to - from < least) {
      const middle = (from + to) / 2;
      from = middle - least / 2;
      to = middle + least / 2;
    }
    this.from = Math.max(this.whole[0], from);
    this.to = Math.min(this.whole[1], to);
    if (this.to - this.from < least) this.from = this.to - least;
    this.redraw();
  }

  zoomAt(at, factor) {
    this.zoom(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  reset() {
    this.zoom(this.whole[0], this.whole[1]);
  }

  // Time goes on: who looks at the end goes on looking at it.
  grow(to) {
    const follows = this.to >= this.whole[1];
    const atEnd = this.cursor >= this.whole[1];
    this.whole[1] = Math.max(to, this.whole[1]);
    if (follows) this.to = this.whole[1];
    if (atEnd) this.cursor = this.whole[1];
  }

  zoomed() {
    return this.from > this.whole[0] || this.to < this.whole[1];
  }

  point(at) {
    this.cursor = Math.max(this.whole[0], Math.min(this.whole[1], at));
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      for (const chart of this.charts) chart.point();
      for (const watcher of this.watchers) watcher();
    });
  }

  redraw() {
    for (const chart of this.charts) chart.draw();
    for (const watcher of this.watchers) watcher();
  }
}

// The frame of a chart: axes, cursor, and what a pointer and keys do. What is drawn inside comes
// from those that extend it.
class Frame {
  constructor(view, holder, options) {
    this.view = view;
    this.holder = holder;
    this.options = options;
    this.legend = tag('div', 'keys');
    this.svg = el('svg', { class: 'chart', tabindex: '0', role: 'img' });
    this.svg.setAttribute('aria-label', options.label || '');
    holder.append(this.legend, this.svg);
    this.pointers = new Map();
    this.listen();
    view.charts.push(this);
  }

  domain() {
    return [this.view.from, this.view.to];
  }

  x(t) {
    const [from, to] = this.domain();
    return this.left + (t - from) / (to - from) * (this.right - this.left);
  }

  time(x) {
    const [from, to] = this.domain();
    return from + (x - this.left) / (this.right - this.left) * (to - from);
  }

  begin(height, left) {
    this.width = Math.max(200, this.holder.clientWidth);
    this.narrow = this.width < 560;
    this.left = left;
    this.right = this.width - 8;
    this.height = height;
    this.bottom = height - 24;
    this.svg.replaceChildren();
    this.svg.setAttribute('viewBox', '0 0 ' + this.width + ' ' + height);
    this.svg.setAttribute('width', this.width);
    this.svg.setAttribute('height', height);
  }

  timeAxis() {
    const [from, to] = this.domain();
    const ticks = timeTicks(from, to, Math.max(2, (this.right - this.left) / 84));
    for (const tick of ticks) {
      const x = this.x(tick.t);
      this.svg.append(el('line', { class: 'grid', x1: x, x2: x, y1: 4, y2: this.bottom }));
      const edge = x < this.left + 20 ? ' ts' : x > this.right - 20 ? ' ty' : ' tx';
      this.svg.append(el('text', { class: edge.trim(), x, y: this.bottom + 12 }, tick.text));
      if (tick.day) {
        this.svg.append(el('text', { class: edge.trim() + ' day', x, y: this.bottom + 22 }, tick.day));
      }
    }
  }

  finish() {
    this.line = el('line', { class: 'cursor', y1: 2, y2: this.bottom });
    this.box = el('rect', { class: 'chosen', y: 2, height: this.bottom - 2, width: 0, x: 0 });
    this.svg.append(this.box, this.line);
    this.point();
  }

  point() {
    if (!this.line) return;
    const [from, to] = this.domain();
    const at = this.view.cursor;
    const inside = at >= from && at <= to;
    this.line.setAttribute('visibility', inside ? 'visible' : 'hidden');
    const x = this.x(at);
    this.line.setAttribute('x1', x);
    this.line.setAttribute('x2', x);
    this.tell();
  }

  tell() {}

  listen() {
    const s = this.svg;
    s.addEventListener('pointerdown', (e) => this.down(e));
    s.addEventListener('pointermove', (e) => this.move(e));
    s.addEventListener('pointerup', (e) => this.up(e));
    s.addEventListener('pointercancel', (e) => { this.pointers.delete(e.pointerId); this.end(); });
    s.addEventListener('dblclick', () => this.view.reset());
    s.addEventListener('keydown', (e) => this.key(e));
    s.addEventListener('wheel', (e) => {
      if (!e.ctrlKey || this.options.own) return;
      e.preventDefault();
      this.view.zoomAt(this.time(this.at(e).x), Math.exp(e.deltaY * 0.004));
    }, { passive: false });
  }

  at(e) {
    const r = this.svg.getBoundingClientRect();
    return { x: e.clientX - r.left, y: e.clientY - r.top };
  }

  down(e) {
    const p = this.at(e);
    this.pointers.set(e.pointerId, p);
    if (this.pointers.size === 2 && !this.options.own) {
      const [a, b] = [...this.pointers.values()];
      this.pinch = { a: this.time(a.x), b: this.time(b.x) };
      this.start = null;
    } else if (e.pointerType === 'mouse') {
      this.start = p.x;
      this.svg.setPointerCapture(e.pointerId);
    }
    this.hover(p);
  }

  move(e) {
    const p = this.at(e);
    if (this.pointers.has(e.pointerId)) this.pointers.set(e.pointerId, p);
    if (this.pinch && this.pointers.size === 2) {
      const [a, b] = [...this.pointers.values()];
      if (Math.abs(a.x - b.x) < 12) return;
      const slope = (this.pinch.b - this.pinch.a) / (b.x - a.x);
      if (!(slope > 0)) return;
      const from = this.pinch.a - (a.x - this.left) * slope;
      this.view.zoom(from, from + (this.right - this.left) * slope);
      return;
    }
    if (this.start != null && !this.options.own) {
      const [x1, x2] = [Math.min(p.x, this.start), Math.max(p.x, this.start)];
      this.box.setAttribute('x', Math.max(this.left, x1));
      this.box.setAttribute('width', Math.max(0, Math.min(this.right, x2) - Math.max(this.left, x1)));
    }
    this.hover(p);
  }

  hover(p) {
    this.hovered = p;
    if (p.x >= this.left - 4 && p.x <= this.right + 4) this.view.point(this.time(p.x));
  }

  up(e) {
    const p = this.at(e);
    this.pointers.delete(e.pointerId);
    const dragged = this.start != null && Math.abs(p.x - this.start) > 6 && !this.options.own;
    const from = this.start;
    this.end();
    if (dragged) this.view.zoom(this.time(Math.min(from, p.x)), this.time(Math.max(from, p.x)));
  }

  end() {
    this.start = null;
    this.pinch = null;
    if (this.box) this.box.setAttribute('width', 0);
  }

  key(e) {
    const view = this.view;
    const step = (view.to - view.from) / (e.shiftKey ? 20 : 200);
    if (e.key === 'ArrowLeft') view.point(view.cursor - step);
    else if (e.key === 'ArrowRight') view.point(view.cursor + step);
    else if (e.key === '+' || e.key === '=') view.zoomAt(view.cursor, 0.5);
    else if (e.key === '-') view.zoomAt(view.cursor, 2);
    else if (e.key === '0' || e.key === 'Escape') view.reset();
    else return;
    e.preventDefault();
  }
}

// Lines over time. A series: {name, colour, t, v, unit, step, dash, strong, gap, hidden}; with
// `stack` the series lie upon each other as areas.
class Lines extends Frame {
  constructor(view, holder, options) {
    super(view, holder, options);
    this.series = options.series;
    this.keys = this.series.map((s) => this.keyOf(s));
    this.draw();
  }

  keyOf(s) {
    const key = tag('button', 'key');
    key.type = 'button';
    const mark = tag('i', s.dash ? 'dash' : '');
    mark.style.setProperty('--mark', s.colour);
    const value = tag('b', '');
    key.append(mark, document.createTextNode(s.name + ' '), value);
    key.setAttribute('aria-pressed', String(!s.hidden));
    key.addEventListener('click', () => {
      s.hidden = !s.hidden;
      key.setAttribute('aria-pressed', String(!s.hidden));
      this.draw();
    });
    this.legend.append(key);
    return value;
  }

  valueAt(s, at) {
    const i = before(s.t, at);
    if (i < 0 || s.v[i] < (s.least === undefined ? -Infinity : s.least)) return null;
    if (s.gap && at - s.t[i] > s.gap) return null;
    if (s.until && at > s.until) return null;
    return s.v[i];
  }

  tell() {
    this.series.forEach((s, i) => {
      const v = this.valueAt(s, this.view.cursor);
      const beside = s.beside && v !== null ? s.beside(before(s.t, this.view.cursor)) : '';
      this.keys[i].textContent = v === null ? '–' : figures(v) + (s.unit ? ' ' + s.unit : '') + beside;
    });
  }

  range() {
    const [from, to] = this.domain();
    let low = this.options.zero ? 0 : Infinity;
    let high = -Infinity;
    for (const s of this.series) {
      if (s.hidden || s.loose) continue;
      const first = Math.max(0, before(s.t, from));
      for (let i = first; i < s.t.length && s.t[i] <= to; i++) {
        if (s.v[i] < (s.least === undefined ? -Infinity : s.least)) continue;
        low = Math.min(low, s.v[i]);
        high = Math.max(high, s.v[i]);
      }
    }
    if (!(high >= low)) return [0, 1];
    if (high === low) { high += Math.abs(high) * 0.1 || 1; if (!this.options.zero) low -= Math.abs(low) * 0.1; }
    return [low, high];
  }

  y(v) {
    const f = this.log ? (x) => Math.log(x) : (x) => x;
    const share = (f(v) - f(this.low)) / (f(this.high) - f(this.low));
    return this.bottom - Math.max(0, Math.min(1, share)) * (this.bottom - 10);
  }

  yAxis() {
    const ticks = [];
    if (this.log) {
      const few = this.high / this.low < 30;
      for (let e = -12; e <= 15; e++) {
        for (const m of few ? [1, 2, 5] : [1]) {
          const v = m * Math.pow(10, e);
          if (v >= this.low && v <= this.high) ticks.push(v);
        }
      }
    } else {
      const step = niceStep(this.high - this.low, 4);
      for (let v = Math.ceil(this.low / step - 1e-9) * step; v <= this.high + step * 1e-6; v += step) {
        ticks.push(Math.abs(v) < step * 1e-6 ? 0 : v);
      }
    }
    for (const v of ticks) {
      const y = this.y(v);
      this.svg.append(el('line', { class: 'grid', x1: this.left, x2: this.right, y1: y, y2: y }));
      this.svg.append(el('text', { class: 'ty', x: this.left - 6, y: y + 4 },
        this.log || Math.abs(v) < 1000 ? String(+v.toPrecision(6)) : figures(v)));
    }
    if (this.options.unit) {
      this.svg.append(el('text', { class: 'ts unit', x: this.left + 4, y: 12 }, this.options.unit));
    }
  }

  // The lowest and the highest in each pixel are enough.
  path(s) {
    const [from, to] = this.domain();
    let d = '';
    let i = Math.max(0, before(s.t, from));
    let column = -1;
    let low = 0;
    let high = 0;
    let last = 0;
    let lastT = -Infinity;
    const flush = () => {
      if (column < 0) return;
      if (low !== high) d += 'V' + low.toFixed(1) + 'V' + high.toFixed(1) + 'V' + last.toFixed(1);
    };
    for (; i < s.t.length; i++) {
      const missing = s.v[i] < (s.least === undefined ? -Infinity : s.least);
      if (missing) { flush(); column = -1; lastT = -Infinity; continue; }
      const x = Math.max(this.left, Math.min(this.right, this.x(s.t[i])));
      const y = this.y(s.v[i]);
      const broken = lastT === -Infinity || (s.gap && s.t[i] - lastT > s.gap);
      if (!broken && Math.floor(x) === column) {
        low = Math.min(low, y); high = Math.max(high, y); last = y;
      } else {
        flush();
        if (broken) d += 'M' + x.toFixed(1) + ',' + y.toFixed(1);
        else d += (s.step ? 'H' + x.toFixed(1) + 'V' : 'L' + x.toFixed(1) + ',') + y.toFixed(1);
        column = Math.floor(x);
        low = high = last = y;
      }
      lastT = s.t[i];
      if (s.t[i] > to) break;
    }
    flush();
    if (s.step && lastT > -Infinity && lastT < to && !(s.until && lastT > s.until)) {
      d += 'H' + this.x(Math.min(to, s.until || to)).toFixed(1);
    }
    return d;
  }

  draw() {
    const o = this.options;
    if (!this.holder.clientWidth) return;
    this.begin(o.height || (this.narrow ? 180 : 200), this.holder.clientWidth < 560 ? 40 : 52);
    [this.low, this.high] = o.stack ? this.stackRange() : this.range();
    this.log = Boolean(o.log) && this.low > 0 && this.high / this.low > 8;
    if (!this.log) {
      const room = (this.high - this.low) * 0.05;
      this.high += room;
      if (!o.zero) this.low -= room;
    }
    this.timeAxis();
    this.yAxis();
    if (o.under) o.under(this);
    if (o.stack) this.drawStack();
    for (const s of this.series) {
      if (s.hidden || (o.stack && !s.over)) continue;
      const line = el('path', { class: 'line' + (s.strong ? ' strong' : '') + (s.dash ? ' dashed' : ''), d: this.path(s) });
      line.style.setProperty('stroke', s.colour);
      this.svg.append(line);
    }
    if (o.above) o.above(this);
    this.finish();
  }

  columns(each) {
    const out = [];
    for (let x = this.left; x <= this.right; x += 1.5) out.push([x, each(this.time(x))]);
    return out;
  }

  stackRange() {
    const [from, to] = this.domain();
    let high = 0;
    for (let i = 0; i <= 400; i++) {
      const at = from + (to - from) * i / 400;
      let sum = 0;
      for (const s of this.series) {
        const v = s.hidden ? null : this.valueAt(s, at);
        if (v !== null && s.over) high = Math.max(high, v);
        else if (v !== null) sum += v;
      }
      high = Math.max(high, sum);
    }
    return [0, high || 1];
  }

  drawStack() {
    const layers = this.series.filter((s) => !s.over && !s.hidden);
    const below = [];
    for (let x = this.left; x <= this.right; x += 1.5) below.push(0);
    for (const s of layers) {
      let top = '';
      let bottom = '';
      let lastTop = '';
      below.forEach((base, i) => {
        const x = this.left + i * 1.5;
        const v = this.valueAt(s, this.time(x)) || 0;
        below[i] = base + v;
        const yTop = this.y(base + v).toFixed(1);
        top += (i === 0 ? 'M' + x.toFixed(1) + ',' + yTop : (yTop === lastTop ? 'H' + x.toFixed(1) : 'H' + x.toFixed(1) + 'V' + yTop));
        lastTop = yTop;
        bottom = 'L' + x.toFixed(1) + ',' + this.y(base).toFixed(1) + bottom;
      });
      const area = el('path', { class: 'area', d: top + bottom + 'Z' });
      area.style.setProperty('fill', s.colour);
      this.svg.append(area);
    }
  }
}
