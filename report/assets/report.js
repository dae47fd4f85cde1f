// The charts of a report, made of the data in the page.

const data = JSON.parse(document.getElementById('data').textContent);
const view = new View(data.t0, data.t1);
const many = (i) => 'var(--m' + i % 24 + ')';
const doings = ['running', 'throttled', 'waiting', 'starting', 'making way', 'crashed', 'paused',
  'agent down'];
const doingColours = ['var(--c0)', 'var(--c1)', 'var(--wait)', 'var(--c6)', 'var(--c7)', 'var(--c3)',
  'var(--c4)', 'var(--soft)'];
const rel = (ms) => ms === null ? null : data.t0 + ms;

// A cell of a task: where it begins and ends, and how much of it each doing had.
function cellsOf(task) {
  const out = [];
  const packed = task.cells;
  for (let i = 0; i < packed.length; i++) {
    const c = packed[i];
    const to = i + 1 < packed.length ? packed[i + 1][0] : task.cells_to;
    const parts = c.length === 3 ? null : c.slice(3);
    out.push({ from: rel(c[0]), to: rel(to), kind: c[1], lane: c[2], parts });
  }
  return out;
}

for (const task of data.tasks) {
  task.list = cellsOf(task);
  task.losses = unpack(task.loss, data.t0);
}

// Who ran on each lane, and what every task was doing.
class Timeline extends Frame {
  constructor(holder) {
    super(view, holder, { label: 'Who ran, waited and was throttled, over time' });
    this.told = tag('p', 'told');
    this.told.setAttribute('aria-live', 'polite');
    holder.append(this.told);
    doings.forEach((name, i) => {
      const used = data.tasks.some((t) => t.list.some((c) => c.parts ? c.parts[i] > 0 : c.kind === i));
      if (!used) return;
      const key = tag('span', 'key');
      const mark = tag('i', 'block');
      mark.style.setProperty('--mark', doingColours[i]);
      key.append(mark, document.createTextNode(name));
      this.legend.append(key);
    });
    this.draw();
  }

  rowsNow() {
    const rows = [];
    const most = 64;
    const here = data.tasks.filter((t) => rel(t.from) <= view.to && rel(t.to) >= view.from);
    this.leftOut = 0;
    data.boards.forEach((board, b) => {
      board.lanes.forEach((lane, l) => {
        rows.push({ name: (data.boards.length > 1 ? board.name + ' ' : '') + lane.name, board: b, lane: l });
      });
      for (const task of here) {
        if (task.board !== b) continue;
        if (rows.length < most) rows.push({ name: task.name, board: b, task });
        else this.leftOut++;
      }
    });
    return rows;
  }

  // How much of each pixel column each key had; `each` gives [key, part] pairs of a cell.
  fill(cells, columns, each) {
    const [from, to] = this.domain();
    const perPixel = (to - from) / columns.width;
    for (const c of cells) {
      if (c.to <= from || c.from >= to) continue;
      const x1 = Math.max(0, (c.from - from) / perPixel);
      const x2 = Math.min(columns.width, (c.to - from) / perPixel);
      const pairs = each(c);
      if (!pairs.length) continue;
      for (let x = Math.floor(x1); x < x2; x++) {
        const part = Math.min(x + 1, x2) - Math.max(x, x1);
        for (const [key, share] of pairs) columns.add(key, x, part * share);
      }
    }
  }

  columns() {
    const width = Math.floor(this.right - this.left);
    const held = new Map();
    return {
      width,
      held,
      add(key, x, part) {
        let row = held.get(key);
        if (!row) held.set(key, row = new Float32Array(width));
        row[x] += part;
      },
    };
  }

  // One path for each key: runs of equal columns become one rectangle.
  stack(columns, top, tall, paths) {
    const base = new Float32Array(columns.width);
    for (const key of [...columns.held.keys()].sort((a, b) => a - b)) {
      const row = columns.held.get(key);
      let d = paths.get(key) || '';
      let x = 0;
      while (x < columns.width) {
        if (row[x] <= 0.003) { x++; continue; }
        const low = base[x];
        const part = row[x];
        let end = x + 1;
        while (end < columns.width && Math.abs(row[end] - part) < 0.02 && Math.abs(base[end] - low) < 0.02) end++;
        const h = Math.max(0.8, Math.min(1, part) * tall);
        const y = top + tall - Math.min(1, low) * tall - h;
        d += 'M' + (this.left + x) + ',' + y.toFixed(1) + 'h' + (end - x) + 'v' + h.toFixed(1) + 'h' + (x - end) + 'z';
        x = end;
      }
      paths.set(key, d);
      for (let i = 0; i < columns.width; i++) base[i] += row[i];
    }
  }

  draw() {
    if (!this.holder.clientWidth) return;
    const rows = this.rowsNow();
    const narrow = this.holder.clientWidth < 560;
    const each = narrow ? 28 : 20;
    const tall = narrow ? 12 : 14;
    this.begin(rows.length * each + 34, narrow ? 8 : 168);
    this.timeAxis();
    const doingPaths = new Map();
    this.rows = rows;
    rows.forEach((row, i) => {
      const top = 4 + i * each + (narrow ? 13 : 2);
      row.top = 4 + i * each;
      row.end = row.top + each;
      const label = el('text', { class: (narrow ? 'ts' : 'ty') + (row.task ? '' : ' lane'), x: narrow ? this.left : this.left - 8, y: narrow ? top - 3 : top + 11 }, row.name.length > 26 ? row.name.slice(0, 25) + '…' : row.name);
      this.svg.append(label);
      if (row.task) this.taskRow(row, top, tall, doingPaths);
      else this.laneRow(row, top, tall);
    });
    for (const [key, d] of doingPaths) {
      const path = el('path', { d, class: 'doing' });
      path.style.setProperty('fill', doingColours[key]);
      this.svg.append(path);
    }
    for (const row of rows) if (row.task) this.marks(row, tall);
    this.finish();
  }

  laneRow(row, top, tall) {
    this.svg.append(el('rect', { class: 'lane', x: this.left, y: top, width: this.right - this.left, height: tall }));
    const columns = this.columns();
    data.tasks.forEach((task, k) => {
      if (task.board !== row.board) return;
      this.fill(task.list, columns, (c) => {
        if (c.lane !== row.lane) return [];
        const part = c.parts ? c.parts[0] / 1000 : c.kind === 0 ? 1 : 0;
        return part > 0 ? [[k, part]] : [];
      });
    });
    const paths = new Map();
    this.stack(columns, top, tall, paths);
    for (const [k, d] of paths) {
      const path = el('path', { d });
      path.style.setProperty('fill', many(data.tasks[k].colour));
      this.svg.append(path);
    }
  }

  taskRow(row, top, tall, paths) {
    row.barTop = top;
    const columns = this.columns();
    this.fill(row.task.list, columns, (c) => c.parts
      ? c.parts.map((p, i) => [i, p / 1000]).filter((p) => p[1] > 0) : [[c.kind, 1]]);
    this.stack(columns, top, tall, paths);
    const swatch = el('rect', { x: this.narrow ? this.left - 6 : this.left - 5, y: top, width: 3, height: tall });
    swatch.style.setProperty('fill', many(row.task.colour));
    this.svg.append(swatch);
  }

  marks(row, tall) {
    const task = row.task;
    const [from, to] = this.domain();
    const middle = row.barTop + tall / 2;
    const due = rel(task.deadline);
    if (due >= from && due <= to) {
      this.svg.append(el('line', { class: 'due', x1: this.x(due), x2: this.x(due), y1: row.barTop - 2, y2: row.barTop + tall + 2 }));
    }
    const end = rel(task.end);
    if (end === null || end < from || end > to) return;
    const good = task.state === 'succeeded';
    const x = this.x(end);
    if (good) this.svg.append(el('circle', { class: 'met', cx: x, cy: middle, r: 4.5 }));
    else this.svg.append(el('path', { class: 'lost', d: 'M' + (x - 4) + ',' + (middle - 4) + 'l8,8m0,-8l-8,8' }));
  }

  doingAt(task, at) {
    const c = task.list.find((cell) => at >= cell.from && at < cell.to);
    if (!c) return '';
    if (!c.parts) return doings[c.kind];
    return c.parts.map((p, i) => [p, doings[i]]).filter((p) => p[0] > 0).sort((a, b) => b[0] - a[0])
      .map((p) => p[1] + ' ' + (p[0] / 10).toFixed(0) + '%').join(', ') + ' (of ' + span(c.to - c.from) + ')';
  }

  tell() {
    const at = view.cursor;
    const p = this.hovered;
    const row = p && this.rows && this.rows.find((r) => p.y >= r.top && p.y < r.end);
    this.told.replaceChildren();
    this.told.append(tag('b', '', moment(at) + ' '));
    if (!row) {
      this.told.append('Point at a row: what it was doing and why. Drag to zoom, double-click to go back.');
    } else if (row.task) {
      const link = tag('a', '', row.task.name);
      link.href = '#task-' + row.task.number;
      this.told.append(link, ': ' + (this.doingAt(row.task, at) || 'not there'));
      const why = decisionBefore(row.board, at, (d) => d[2] === row.task.key);
      if (why) this.told.append('. Decided at ' + clock(rel(why[0]), true) + ': ' + why[4]);
    } else {
      const d = decisionBefore(row.board, at, (x) => x[1] === row.lane);
      const task = d && data.tasks.find((t) => t.board === row.board && t.key === d[2]);
      this.told.append(row.name + (d ? ': at ' + clock(rel(d[0]), true) + ' ' + (task ? task.name : 'a task') + ' got ' + Math.round(d[3] * 100) + '% of a slice. ' + d[4] : ''));
    }
    if (this.leftOut) this.told.append(' ' + this.leftOut + ' more tasks have no room here: zoom in.');
  }
}

function decisionBefore(board, at, fits) {
  const all = data.boards[board].decisions;
  let found = null;
  for (const d of all) {
    if (rel(d[0]) > at) break;
    if (fits(d)) found = d;
  }
  return found;
}

function series(name, colour, packed, more) {
  return Object.assign({ name, colour }, unpack(packed, data.t0), more || {});
}

function place(id) {
  return document.getElementById(id);
}

// The sum of what all boards have at each moment; nothing where none has.
function sumOf(list, gap) {
  const steps = 1500;
  const t = [];
  const v = [];
  for (let i = 0; i <= steps; i++) {
    const at = data.t0 + (data.t1 - data.t0) * i / steps;
    let sum = 0;
    let known = false;
    for (const s of list) {
      const k = before(s.t, at);
      if (k < 0 || (gap && at - s.t[k] > gap)) continue;
      sum += s.v[k];
      known = true;
    }
    t.push(at);
    v.push(known ? sum : -1);
  }
  return { t, v };
}

// Boards as they were, and each beside it as it would have been.
function pairedPower(boards, drawn, gap) {
  const half = (of) => sumOf(drawn.filter((_, i) => i % 2 === of), gap);
  const lives = ['as it was', 'what if'];
  const sums = lives.map((life, i) => Object.assign({ name: 'drawn, ' + life, colour: i ? 'var(--c3)' : 'var(--c0)', unit: 'W', strong: true, least: 0 }, half(i)));
  if (boards.length === 2) {
    boards.forEach((b, i) => {
      if (b.cap && b.cap.v.some((v) => v >= 0)) sums.push(series('cap, ' + lives[i], i ? 'var(--c3)' : 'var(--c0)', b.cap, { unit: 'W', step: true, dash: true, least: 0 }));
    });
  }
  new Lines(view, place('power-chart'), { label: 'Power, as it was and what if', unit: 'W', zero: true, height: 220, series: sums });
  if (boards.length > 2) new Lines(view, place('power-boards'), { label: 'Power of each board', unit: 'W', zero: true, height: 220, series: drawn });
}

function powerCharts() {
  const boards = data.boards;
  const gap = Math.max(15000, (data.t1 - data.t0) / 60);
  const drawn = boards.map((b, i) => series(b.name, many(i), b.drawn || b.read, { unit: 'W', gap }));
  if (!drawn.some((s) => s.t.length) && !data.budget) { place('power').remove(); return; }
  if (boards.length === 1) {
    const b = boards[0];
    const all = [series('drawn, means of 5 s', 'var(--c0)', b.drawn, { unit: 'W', gap, strong: true }),
      series('as read', 'var(--c7)', b.read, { unit: 'W', gap, hidden: b.drawn !== undefined }),
    ];
    if (b.cap && b.cap.v.some((v) => v >= 0)) all.push(series('cap', 'var(--c3)', b.cap, { unit: 'W', step: true, least: 0, strong: true }));
    if (b.asked) all.push(series('asked for', 'var(--c4)', b.asked, { unit: 'W', step: true, dash: true, hidden: true }));
    if (data.budget) all.push(series('budget of the fleet', 'var(--fg)', data.budget, { unit: 'W', step: true, least: 0, hidden: true }));
    new Lines(view, place('power-chart'), { label: 'Power against the cap', unit: 'W', zero: true, height: 220, series: all });
    return;
  }
  if (data.pairs) { pairedPower(boards, drawn, gap); return; }
  const total = Object.assign({ name: 'drawn, all boards', colour: 'var(--c0)', unit: 'W', strong: true, least: 0 }, sumOf(drawn, gap));
  const sums = [total];
  if (data.caps) sums.push(series('caps, all boards', 'var(--c1)', data.caps, { unit: 'W', step: true, until: data.t1 }));
  if (data.budget) sums.push(series('budget', 'var(--fg)', data.budget, { unit: 'W', step: true, strong: true, least: 0 }));
  new Lines(view, place('power-chart'), { label: 'Power of all boards against the budget', unit: 'W', zero: true, height: 220, series: sums });
  new Lines(view, place('power-boards'), { label: 'Power of each board', unit: 'W', zero: true, height: 220, series: drawn });
}

function shareChart() {
  const holder = place('shares-chart');
  if (!holder) return;
  const layers = data.boards.map((b, i) => series(b.name, many(i), b.share, { unit: 'W', until: rel(b.to) }));
  if (data.budget) layers.push(series('budget', 'var(--fg)', data.budget, { unit: 'W', step: true, strong: true, over: true, least: 0 }));
  new Lines(view, holder, { label: 'What each board may draw', unit: 'W', zero: true, stack: true, height: 240, series: layers });
}

function heatCharts() {
  const holder = place('heat-charts');
  if (!holder) return;
  const kinds = [['hottest', 'temperature, hottest zone', '°C', false], ['ceiling', 'lane time that power leaves', '%', true],
    ['gpu_mhz', 'gpu clock', 'MHz', true], ['cpu_mhz', 'cpu clock', 'MHz', true],
    ['gpu_load', 'gpu load', '%', true], ['cpu_load', 'cpu load', '%', true]];
  for (const [key, name, unit, zero] of kinds) {
    const all = data.boards.map((b, i) => series(data.boards.length > 1 ? b.name : name, many(i), b[key], { unit, step: key === 'ceiling' })).filter((s) => s.t.length);
    const full = key === 'ceiling' && all.every((s) => s.v.every((v) => v >= 100));
    if (!all.length || full) continue;
    const figure = tag('figure', '');
    if (data.boards.length > 1) figure.append(tag('figcaption', '', name + ', ' + unit));
    holder.append(figure);
    new Lines(view, figure, { label: name, unit, zero, height: 150, series: all });
  }
}

// The loss of one task, with the forecast as it was at the cursor.
class Loss extends Lines {
  constructor(holder, task) {
    const l = task.losses;
    const target = { t: [rel(task.from), Math.max(rel(task.deadline), rel(task.to))], v: [task.target, task.target] };
    super(view, holder, {
      label: 'Loss of ' + task.name + ' and its forecast', unit: 'loss', log: true, own: true, height: 230,
      series: [
        { name: 'loss', colour: 'var(--c0)', strong: true, t: l.t, v: l.v, beside: (i) => ' at ' + l.s[i] + ' samples' },
        Object.assign({ name: 'target', colour: 'var(--c3)', dash: true }, target),
      ],
      under: (chart) => chart.band(),
    });
    this.task = task;
    this.said = tag('p', 'told');
    holder.append(this.said);
    this.draw();
  }

  domain() {
    const t = this.task;
    if (!t) return [view.from, view.to];
    const end = t.end === null ? t.to : t.end;
    // A deadline far beyond what was recorded would leave no room for the curve.
    const far = Math.min(t.deadline, end + 2 * (end - t.from) + 1000);
    return [rel(t.from), rel(Math.max(end, far, t.from + 1))];
  }

  thenAt() {
    let found = null;
    for (const f of this.task ? this.task.forecasts : []) {
      if (rel(f[0]) > view.cursor) break;
      found = f;
    }
    return found;
  }

  band() {
    const f = this.thenAt();
    this.drawn = f;
    const steps = f ? f[4].length - 1 : 0;
    if (steps < 1) return;
    const xs = f[4].map((_, i) => this.x(rel(f[0] + (f[2] - f[0]) * i / steps)).toFixed(1));
    const line = (values) => values.map((v, i) => xs[i] + ',' + this.y(v).toFixed(1));
    const d = 'M' + line(f[5]).join('L') + 'L' + line(f[3]).reverse().join('L') + 'Z';
    this.svg.append(el('path', { class: 'forecast', d }));
    this.svg.append(el('path', { class: 'line dashed forecast-line', d: 'M' + line(f[4]).join('L') }));
  }

  point() {
    if (this.task && this.line && this.thenAt() !== this.drawn) { this.draw(); return; }
    super.point();
  }

  tell() {
    super.tell();
    if (!this.said) return;
    const f = this.thenAt();
    const last = f ? f[4].length - 1 : -1;
    this.said.textContent = !f ? 'No forecast yet at ' + moment(view.cursor) + '.'
      : 'At ' + moment(rel(f[0])) + ' it was ' + Math.round(f[1] * 100) + '% likely to make it with its whole lane' +
      (last < 0 ? '.' : '; with its share so far the loss at the deadline was expected at ' + figures(f[4][last]) + ' (' + figures(f[3][last]) + ' to ' + figures(f[5][last]) + ').');
  }
}

function taskCharts() {
  for (const details of document.querySelectorAll('details.task')) {
    const task = data.tasks.find((t) => 'task-' + t.number === details.id);
    if (!task) continue;
    const holder = details.querySelector('.loss');
    let made = false;
    const make = () => {
      if (made || !details.open || !task.losses.t.length) return;
      made = true;
      new Loss(holder, task);
    };
    details.addEventListener('toggle', make);
    make();
  }
}

function openTarget() {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  if (target && target.tagName === 'DETAILS') {
    target.open = true;
    target.scrollIntoView({ block: 'start' });
  }
}

function bar() {
  const holder = place('bar');
  const slider = tag('input', '');
  slider.type = 'range';
  slider.min = 0;
  slider.max = 2000;
  slider.value = 1000;
  slider.setAttribute('aria-label', 'Moment');
  const at = tag('b', 'at');
  const all = tag('button', 'whole', 'Show all');
  all.type = 'button';
  slider.addEventListener('input', () => view.point(view.from + (view.to - view.from) * slider.value / 2000));
  all.addEventListener('click', () => view.reset());
  holder.append(at, slider, all);
  holder.hidden = false;
  const tell = () => {
    at.textContent = moment(view.cursor);
    all.disabled = !view.zoomed();
    if (document.activeElement !== slider) slider.value = (view.cursor - view.from) / (view.to - view.from) * 2000;
  };
  view.watchers.push(tell);
  tell();
}

function filters() {
  const table = document.querySelector('#events table');
  const holder = place('event-filter');
  if (!table || !holder) return;
  const find = tag('input', '');
  find.type = 'search';
  find.placeholder = 'Find in the events';
  find.setAttribute('aria-label', 'Find in the events');
  const count = tag('span', '');
  holder.append(find, count);
  const rows = [...table.rows].slice(1);
  find.addEventListener('input', () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((w) => text.includes(w));
      if (!row.hidden) shown++;
    }
    count.textContent = words.length ? shown + ' of ' + rows.length : '';
  });
}

document.documentElement.classList.add('js');
bar();
if (place('timeline-chart')) new Timeline(place('timeline-chart'));
powerCharts();
shareChart();
heatCharts();
openTarget();
taskCharts();
filters();
window.addEventListener('hashchange', openTarget);
let lastWidth = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === lastWidth) return;
  lastWidth = window.innerWidth;
  view.redraw();
});
view.point(view.cursor);
