// Draws what trefoil's commands answer about a released model.
const study = JSON.parse(new TextDecoder().decode(data('measurements')));
const columns = study.attributes;
const state = {x: columns[0].name, y: '', where: []};
const MOST = 60; // cells of a side of a heat map

const show = n => n === null || n === undefined ? '' : typeof n !== 'number' ? String(n)
  : Math.abs(n) >= 1e6 || (n !== 0 && Math.abs(n) < 1e-3) ? n.toPrecision(4)
  : Number.isInteger(n) ? String(n) : Math.abs(n) >= 100 ? n.toFixed(0) : n.toPrecision(3);
const column = name => columns.find(c => c.name === name);
const word = name => '"' + name.replace(/"/g, '""') + '"';
const label = text => "'" + String(text).replace(/'/g, "''") + "'";

// A bin is written by its edges, a missing value in words.
function shown(c, value) {
  if (value === null)
    return 'missing';
  if (c.edges === undefined)
    return String(value);
  let i = 0;
  while (i + 2 < c.edges.length && c.edges[i + 1] <= value)
    i++;
  return show(c.edges[i]) + ' to ' + show(c.edges[i + 1]);
}

// --- what is asked

function condition() {
  return state.where.map(w => {
    const c = column(w.column);
    if (c.labels)
      return w.labels.length > 0 ? word(c.name) + ' IN (' + w.labels.map(label).join(', ') + ')' : '';
    return [w.from !== '' && word(c.name) + ' >= ' + w.from, w.to !== '' && word(c.name) + ' <= ' + w.to]
      .filter(Boolean).join(' AND ');
  }).filter(Boolean).join(' AND ');
}

function question(groups) {
  const where = condition();
  return 'SELECT COUNT(*) FROM t' + (where ? ' WHERE ' + where : '') + ' GROUP BY ' + groups.map(word).join(', ');
}

const ask = (text, ...options) => call({args: ['query', '/', '--json', ...options, text]});

// --- charts

function bars(c, lines) {
  const width = 760, left = 52, bottom = lines.length > 24 ? 40 : 64, height = 300;
  const most = Math.max(1, ...lines.map(l => l.answers[0].high || l.answers[0].answer));
  const step = (width - 2 * left) / lines.length;
  const y = v => (height - bottom) - (height - bottom - 14) * v / most;
  const svg = make('svg', {viewBox: `0 0 ${width} ${height}`, style: `max-width: ${width}px`, role: 'img',
    'aria-label': `Rows by ${c.name}: ${lines.length} bars, at most ${show(most)}. The table below has the numbers.`});
  for (const part of [.25, .5, .75, 1])
    svg.append(make('line', {x1: left, x2: width - left, y1: y(most * part), y2: y(most * part), stroke: 'var(--line)'}),
      make('text', {x: left - 6, y: y(most * part) + 4, 'text-anchor': 'end'}, show(most * part)));
  lines.forEach((l, i) => {
    const a = l.answers[0], at = left + step * i, name = shown(c, l.group[c.name]);
    const bar = make('rect', {x: at + step * .1, y: y(a.answer), width: step * .8, height: Math.max(.5, y(0) - y(a.answer)),
      fill: 'var(--bar)', 'fill-opacity': .65}, make('title', {}, `${name}: ${show(a.answer)}` +
        (a.low === undefined || a.low === null ? '' : ` [${show(a.low)}, ${show(a.high)}]`)));
    svg.append(bar);
    if (a.low !== undefined && a.low !== null)
      svg.append(make('line', {x1: at + step / 2, x2: at + step / 2, y1: y(a.low), y2: y(a.high), stroke: '#111',
        'stroke-width': Math.min(2, step / 6)}));
    const every = Math.ceil(lines.length / 24);
    if (i % every === 0)
      svg.append(make('text', {x: at + step / 2, y: height - bottom + 14, 'text-anchor': lines.length > 8 ? 'end' : 'middle',
        transform: lines.length > 8 ? `rotate(-35 ${at + step / 2} ${height - bottom + 14})` : undefined},
        name.length > 18 ? name.slice(0, 17) + '…' : name));
  });
  svg.append(make('line', {x1: left, x2: width - left, y1: y(0), y2: y(0), stroke: 'var(--soft)'}));
  return svg;
}

function heat(cx, cy, lines) {
  const xs = [...new Set(lines.map(l => shown(cx, l.group[cx.name])))];
  const ys = [...new Set(lines.map(l => shown(cy, l.group[cy.name])))];
  const left = 120, top = 12, side = Math.min(46, 620 / xs.length), tall = Math.min(34, Math.max(8, 520 / ys.length));
  const most = Math.max(...lines.map(l => l.answers[0].answer));
  const width = left + side * xs.length + 10;
  const svg = make('svg', {viewBox: `0 0 ${width} ${top + tall * ys.length + 76}`, style: `max-width: ${width}px`, role: 'img',
    'aria-label': `Rows by ${cx.name} and ${cy.name}. The table below has the numbers.`});
  for (const l of lines) {
    const a = l.answers[0], i = xs.indexOf(shown(cx, l.group[cx.name])), j = ys.indexOf(shown(cy, l.group[cy.name]));
    svg.append(make('rect', {x: left + side * i, y: top + tall * j, width: side - 1, height: tall - 1, fill: 'var(--bar)',
      'fill-opacity': .06 + .94 * Math.sqrt(Math.max(0, a.answer) / most)},
      make('title', {}, `${xs[i]}, ${ys[j]}: ${show(a.answer)}` +
        (a.low === undefined || a.low === null ? '' : ` [${show(a.low)}, ${show(a.high)}]`))));
  }
  const every = (n, size) => Math.ceil(14 / size);
  ys.forEach((t, j) => j % every(ys.length, tall) === 0 && svg.append(make('text', {x: left - 6, y: top + tall * (j + .5) + 4,
    'text-anchor': 'end'}, t.length > 17 ? t.slice(0, 16) + '…' : t)));
  xs.forEach((t, i) => i % every(xs.length, side) === 0 && svg.append(make('text', {x: left + side * (i + .5),
    y: top + tall * ys.length + 14, 'text-anchor': 'end',
    transform: `rotate(-35 ${left + side * (i + .5)} ${top + tall * ys.length + 14})`}, t.length > 12 ? t.slice(0, 11) + '…' : t)));
  return svg;
}

function table(answer) {
  const head = make('tr'), body = [];
  for (const l of answer.lines) {
    const r = make('tr');
    for (const [name, value] of Object.entries(l.group || {}))
      r.append(make('th', {}, column(name) ? shown(column(name), value) : show(value)));
    for (const a of l.answers) {
      r.append(make('td', {}, a.answer === null ? 'not known' : show(a.answer)),
        make('td', {class: 'soft'}, a.low === undefined || a.low === null ? '' : `${show(a.low)} to ${show(a.high)}`));
    }
    body.push(r);
  }
  const first = answer.lines[0];
  if (first)
    head.append(...Object.keys(first.group || {}).map(n => make('th', {scope: 'col'}, n)),
      ...first.answers.flatMap(a => [make('th', {scope: 'col'}, a.item),
        make('th', {scope: 'col'}, answer.level ? `${Math.round(100 * answer.level)} % interval` : '')]));
  return make('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'numbers'}, make('table', {}, make('thead', {}, head), make('tbody', {}, ...body)));
}

const apart = names => make('p', {class: 'warn', role: 'note'}, `${names} were not measured together: how they are related ` +
  'comes from other columns alone, and an interval may not cover that.');

// --- the parts of the page

let latest = 0;
async function draw() {
  const mine = ++latest, groups = state.y && state.y !== state.x ? [state.x, state.y] : [state.x];
  const text = question(groups), out = $('chart');
  $('asked').textContent = text;
  $('busy').textContent = 'counting …';
  const r = await ask(text);
  if (mine !== latest)
    return;
  $('busy').textContent = '';
  if (r.code !== 0)
    return out.replaceChildren(make('pre', {}, r.err));
  const answer = JSON.parse(r.out)[0], wide = new Set(answer.lines.map(l => l.group[state.y])).size;
  out.replaceChildren();
  if (!answer.together)
    out.append(apart([...groups, ...state.where.map(w => w.column)].filter((n, i, all) => all.indexOf(n) === i).join(', ')));
  if (groups.length === 1)
    out.append(bars(column(state.x), answer.lines));
  else if (wide <= MOST * 2)
    out.append(heat(column(state.x), column(state.y), answer.lines));
  if (answer.left_out && answer.left_out.groups > 0)
    out.append(make('p', {class: 'soft'}, `${answer.left_out.groups} groups of less than half a row are left out.`));
  out.append(make('details', {}, make('summary', {}, 'The numbers'), table(answer)));
}

function filters() {
  $('filters').replaceChildren(...state.where.map((w, i) => {
    const c = column(w.column), box = make('fieldset', {}, make('legend', {}, c.name));
    if (c.labels)
      for (const l of c.labels)
        box.append(make('label', {}, make('input', {type: 'checkbox', checked: w.labels.includes(l), onchange: e => {
          w.labels = e.target.checked ? [...w.labels, l] : w.labels.filter(o => o !== l);
          draw();
        }}), ' ' + l));
    else
      for (const [end, name] of [['from', 'from'], ['to', 'to']])
        box.append(make('label', {}, name + ' ', make('input', {type: 'number', step: 'any', value: w[end], onchange: e => {
          w[end] = e.target.value;
          draw();
        }})));
    box.append(make('button', {type: 'button', 'aria-label': `remove the filter on ${c.name}`, onclick: () => {
      state.where.splice(i, 1);
      filters();
      $('filter').focus();
      draw();
    }}, 'remove'));
    return box;
  }));
}

function choose() {
  $('columns').replaceChildren(make('h2', {}, 'Columns'), ...columns.map(c => make('button', {type: 'button',
    'aria-pressed': String(c.name === state.x), onclick: () => {
      state.x = c.name;
      choose();
      $('columns').querySelector('[aria-pressed="true"]').focus(); // for whoever has no mouse
      draw();
    }}, c.name)));
}

function options(select, first) {
  select.replaceChildren(make('option', {value: ''}, first), ...columns.map(c => make('option', {value: c.name}, c.name)));
}

async function answer(event) {
  event.preventDefault();
  $('answers').replaceChildren(make('p', {class: 'soft'}, 'asking …'));
  const r = await ask($('sql').value, ...($('quick').checked ? ['--quick'] : []));
  $('answers').replaceChildren(...(r.code !== 0 ? [make('pre', {role: 'alert'}, r.err)] : JSON.parse(r.out).flatMap(a =>
    [make('p', {}, make('code', {}, a.question)), ...(a.together ? [] : [apart('Columns of this question')]), table(a)])));
}

async function rows(event) {
  event.preventDefault();
  $('made').textContent = 'drawing …';
  const r = await call({args: ['synth', '/model', '--rows', $('count').value, '--seed', $('seed').value, '--out', '/rows.csv'],
    want: 'rows.csv'});
  if (r.code !== 0)
    return void ($('made').textContent = r.err);
  const link = make('a', {href: URL.createObjectURL(new Blob([r.file], {type: 'text/csv'})), download: 'synthetic.csv'},
    'save synthetic.csv');
  $('made').replaceChildren(link);
  link.focus();
}

async function begin() {
  const measured = study.measurements.map(m => m.attributes).filter(a => a.length > 1);
  $('guarantee').textContent = `Differential privacy: epsilon ${show(study.epsilon)}, delta ${study.delta}. About ` +
    `${Math.round(study.total)} rows. ${measured.length} sets of columns were measured together.`;
  options($('second'), 'no second column');
  options($('filter'), 'add a filter …');
  $('second').onchange = e => {
    state.y = e.target.value;
    draw();
  };
  $('filter').onchange = e => {
    if (e.target.value)
      state.where.push({column: e.target.value, labels: [], from: '', to: ''});
    e.target.value = '';
    filters();
    draw();
  };
  $('ask').onsubmit = answer;
  $('draw').onsubmit = rows;
  $('sql').value = `SELECT COUNT(*) FROM t GROUP BY ${word(columns[0].name)}`;
  choose();
  const files = {model: data('model')};
  if ($('errors'))
    files.errors = data('errors');
  await call({module: data('module'), files});
  document.body.dataset.ready = 'yes';
  draw();
}
begin();
