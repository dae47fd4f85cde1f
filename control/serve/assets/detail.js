// One task or one board, opened; and orders, where the page may give them.

let opened = null;  // {key, kind, from, nodes, chart}

function fact(holder, name) {
  const box = tag('div');
  const value = tag('dd');
  box.append(tag('dt', '', name), value);
  holder.append(box);
  return value;
}

function button(text, act, danger) {
  const out = tag('button', danger ? 'danger' : '', text);
  out.type = 'button';
  out.addEventListener('click', act);
  return out;
}

function openDetail(key) {
  const kind = key.includes('/') ? 'task' : 'board';
  const row = (kind === 'task' ? fleet.tasks : fleet.boards).get(key);
  if (!row) return;
  const body = place('detail-body');
  const head = tag('div', 'dialog-head');
  const title = tag('h2', '', kind === 'task' ? row.name + ' on ' + row.board : row.id);
  title.id = 'detail-title';
  head.append(title, button('Close', () => place('detail').close()));
  const facts = tag('dl', 'facts');
  const charts = tag('div');
  const actions = tag('div', 'actions');
  const why = tag('div');
  body.replaceChildren(head, tag('p', '', ''), facts, charts, actions, why);
  opened = { key, kind, lead: body.children[1], facts, charts, actions, why, values: {}, view: null, samples: row.samples };
  (kind === 'task' ? taskActions : boardActions)(row);
  showDetail();
  if (!place('detail').open) place('detail').showModal();
  loadPast(row);
  if (kind === 'task') loadWhy(row);
}

place('detail').addEventListener('close', () => { opened = null; });

function say(name, text) {
  if (!opened.values[name]) opened.values[name] = fact(opened.facts, name);
  setText(opened.values[name], text);
}

function showDetail() {
  if (!opened) return;
  const row = (opened.kind === 'task' ? fleet.tasks : fleet.boards).get(opened.key);
  if (!row) { setText(opened.lead, 'It is not known to the boards any more.'); return; }
  if (opened.kind === 'task') tellTask(row); else tellBoard(row);
  growPast(row);
}

function tellTask(t) {
  setText(opened.lead, t.state + (t.reason ? ': ' + t.reason : ''));
  say('loss', t.loss === undefined ? 'none yet' : figures(t.loss) + ', target ' + figures(t.target));
  if (!t.ended) {
    say('chance by the deadline', t.chance === undefined ? 'no forecast yet' : percent(t.chance));
    say('loss at the deadline', t.forecast === undefined ? 'no forecast yet' : figures(t.forecast) + ' (' + figures(t.forecast_low) + ' to ' + figures(t.forecast_high) + ')');
    say('still needs', t.needs_s === undefined ? 'not known' : span(t.needs_s * 1000) + ' of its lane');
  }
  say('deadline', t.deadline_ms ? moment(t.deadline_ms) + ' UTC' : '–');
  say('samples', String(t.samples || 0) + (t.planned ? ' of ' + t.planned : ''));
  say('share of its lane', percent(t.share));
  say('energy', t.energy_j === undefined ? 'not metered' : figures(t.energy_j) + ' J');
  if (t.boards) say('trained by', plural(t.boards, 'board'));
  if (t.group) say('group', t.group);
}

function tellBoard(b) {
  setText(opened.lead, [b.model, b.version && 'laird ' + b.version].filter(Boolean).join(', '));
  say('state', boardWord(b));
  say('draws', watts(b.drawn_w));
  say('may draw', b.limit_w === undefined ? 'as much as it can' : watts(b.limit_w) + (b.limit_by ? ', ' + whose[b.limit_by] : ''));
  say('asks for', watts(b.asks_w));
  say('holds of the budget', watts(b.share_w) + (b.floor_w ? ', floor ' + watts(b.floor_w) : ''));
  say('temperature', b.temperature_c === undefined ? 'no sensor' : Math.round(b.temperature_c) + ' °C');
  say('load', [b.gpu_load !== undefined && 'GPU ' + percent(b.gpu_load), b.cpu_load !== undefined && 'CPU ' + percent(b.cpu_load)].filter(Boolean).join(', ') || 'not known');
  say('memory', b.memory_total ? gigabytes(b.memory_used || 0) + ' of ' + gigabytes(b.memory_total) + ' GB' : b.task_memory_total ? gigabytes(b.task_memory || 0) + ' of ' + gigabytes(b.task_memory_total) + ' GB for tasks' : 'not known');
  say('tasks', (b.running || 0) + ' running, ' + (b.throttled || 0) + ' of them held back, ' + (b.queued || 0) + ' waiting');
  say('last heard', utc(b.heard_ms));
}

// ---- its past

async function fetched(path) {
  const answer = await ask(path);
  return answer.ok ? answer.json() : null;
}

async function loadPast(row) {
  const mine = opened;
  const where = opened.kind === 'task' ? '/api/task?board=' + row.board + '&task=' + row.name : '/api/board?board=' + row.id;
  const told = await fetched(where).catch(() => null);
  if (!told || opened !== mine) return;
  const past = {};
  for (const key in told.past) past[key] = unpack(told.past[key], 0);
  opened.past = past;
  const from = Math.min(...Object.values(past).map((s) => s.t.length ? s.t[0] : Infinity), now() - 1000);
  opened.view = new View(from, Math.max(now(), from + 10000));
  opened.view.cursor = opened.view.whole[1];
  if (opened.kind === 'task') taskCharts(row, past); else boardCharts(past);
}

function lines(label, options) {
  const holder = tag('div', 'chart-place');
  opened.charts.append(holder);
  return new Lines(opened.view, holder, Object.assign({ label, height: 170 }, options));
}

const live = (past, key, more) => {
  const s = Object.assign({}, more);
  Object.defineProperty(s, 't', { get: () => past[key].t });
  Object.defineProperty(s, 'v', { get: () => past[key].v });
  return s;
};

// The band opens from the last loss to what is expected at the deadline.
function band(chart, key, past) {
  const t = fleet.tasks.get(key);
  if (!t || t.ended || t.forecast === undefined || !past.loss.t.length) return;
  const at = past.loss.t.length - 1;
  const x1 = chart.x(past.loss.t[at]);
  const x2 = chart.x(Math.min(t.deadline_ms, chart.domain()[1]));
  const part = (Math.min(t.deadline_ms, chart.domain()[1]) - past.loss.t[at]) / (t.deadline_ms - past.loss.t[at] || 1);
  const toward = (v) => chart.y(past.loss.v[at] + (v - past.loss.v[at]) * part);
  const y = chart.y(past.loss.v[at]);
  chart.svg.append(el('path', { class: 'forecast', d: `M${x1},${y}L${x2},${toward(t.forecast_high)}L${x2},${toward(t.forecast_low)}Z` }));
  chart.svg.append(el('path', { class: 'line dashed forecast-line', d: `M${x1},${y}L${x2},${toward(t.forecast)}` }));
}

function taskCharts(row, past) {
  if (!past.loss) return;
  const view = opened.view;
  // Room for the forecast: as much ahead as behind, up to the deadline.
  const ahead = (to) => {
    const t = fleet.tasks.get(row.key);
    if (!t || t.ended || !t.deadline_ms) return to;
    return Math.max(to, Math.min(t.deadline_ms, to + (to - view.whole[0])));
  };
  opened.ahead = ahead;
  view.grow(ahead(now()));
  const target = { name: 'target', colour: 'var(--c3)', dash: true, v: [row.target, row.target] };
  Object.defineProperty(target, 't', { get: () => view.whole });
  lines('Loss of ' + row.name + ' and its forecast', {
    unit: 'loss', log: true, height: 220,
    series: [live(past, 'loss', { name: 'loss', colour: 'var(--c0)', strong: true }), target],
    under: (chart) => band(chart, row.key, past),
  });
  if (past.chance.t.length > 1) {
    lines('Chance by the deadline', { unit: '%', zero: true, height: 120, series: [live(past, 'chance', { name: 'chance by the deadline', unit: '%', colour: 'var(--c2)' })] });
  }
}

function boardCharts(past) {
  if (!past.drawn) return;
  lines('Power', { unit: 'W', zero: true, series: [
    live(past, 'drawn', { name: 'draws', unit: 'W', colour: 'var(--c0)', strong: true, gap: 15000 }),
    live(past, 'limit', { name: 'may draw', unit: 'W', colour: 'var(--fg)', step: true }),
  ] });
  if (past.temperature.t.length > 1) lines('Temperature', { unit: '°C', height: 120, series: [live(past, 'temperature', { name: 'temperature', unit: '°C', colour: 'var(--c1)' })] });
  if (past.gpu.t.length > 1) lines('GPU load', { unit: '%', zero: true, height: 120, series: [live(past, 'gpu', { name: 'GPU load', unit: '%', colour: 'var(--c6)' })] });
}

function growPast(row) {
  const past = opened.past;
  if (!past || time.here - (opened.drawnAt || 0) < 900) return;
  opened.drawnAt = time.here;
  const add = (key, value) => {
    const s = past[key];
    if (!s || value === undefined) return;
    s.t.push(time.server);
    s.v.push(value);
    if (s.s) s.s.push(row.samples);
    if (s.t.length > 2000) thin(s, 1000);
  };
  if (opened.kind === 'task') {
    if (row.samples !== opened.samples) add('loss', row.loss);
    opened.samples = row.samples;
    if (!row.ended && row.chance !== undefined) add('chance', row.chance * 100);
  } else if (row.live) {
    add('drawn', row.drawn_w);
    add('limit', row.limit_w);
    add('temperature', row.temperature_c);
    if (row.gpu_load !== undefined) add('gpu', row.gpu_load * 100);
  }
  opened.view.grow(opened.ahead ? opened.ahead(now()) : now());
  opened.view.redraw();
}

async function loadWhy(row) {
  const mine = opened;
  const head = tag('h3', '', 'Why');
  const text = tag('pre', '', 'Asking ' + row.board + ' …');
  opened.why.replaceChildren(head, text);
  const answer = await ask('/api/why?board=' + row.board + '&task=' + row.name).catch(() => null);
  if (opened !== mine) return;
  if (!answer) { setText(text, 'lairctl serve does not answer.'); return; }
  const told = answer.ok ? (await answer.json()).text : (await answer.text()).trim();
  setText(text, told);
}

// ---- orders

function tell(text, bad) {
  const box = tag('p', bad ? 'bad' : '', text);
  place('said').append(box);
  setTimeout(() => box.remove(), bad ? 15000 : 7000);
}

function sure(question, word, danger) {
  const dialog = place('confirm');
  return new Promise((done) => {
    const title = tag('h2', '', question);
    title.id = 'confirm-title';
    const note = tag('p', '', 'It is signed with the key of ' + fleet.operator + '.');
    const actions = tag('div', 'actions');
    // A dialog tells of its closing a moment later, when the next question may already stand in it.
    const closed = () => { if (!dialog.open) settle(false); };
    const settle = (yes) => {
      dialog.removeEventListener('close', closed);
      done(yes);
      dialog.close();
    };
    const go = button(word, () => settle(true), danger);
    const leave = button('Leave it', () => settle(false));
    actions.append(leave, go);
    dialog.replaceChildren(title, note, actions);
    dialog.addEventListener('close', closed);
    dialog.showModal();
    leave.focus();
  });
}

async function order(question, word, what, danger) {
  if (!await sure(question, word, danger)) return false;
  tell('Under way …');
  const answer = await ask('/api/order', {
    method: 'POST', body: JSON.stringify(what), headers: { 'Content-Type': 'application/json' },
  }).catch(() => null);
  if (!answer) { tell('lairctl serve does not answer; look what became of it.', true); return false; }
  const told = answer.ok ? await answer.json() : { ok: false, text: (await answer.text()).trim() };
  tell(told.text || (told.ok ? 'Done.' : 'It failed.'), !told.ok);
  return told.ok;
}

function taskActions(t) {
  if (!fleet.control || t.ended) return;
  const ask = (verb, question, word, danger) => () => order(question, word, { verb, board: t.board, task: t.name }, danger);
  opened.actions.append(
    button('Pause', ask('pause', 'Pause ' + t.name + ' on ' + t.board + '?', 'Pause it')),
    button('Resume', ask('resume', 'Let ' + t.name + ' on ' + t.board + ' go on?', 'Resume it')),
    button('Cancel', ask('cancel', 'End ' + t.name + ' on ' + t.board + ' for good?', 'End it', true), true));
}

function boardActions(b) {
  if (!fleet.control) return;
  opened.actions.append(
    button('Drain', () => order('Let ' + b.id + ' finish what it has and take nothing new?', 'Drain it', { verb: 'drain', board: b.id })),
    button('Undrain', () => order('Let ' + b.id + ' take tasks again?', 'Undrain it', { verb: 'undrain', board: b.id })));
  opened.actions.after(capForm(b.id));
}

function field(form, name, label, holder) {
  const box = tag('label', '', label);
  holder.name = name;
  box.append(holder);
  form.append(box);
  return holder;
}

function capForm(board) {
  const form = tag('form', 'order');
  form.append(tag('h3', '', board ? 'Cap of ' + board : 'Power budget of the fleet'));
  const power = field(form, 'power', 'watts, such as 15W', tag('input'));
  power.required = true;
  const lasting = field(form, 'for', 'for how long, such as 1h; empty: until it is changed', tag('input'));
  const where = board || 'the fleet';
  const set = tag('button', '', 'Set');
  set.type = 'submit';
  const what = (value) => Object.assign({ verb: 'cap', power: value }, board && { board }, lasting.value && value !== 'clear' && { for: lasting.value.trim() });
  const clear = button(board ? 'Take it back' : 'Take back the cap for a time', () => order('Take the cap of ' + where + ' back?', 'Take it back', what('clear')));
  const actions = tag('div', 'actions');
  actions.append(set, clear);
  form.append(actions);
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    const value = power.value.trim();
    order('Hold ' + where + ' to ' + value + (lasting.value ? ' for ' + lasting.value.trim() : '') + '?', 'Set it', what(value));
  });
  return form;
}

function submitForm() {
  const form = tag('form', 'order');
  form.append(tag('h3', '', 'New task'));
  const text = field(form, 'task', 'the task, as in task.json', tag('textarea'));
  text.required = true;
  text.spellcheck = false;
  const board = field(form, 'board', 'board', tag('select'));
  const fillBoards = () => {
    const chosen = board.value;
    const names = [...fleet.boards.keys()].sort(byName);
    board.replaceChildren(new Option('the one that suits it', ''), ...names.map((n) => new Option(n, n)));
    board.value = names.includes(chosen) ? chosen : '';
  };
  fillBoards();
  board.addEventListener('focus', fillBoards);
  const actions = tag('div', 'actions');
  const go = tag('button', '', 'Submit');
  go.type = 'submit';
  actions.append(go);
  form.append(actions);
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    const where = board.value || 'the board that suits it';
    const what = Object.assign({ verb: 'submit', task: text.value }, board.value && { board: board.value });
    if (await order('Hand the task to ' + where + '?', 'Submit it', what)) text.value = '';
  });
  return form;
}

let ordersStarted = false;

function startOrders() {
  if (!fleet.control || ordersStarted) return;
  ordersStarted = true;
  place('orders').hidden = false;
  place('order-forms').append(submitForm(), capForm(''));
}

tellLink();
follow();
