// The live page: takes the server's events and keeps the page true to them. What boards and tasks
// say is set as text, never as markup.

const place = (id) => document.getElementById(id);
const many = (i) => 'var(--m' + i % 24 + ')';
const rowsShown = { tasks: 20, boards: 24 };
const fleet = {
  boards: new Map(), tasks: new Map(), events: [], summary: null, control: false, operator: '',
  past: null, name: '',
};
const time = { server: 0, here: 0 };
const now = () => time.server + (performance.now() - time.here);
const utc = (ms) => clock(ms, true) + ' UTC';

// n-2 before n-10.
const collator = new Intl.Collator('en', { numeric: true });
const byName = (a, b) => collator.compare(a, b);

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

const watts = (w) => w === undefined ? '–' : (w >= 100 ? w.toFixed(0) : w.toFixed(1)) + ' W';
const percent = (p) => p === undefined ? '–' : (p > 0 && p < 0.01 ? '<1' : p < 1 && p > 0.99 ? '>99' : Math.round(p * 100)) + '%';
const gigabytes = (b) => (b / 1e9).toFixed(1);
const plural = (n, what) => n + ' ' + what + (n === 1 ? '' : 's');

// ---- the link to the server

let token = sessionStorage.getItem('laird-token') || '';
if (location.hash.length > 1 && /^[0-9a-f]{16,}$/.test(location.hash.slice(1))) {
  token = location.hash.slice(1);
  sessionStorage.setItem('laird-token', token);
  history.replaceState(null, '', location.pathname);
}

function ask(path, more) {
  const headers = { Authorization: 'Bearer ' + token };
  return fetch(path, Object.assign({ cache: 'no-store', credentials: 'omit' }, more, {
    headers: Object.assign(headers, more && more.headers),
  }));
}

let heardAt = 0;
let stopped = '';
let attempt = 0;

function tellLink() {
  const link = place('link');
  const s = fleet.summary;
  let text;
  let kind = 'link gone';
  if (stopped) text = stopped;
  else if (!heardAt) { text = 'Connecting'; kind = 'link'; }
  else if (performance.now() - heardAt > 3000) text = 'lairctl serve does not answer; shown is ' + utc(time.server);
  else if (s && !s.connected) text = 'No link to the broker since ' + utc(s.link_since_ms);
  else { text = 'Live, ' + utc(now()); kind = 'link live'; }
  if (kind === 'link live') {
    // The clock ticks without being read out.
    link.setAttribute('aria-live', 'off');
  } else {
    link.setAttribute('aria-live', 'polite');
  }
  setText(link, text);
  setClass(link, kind);
  place('main').classList.toggle('stale', kind === 'link gone');
}

async function follow() {
  const stop = new AbortController();
  const watchdog = setInterval(() => {
    if (heardAt && performance.now() - heardAt > 5000) stop.abort();
  }, 1000);
  try {
    const answer = await ask('/api/stream', { signal: stop.signal });
    if (answer.status === 401) {
      stopped = 'This address has no token, or an old one: open the one that lairctl serve printed';
      return;
    }
    stopped = answer.ok ? '' : (await answer.text()).trim();
    if (!answer.ok) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let held = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      held += value;
      let end;
      while ((end = held.indexOf('\n\n')) >= 0) {
        onEvent(held.slice(0, end));
        held = held.slice(end + 2);
      }
    }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError && error.message.includes('undefined')) throw error;
  } finally {
    clearInterval(watchdog);
    tellLink();
    attempt = Math.min(attempt + 1, 5);
    setTimeout(follow, attempt * 700);
  }
}

function onEvent(text) {
  const at = text.indexOf('\ndata: ');
  if (at < 0) return;
  const kind = text.slice('event: '.length, at);
  const told = JSON.parse(text.slice(at + '\ndata: '.length));
  attempt = 0;
  heardAt = performance.now();
  time.server = told.now_ms;
  time.here = heardAt;
  if (kind === 'whole') takeWhole(told);
  else takeChange(told);
  askForFrame();
}

// ---- what is known

const dirty = { boards: new Set(), tasks: new Set(), events: false, order: true };

function keepPast(row, value) {
  if (value === undefined || value === null) return;
  const past = row.past;
  past.t.push(now());
  past.v.push(value);
  if (past.t.length > 160) thin(past, 80);
}

// Every second point of the older half goes.
function thin(past, keep) {
  const cut = past.t.length - keep;
  const even = (_, i) => i >= cut || i % 2 === 0;
  past.t = past.t.filter(even);
  past.v = past.v.filter(even);
}

function takeRow(map, key, row, value) {
  const old = map.get(key);
  row.past = row.past ? unpack(row.past, 0) : old ? old.past : { t: [], v: [] };
  if (old) { row.nodes = old.nodes; row.colour = old.colour; }
  if (!old) dirty.order = true;
  map.set(key, row);
  keepPast(row, value(row, old));
}

function takeBoards(list) {
  for (const row of list || []) {
    takeRow(fleet.boards, row.id, row, (r) => r.drawn_w);
    dirty.boards.add(row.id);
  }
}

function takeTasks(list) {
  for (const row of list || []) {
    const old = fleet.tasks.get(row.key);
    if (!old || rank(old) !== rank(row)) dirty.order = true;
    takeRow(fleet.tasks, row.key, row, (r, before) => before && before.samples === r.samples ? null : r.loss);
    dirty.tasks.add(row.key);
  }
}

function takeSummary(told) {
  const s = told.summary;
  fleet.summary = s;
  const past = fleet.past;
  const add = (series, value) => {
    series.t.push(told.now_ms);
    series.v.push(value);
    if (series.t.length > 2400) thin(series, 1200);
  };
  if (!past || !s.connected) return;
  if (s.drawn_w !== undefined) add(past.drawn, s.drawn_w);
  if (!s.unlimited && s.live) add(past.given, s.given_w);
  if (s.live) add(past.asks, s.asks_w);
  add(past.budget, s.budget_w === undefined ? -1 : s.budget_w);
}

function takeWhole(told) {
  for (const map of [fleet.boards, fleet.tasks]) {
    for (const row of map.values()) if (row.nodes) row.nodes.root.remove();
    map.clear();
  }
  fleet.name = told.fleet;
  fleet.control = told.control;
  fleet.operator = told.operator;
  fleet.started = told.started_ms;
  takeBoards(told.boards);
  takeTasks(told.tasks);
  fleet.events = told.events;
  dirty.events = true;
  fleet.past = {};
  for (const key in told.past) fleet.past[key] = unpack(told.past[key], 0);
  takeSummary(told);
  place('main').hidden = false;
  startCharts();
  startOrders();
}

function takeChange(told) {
  takeBoards(told.boards);
  takeTasks(told.tasks);
  for (const key of told.gone || []) {
    const map = key.includes('/') ? fleet.tasks : fleet.boards;
    const row = map.get(key);
    if (row && row.nodes) row.nodes.root.remove();
    if (map.delete(key)) dirty.order = true;
  }
  if (told.events) {
    fleet.events = fleet.events.concat(told.events).slice(-200);
    dirty.events = true;
  }
  takeSummary(told);
}

// ---- the verdict

const known = new Set();

function card(key, big, small, part) {
  let box = place('card-' + key);
  if (!box) {
    box = tag('div', 'card');
    box.id = 'card-' + key;
    box.append(tag('b'), tag('span'));
    place('cards').append(box);
  }
  setText(box.children[0], big);
  setText(box.children[1], small);
  if (part === undefined) return;
  let meter = box.querySelector('.meter');
  if (!meter) {
    meter = tag('div', 'meter');
    meter.append(tag('i'));
    box.append(meter);
  }
  meter.firstChild.style.setProperty('width', Math.max(0, Math.min(100, part * 100)).toFixed(1) + '%');
}

function nextDeadline() {
  let next = null;
  for (const task of fleet.tasks.values()) {
    if (task.ended || !task.deadline_ms) continue;
    if (!next || task.deadline_ms < next.deadline_ms) next = task;
  }
  return next;
}

function showVerdict() {
  const s = fleet.summary;
  if (!s) return;
  setText(place('fleet'), 'Fleet ' + fleet.name);
  setText(place('headline'), s.headline);
  const t = s.tasks;
  document.title = (t.at_risk ? '(' + t.at_risk + ') ' : '') + fleet.name + ' – laird';
  card('tasks', t.live ? t.on_time + ' of ' + t.live : String(t.met), t.live
    ? 'on time' + (t.met + t.missed ? '; lately ' + t.met + ' met, ' + t.missed + ' missed' : '')
    : 'met lately' + (t.missed ? ', ' + t.missed + ' missed' : ''));
  card('power', watts(s.drawn_w), s.budget_w === undefined ? 'drawn; there is no budget' : 'drawn of ' + watts(s.budget_w),
    s.budget_w === undefined ? undefined : (s.drawn_w || 0) / s.budget_w);
  card('boards', s.live + ' of ' + s.boards, s.live === s.boards ? 'boards are there' : 'boards are there; see below');
  const next = nextDeadline();
  card('next', next ? (next.deadline_ms > now() ? 'in ' + span(next.deadline_ms - now()) : 'passed') : '–',
    next ? 'next deadline: ' + next.name : 'no deadline ahead');
  showAttention(s.attention);
}

function showAttention(list) {
  const holder = place('attention');
  while (holder.children.length > list.length) holder.lastChild.remove();
  list.forEach((one, i) => {
    let item = holder.children[i];
    if (!item) {
      item = tag('li');
      holder.append(item);
    }
    const target = one.key || one.board || '';
    if (item.dataset.target !== target || !item.firstChild) {
      item.dataset.target = target;
      const inside = tag(target ? 'button' : 'span');
      if (target) {
        inside.type = 'button';
        inside.addEventListener('click', () => openDetail(item.dataset.target));
      }
      item.replaceChildren(inside);
    }
    setText(item.firstChild, one.text);
    setClass(item, one.bad ? 'bad' : '');
  });
  // Read out once what is new, not each time that a number moves.
  const keys = list.map((one) => (one.key || one.board || '') + (one.key || one.board ? '' : one.text));
  const fresh = list.filter((one, i) => !known.has(keys[i]));
  known.clear();
  for (const key of keys) known.add(key);
  if (fresh.length) setText(place('announce'), fresh.map((one) => one.text).join('. '));
}

// ---- tasks

function rank(task) {
  if (task.at_risk) return 0;
  if (task.state === 'running' || task.state === 'throttled') return 1;
  return task.ended ? 3 : 2;
}

function stateClass(task) {
  const s = task.state;
  if (s === 'succeeded') return 'state good';
  if (s === 'throttled' || s === 'backoff') return 'state slow';
  if (s === 'running') return 'state run';
  return ['missed', 'failed', 'exhausted'].includes(s) ? 'state bad' : 'state';
}

function makeTask(task) {
  const root = tag('tr');
  const cells = ['task', 'state', 'loss', 'chance', 'deadline'].map((head) => {
    const cell = tag('td');
    cell.dataset.head = head;
    root.append(cell);
    return cell;
  });
  const name = tag('button', 'name', task.name);
  name.type = 'button';
  name.addEventListener('click', () => openDetail(task.key));
  const board = tag('small', '', task.board);
  cells[0].append(name, board);
  const state = tag('span', 'state');
  const reason = tag('small');
  cells[1].append(state, reason);
  const loss = tag('span', 'loss');
  const spark = el('svg', { class: 'spark', viewBox: '0 0 96 26', 'aria-hidden': 'true' });
  const line = el('line', { x1: 0, x2: 96 });
  const path = el('path', {});
  spark.append(line, path);
  const value = tag('span');
  loss.append(spark, value);
  cells[2].append(loss);
  const chance = tag('span', 'chance');
  cells[3].append(chance);
  return { root, state, reason, line, path, value, chance, deadline: cells[4] };
}

function spark(nodes, past, target) {
  const v = past.v;
  if (v.length < 2) { nodes.path.setAttribute('d', ''); nodes.line.setAttribute('visibility', 'hidden'); return; }
  let low = target === undefined ? Infinity : target;
  let high = low === Infinity ? -Infinity : low;
  for (const one of v) { low = Math.min(low, one); high = Math.max(high, one); }
  const range = high - low || 1;
  const t0 = past.t[0];
  const wide = past.t[past.t.length - 1] - t0 || 1;
  const y = (value) => (23 - (value - low) / range * 20).toFixed(1);
  let d = '';
  for (let i = 0; i < v.length; i++) d += (i ? 'L' : 'M') + ((past.t[i] - t0) / wide * 96).toFixed(1) + ',' + y(v[i]);
  nodes.path.setAttribute('d', d);
  nodes.line.setAttribute('visibility', target === undefined ? 'hidden' : 'visible');
  if (target !== undefined) { nodes.line.setAttribute('y1', y(target)); nodes.line.setAttribute('y2', y(target)); }
}

function showDeadline(task) {
  const n = task.nodes;
  if (!n) return;
  const left = task.deadline_ms - now();
  const text = task.ended || !task.deadline_ms ? (task.ended ? 'ended' : '–') : left > 0 ? 'in ' + span(left) : span(left) + ' ago';
  setText(n.deadline, text);
  if (task.deadline_ms) n.deadline.title = moment(task.deadline_ms) + ' UTC';
}

function showTask(task) {
  const n = task.nodes;
  if (!n) return;
  setClass(n.root, task.ended ? 'ended' : '');
  setText(n.state, task.state);
  setClass(n.state, stateClass(task));
  setText(n.reason, task.reason || '');
  setText(n.value, task.loss === undefined ? 'no loss yet' : figures(task.loss) + ' → ' + figures(task.target));
  spark(n, task.past, task.target);
  setText(n.chance, task.ended ? '' : task.chance === undefined ? '–' : percent(task.chance));
  setClass(n.chance, 'chance' + (task.ended || task.chance === undefined ? '' : task.chance < 0.5 ? ' bad' : task.chance >= 0.8 ? ' good' : ''));
  showDeadline(task);
}

function wanted() {
  const words = place('task-filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  return [...fleet.tasks.values()]
    .filter((t) => words.every((w) => t.key.toLowerCase().includes(w) || t.state.includes(w)))
    .sort((a, b) => rank(a) - rank(b) || byName(a.name, b.name) || byName(a.board, b.board));
}

function fill(holder, rows, most, make, show) {
  const shown = rows.slice(0, most);
  const keep = new Set();
  for (const row of shown) {
    if (!row.nodes) { row.nodes = make(row); show(row); }
    keep.add(row.nodes.root);
  }
  for (const child of [...holder.children]) if (!keep.has(child)) child.remove();
  shown.forEach((row, i) => {
    if (holder.children[i] !== row.nodes.root) holder.insertBefore(row.nodes.root, holder.children[i] || null);
  });
  for (const row of rows.slice(most)) row.nodes = undefined;
}

function more(button, kind, all) {
  const least = kind === 'tasks' ? 20 : 24;
  button.hidden = all <= least;
  setText(button, rowsShown[kind] < all ? 'Show all ' + all : 'Show fewer');
}

function orderRows() {
  const tasks = wanted();
  fill(place('task-rows'), tasks, rowsShown.tasks, makeTask, showTask);
  more(place('task-more'), 'tasks', tasks.length);
  place('task-none').hidden = fleet.tasks.size > 0;
  const hidden = fleet.summary ? fleet.summary.tasks_hidden || 0 : 0;
  setText(place('task-count'), fleet.tasks.size ? tasks.length + (hidden ? ' of ' + (fleet.tasks.size + hidden) : '') : '');
  const boards = [...fleet.boards.values()].sort((a, b) => byName(a.id, b.id));
  boards.forEach((board, i) => { board.colour = many(i); });
  fill(place('board-cards'), boards, rowsShown.boards, makeBoard, showBoard);
  more(place('board-more'), 'boards', boards.length);
  setText(place('board-count'), boards.length ? String(boards.length) : '');
}

// ---- boards

const silent = (b) => b.live && fleet.summary && fleet.summary.connected &&
  now() - b.heard_ms > (b.temperature_c === undefined && b.limit_by === undefined ? 15000 : 4000);

function makeBoard(board) {
  const root = tag('li', 'board');
  const button = tag('button');
  button.type = 'button';
  button.addEventListener('click', () => openDetail(board.id));
  const top = tag('div', 'top');
  const word = tag('span');
  top.append(tag('b', '', board.id), word);
  const bar = tag('div', 'bar-box');
  const [asks, filled, tick] = ['asks', 'fill', 'tick'].map((name) => tag('i', name));
  bar.append(asks, filled, tick);
  const power = tag('small');
  const sensors = tag('small');
  button.append(top, bar, power, sensors);
  root.append(button);
  return { root, word, asks, filled, tick, power, sensors, bar };
}

let barScale = 1;

function rescale() {
  let most = 1;
  for (const b of fleet.boards.values()) {
    most = Math.max(most, b.drawn_w || 0, b.limit_w || 0, Math.min(b.asks_w || 0, 2 * (b.limit_w || b.asks_w || 0)));
  }
  const changed = most > barScale || most < barScale * 0.6;
  if (changed) barScale = most * 1.05;
  return changed;
}

function boardWord(b) {
  if (!b.live) return b.state;
  if (silent(b)) return 'silent since ' + utc(b.heard_ms);
  if (b.fenced) return 'cut off: floor only';
  if (b.state !== 'ready') return b.state;
  if (b.throttled) return b.throttled + ' of ' + plural(b.running, 'task') + ' held back';
  if (b.running) return plural(b.running, 'task');
  return b.queued ? plural(b.queued, 'task') + ' waiting' : 'idle';
}

const whose = { config: 'own cap', operator: "operator's cap", fleet: 'share', temperature: 'limit by heat', none: 'cap' };

function powerLine(b) {
  if (!b.live) return b.since_ms ? 'since ' + moment(b.since_ms) + ' UTC' : '';
  const parts = [b.drawn_w === undefined ? 'power not metered' : 'draws ' + watts(b.drawn_w)];
  if (b.limit_w !== undefined) parts.push('may ' + watts(b.limit_w) + (b.limit_by && b.limit_by !== 'fleet' ? ' (' + whose[b.limit_by] + ')' : ''));
  else if (b.share_w !== undefined) parts.push('may ' + watts(b.share_w));
  if (b.asks_w !== undefined) parts.push('asks ' + watts(b.asks_w));
  return parts.join(' · ');
}

function sensorLine(b) {
  if (!b.live) return '';
  const parts = [];
  if (b.temperature_c !== undefined) parts.push(Math.round(b.temperature_c) + ' °C');
  if (b.gpu_load !== undefined) parts.push('GPU ' + percent(b.gpu_load));
  else if (b.cpu_load !== undefined) parts.push('CPU ' + percent(b.cpu_load));
  if (b.memory_used !== undefined && b.memory_total) parts.push(gigabytes(b.memory_used) + ' of ' + gigabytes(b.memory_total) + ' GB');
  else if (b.task_memory !== undefined && b.task_memory_total) parts.push('tasks hold ' + gigabytes(b.task_memory) + ' of ' + gigabytes(b.task_memory_total) + ' GB');
  return parts.join(' · ');
}

function showBoard(b) {
  const n = b.nodes;
  if (!n) return;
  const trouble = b.state === 'lost' || b.state === 'alert' || silent(b);
  setClass(n.root, 'board' + (b.live ? '' : ' off') + (trouble ? ' trouble' : ''));
  setText(n.word, boardWord(b));
  const part = (w) => Math.min(100, (w || 0) / barScale * 100).toFixed(1) + '%';
  n.filled.style.setProperty('--mark', b.colour);
  n.filled.style.setProperty('width', part(b.live ? b.drawn_w : 0));
  n.asks.style.setProperty('width', part(b.live ? b.asks_w : 0));
  const limit = b.limit_w === undefined ? b.share_w : b.limit_w;
  n.tick.style.setProperty('left', part(limit));
  n.tick.hidden = !b.live || limit === undefined;
  setText(n.power, powerLine(b));
  setText(n.sensors, sensorLine(b));
}

// ---- events

function showEvents() {
  const list = fleet.events.slice(-60).reverse();
  place('event-none').hidden = list.length > 0;
  place('event-rows').replaceChildren(...list.map((e) => {
    const row = tag('li');
    const at = tag('time', '', e.at_ms ? clock(e.at_ms, true) : '–');
    if (e.at_ms) at.title = moment(e.at_ms) + ' UTC';
    row.append(at, tag('span', 'who', e.board), tag('span', '', e.text || e.kind || ''));
    return row;
  }));
}

// ---- power over time

let view = null;
let powerChart = null;

function startCharts() {
  const past = fleet.past;
  place('power-chart').replaceChildren();
  const from = Math.min(fleet.started, past.drawn.t.length ? past.drawn.t[0] : fleet.started);
  view = new View(from, Math.max(time.server, from + 10000));
  view.cursor = view.whole[1];
  const series = (name, colour, key, more) => {
    const s = Object.assign({ name, colour, unit: 'W' }, more);
    Object.defineProperty(s, 't', { get: () => fleet.past[key].t });
    Object.defineProperty(s, 'v', { get: () => fleet.past[key].v });
    return s;
  };
  powerChart = new Lines(view, place('power-chart'), {
    label: 'Power of all boards against the budget, over time', unit: 'W', zero: true, height: 200,
    series: [
      series('drawn', 'var(--c0)', 'drawn', { strong: true, gap: 15000 }),
      series('given to boards', 'var(--c1)', 'given', { step: true }),
      series('asked for', 'var(--c4)', 'asks', { step: true, dash: true }),
      series('budget', 'var(--fg)', 'budget', { step: true, strong: true, least: 0 }),
    ],
  });
}

// ---- drawing

let asked = false;
let chartAt = 0;

function askForFrame() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(draw);
}

function draw() {
  asked = false;
  if (!fleet.summary) { tellLink(); return; }
  if (dirty.order) orderRows();
  dirty.order = false;
  for (const key of dirty.tasks) { const task = fleet.tasks.get(key); if (task) showTask(task); }
  const scaled = rescale();
  for (const id of scaled ? fleet.boards.keys() : dirty.boards) { const board = fleet.boards.get(id); if (board) showBoard(board); }
  dirty.tasks.clear();
  dirty.boards.clear();
  if (dirty.events) showEvents();
  dirty.events = false;
  showVerdict();
  tellLink();
  showDetail();
  if (time.here - chartAt > 900) {
    chartAt = time.here;
    view.grow(time.server);
    powerChart.draw();
  }
}

// What changes by time alone.
setInterval(() => {
  tellLink();
  if (!fleet.summary || document.hidden) return;
  for (const task of fleet.tasks.values()) showDeadline(task);
  for (const board of fleet.boards.values()) if (board.nodes && silent(board)) showBoard(board);
}, 1000);

for (const kind of ['task', 'board']) {
  place(kind + '-more').addEventListener('click', () => {
    const key = kind + 's';
    const least = kind === 'task' ? 20 : 24;
    rowsShown[key] = rowsShown[key] > least ? least : Infinity;
    dirty.order = true;
    askForFrame();
  });
}
place('task-filter').addEventListener('input', () => { dirty.order = true; askForFrame(); });
let lastWidth = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === lastWidth || !view) return;
  lastWidth = window.innerWidth;
  view.redraw();
});
