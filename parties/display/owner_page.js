// An owner's page. Files are in memory; `share`, `check` and `keygen` of trefoil work on them.
const text = bytes => new TextDecoder().decode(bytes);
const bytes = string => new TextEncoder().encode(string);
const study = data('study'), relay = $('relay') ? text(data('relay')) : '';
const given = {'study.yaml': study, ...($('beside') ? named(data('beside')) : {})};
const NONE = [...Object.keys(given), 'table.csv', 'a.parcel', 'a.parcel.answers'];
let files = {...given};

// The files that the study names: parties/display/owner_page.h.
function named(all) {
  const view = new DataView(all.buffer), found = {};
  const take = at => all.subarray(at + 4, at + 4 + view.getUint32(at, true));
  for (let at = 0; at < all.length;) {
    const name = take(at), content = take(at + 4 + name.length);
    found[text(name)] = content;
    at += 8 + name.length + content.length;
  }
  return found;
}
let raw = null, parcel = null, asked = 0, whose = 0;

// --- what trefoil says

// What it leaves is kept, unless another key or token was chosen meanwhile.
async function trefoil(...args) {
  const begun = whose, r = await call({args, files, want: '*'});
  if (r.code === 0 && begun === whose)
    files = r.files;
  return r;
}

const put = (id, content, style) => {
  $(id).hidden = content === '';
  $(id).textContent = content;
  $(id).className = style || '';
};
const problem = r => r.err.split('\n').filter(l => l !== '' && !l.startsWith('trefoil:')).join('\n');

function save(name, content) {
  const a = make('a', {download: name, href: URL.createObjectURL(new Blob([content]))});
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}
const chosen = async input => input.files.length > 0 ? new Uint8Array(await input.files[0].arrayBuffer()) : null;

// --- the owner file: what share keeps beside the key

const base64 = b => {
  let s = '';
  for (let i = 0; i < b.length; i += 32768)
    s += String.fromCharCode(...b.subarray(i, i + 32768));
  return btoa(s);
};
const kept = () => Object.keys(files).filter(name => !NONE.includes(name)).sort();
const ownerFile = () => bytes(JSON.stringify({format: 'trefoil-owner-1', study: base64(study),
  files: Object.fromEntries(kept().map(name => [name, base64(files[name])]))}, null, 1) + '\n');

function readOwnerFile(content) {
  let o;
  try {
    o = JSON.parse(text(content));
  } catch {
    return {'owner.key': content}; // a key by itself
  }
  if (o.format !== 'trefoil-owner-1' || typeof o.files !== 'object')
    return null;
  return Object.fromEntries(Object.entries(o.files).map(([name, b]) => [name, Uint8Array.from(atob(b), c => c.charCodeAt(0))]));
}

// What is sealed is of an earlier choice, and so is what is on its way to be.
function chooses() {
  asked++;
  parcel = null;
  ready();
}

async function takeKey() {
  chooses();
  const content = await chosen($('key')), found = content && readOwnerFile(content);
  whose++;
  files = {...found};
  for (const name of NONE)
    delete files[name];
  Object.assign(files, given);
  noteToken();
  if (content && !found)
    put('who', 'This is neither an owner file nor a key.', 'bad');
  else if (found)
    await identify();
  await look();
}

async function identify() {
  const r = await trefoil('keygen', '--show', '/owner.key');
  put('who', r.code === 0 ? 'You are the holder of this key: ' + r.out.trim().split('\n').pop().replace(/^# /, '') : problem(r),
    r.code === 0 ? 'good' : 'bad');
}

// --- invitations and tokens: the link has a secret, which leaves the address at once

function noteToken() {
  const lines = $('token').value.split(/\s+/).filter(word => word !== '');
  if (lines.length > 0)
    files['owner.token'] = bytes(lines.join('\n') + '\n');
}

const asOwner = () => ['--key', '/owner.key', ...(files['owner.token'] ? ['--token', '/owner.token'] : [])];

// Whom an issuer admits needs no key before: it is made here, and saved in the owner file.
async function takeToken() {
  chooses();
  whose++;
  delete files['owner.token'];
  noteToken();
  put('admits', '');
  if (files['owner.token']) {
    const r = await trefoil('check', '/study.yaml', '--token', '/owner.token');
    put('admits', r.code === 0 ? r.out.trim() : problem(r), r.code === 0 ? 'good' : 'bad');
    if (r.code === 0 && r.out.includes('takes it up') && !files['owner.key'] && (await trefoil('keygen', '/owner.key')).code === 0)
      await identify();
  }
  await look();
}

// A link's secret leaves the address at once.
function hideLink() {
  const secret = location.hash.slice(1);
  if (!secret.startsWith('trefoil-'))
    return false;
  history.replaceState(null, '', location.pathname + location.search);
  $('token').value = secret;
  return true;
}

async function makeKey() {
  const name = $('name').value.trim();
  if (name === '' || files['owner.key'])
    return put('identity', name === '' ? 'Write a name first.' : 'You have a key already.', 'bad');
  const r = await trefoil('keygen', '/owner.key', '--name', name);
  put('identity', r.code === 0 ? r.out : problem(r), r.code === 0 ? '' : 'bad');
  if (r.code === 0) {
    save('owner-' + name + '.json', ownerFile());
    await identify();
  }
}

// --- the table: nothing is guessed in silence

function decode() {
  const mark = raw[0] === 0xff && raw[1] === 0xfe ? 'utf-16le' : raw[0] === 0xfe && raw[1] === 0xff ? 'utf-16be' : null;
  let wanted = mark;
  if (!mark)
    try {
      new TextDecoder('utf-8', {fatal: true}).decode(raw);
      wanted = 'utf-8';
    } catch {
      wanted = 'windows-1252';
    }
  return wanted;
}

// Lines as cells, as far as a look needs them: quotes, and no more.
function cells(line, between) {
  const found = [];
  let cell = '', quoted = false;
  for (const c of line)
    if (c === '"')
      quoted = !quoted;
    else if (c === between && !quoted)
      found.push(cell), cell = '';
    else
      cell += c;
  return [...found, cell];
}
const character = () => $('delimiter').value === 'tab' ? '\t' : $('delimiter').value;

async function takeTable() {
  chooses();
  raw = await chosen($('table'));
  $('doubts').replaceChildren(); // what was right of another table says nothing of this one
  $('doubts').dataset.asks = '';
  if (!raw)
    return;
  const best = decode();
  $('encoding').replaceChildren(...['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'].map(e => make('option', {value: e, selected: e === best}, e)));
  const head = new TextDecoder(best).decode(raw).split('\n', 1)[0];
  const counts = [',', ';', '\t'].map(c => cells(head, c).length);
  $('delimiter').selectedIndex = counts.indexOf(Math.max(...counts));
  $('decimal').value = $('delimiter').value === ';' ? ',' : '.';
  await look();
}

const isEmpty = l => l !== '' && /^["\s;,]*$/.test(l) && cells(l, character()).every(c => c.trim() === '');

// What could be read in two ways gets a box to tick.
function doubts(lines) {
  const between = character(), comma = $('decimal').value === ',';
  const found = [];
  if ($('encoding').value === 'windows-1252')
    found.push(['odd', 'This is not UTF-8. Read as windows-1252, its letters are those in the rows below: they are right.']);
  const empty = lines.filter((l, i) => i > 0 && isEmpty(l));
  if (empty.length > 0)
    found.push(['empty', `${empty.length} ${empty.length === 1 ? 'row has' : 'rows have'} nothing in any cell: leave ${empty.length === 1 ? 'it' : 'them'} out.`]);
  const many = comma ? /^-?\d{1,3}(\.\d{3})+(,\d+)?$|^-?\d{1,3},\d{3}$/ : /^-?\d{1,3}(,\d{3})+(\.\d+)?$/;
  let thousands;
  for (let i = 1; i < lines.length && thousands === undefined; i++)
    if (/\d[.,]\d{3}/.test(lines[i])) // lines that cannot have one are not taken apart
      thousands = cells(lines[i], between).find(c => many.test(c.trim()));
  if (thousands !== undefined)
    found.push(['thousands', `A cell says ${thousands}: that is ${comma ? thousands.replace(/\./g, '').replace(',', '.') : 'no number here; it counts as any other text'}.`]);
  const before = new Set([...document.querySelectorAll('#doubts input:checked')].map(e => e.name));
  const asks = found.map(([name, words]) => name + words).join();
  if ($('doubts').dataset.asks !== asks)
    $('doubts').replaceChildren(...found.map(([name, words]) =>
      make('p', {class: 'warn'}, make('label', {}, make('input', {type: 'checkbox', name, checked: before.has(name), onchange: look}), ' ' + words))));
  $('doubts').dataset.asks = asks;
  return found.every(([name]) => before.has(name));
}

function rows(lines) {
  const bad = $('encoding').value === 'windows-1252' ? new TextDecoder().decode(raw).split(/\r?\n/) : [];
  const odd = lines.filter((l, i) => i > 5 && bad[i]?.includes('\ufffd')); // what is not UTF-8
  const shown = [...lines.slice(0, 6), ...odd.slice(0, 6)].filter(l => l !== '').map(l => cells(l, character()));
  $('first').replaceChildren(...shown.map((r, i) => make('tr', {}, ...r.slice(0, 40).map(c => make(i === 0 ? 'th' : 'td', {}, c.slice(0, 80))))));
}

// Dry-runs what is here, and makes a parcel of it once all is answered.
async function look() {
  const turn = ++asked;
  parcel = null;
  put('said', '');
  ready();
  if (!raw)
    return;
  let content;
  try {
    content = new TextDecoder($('encoding').value, {fatal: true}).decode(raw);
  } catch {
    return put('state', 'These bytes are not ' + $('encoding').value + '.', 'bad');
  }
  let lines = content.split(/\r?\n/);
  rows(lines);
  const answered = doubts(lines);
  if (!files['owner.key'])
    return put('state', 'Choose your owner file or key first.', 'warn');
  if (!answered)
    return put('state', 'Tick what is right above, or correct the file.', 'warn');
  if (document.querySelector('#doubts input[name=empty]:checked'))
    lines = lines.filter((l, i) => i === 0 || !isEmpty(l));
  files['table.csv'] = bytes(lines.join('\n'));
  put('state', 'Reading ..', '');
  const options = [...asOwner(), '--delimiter', $('delimiter').value];
  if ($('decimal').value === ',')
    options.push('--decimal', ',');
  const accept = document.querySelector('#warnings:checked') ? ['--accept-warnings'] : [];
  const said = await trefoil('share', '/study.yaml', '/table.csv', ...options, '--dry-run');
  if (turn !== asked)
    return;
  put('said', said.out + said.err);
  if (said.code !== 0)
    return put('state', problem(said), 'bad');
  const r = await trefoil('share', '/study.yaml', '/table.csv', ...options, ...accept, '--to', '/a.parcel',
    ...(kept().some(n => n.endsWith('.receipt')) ? ['--replace'] : []));
  if (turn !== asked)
    return;
  if (r.code !== 0) {
    put('state', problem(r), 'bad');
    if (r.err.includes('--accept-warnings'))
      $('state').append(make('label', {}, make('input', {type: 'checkbox', id: 'warnings', onchange: look}), ' It is right all the same.'));
    return;
  }
  parcel = files['a.parcel'];
  put('state', 'The table fits the study. Below is what each column holds; nothing was sent yet.', 'good');
  ready();
}

// --- sending

let proved = false;
const ready = () => {
  if (!parcel)
    proved = false;
  $('save').disabled = !parcel;
  $('proof').disabled = !parcel;
  $('send').disabled = !parcel || !proved || relay === '';
  $('carry').disabled = !parcel || !proved;
};

async function prove() {
  const content = await chosen($('proof')), found = content && readOwnerFile(content);
  proved = !!found && kept().every(name => found[name] && base64(found[name]) === base64(files[name]));
  ready();
  put('where', proved ? words() : 'That is not the owner file of this key and table, as saved now.', proved ? '' : 'bad');
}

// The blocks for each server: parties/owner/parcel.h.
function blocks() {
  const view = new DataView(parcel.buffer, parcel.byteOffset), all = [];
  let at = 17 + 32;
  while (at < parcel.length) {
    const list = [], n = view.getUint32(at + 32, true);
    at += 36;
    for (let i = 0; i < n; i++) {
      const size = view.getUint32(at, true);
      list.push(parcel.subarray(at + 4, at + 4 + size));
      at += 4 + size;
    }
    all.push(list);
  }
  return all;
}

// An answer's words and payload; whether a server signed it is for `share --keep` to say.
function reply(answer) {
  try {
    return take(answer);
  } catch { // a RangeError
    throw new Error('its answer does not fit');
  }
}

function take(answer) {
  const view = new DataView(answer.buffer, answer.byteOffset);
  const n = view.getUint32(3, true), m = view.getUint32(7 + n, true);
  if (answer.length < 11 + n + m)
    throw new RangeError();
  return {status: answer[2], words: text(answer.subarray(7, 7 + n)), payload: answer.subarray(11 + n, 11 + n + m)};
}

async function post(server, block) {
  const r = await fetch(relay + '/' + server, {method: 'POST', body: block, credentials: 'omit', referrerPolicy: 'no-referrer'});
  if (!r.ok)
    throw new Error('the relay says: ' + (await r.text()).trim());
  return new Uint8Array(await r.arrayBuffer());
}

const PART = 262144, AGAIN = 1; // MESSAGE_PART_MAX, ERR_AGAIN
async function bring(server, list, show) {
  const head = await post(server, list[0]);
  let k = 1, act = await post(server, list[1]), r = reply(act);
  for (let misses = 0, waits = 0, rounds = 0; ; rounds++) {
    if (r.status === AGAIN && r.payload.length === 0 && ++waits < 100) { // too much at once
      await new Promise(done => setTimeout(done, 200));
      act = await post(server, list[k]);
      r = reply(act);
      continue;
    }
    if (r.status !== 0 && (r.payload.length === 0 || ++misses > 3) || rounds > 2 * list.length + 100)
      throw new Error(r.words || 'it refuses');
    if (list.length <= 2)
      break;
    const view = new DataView(r.payload.buffer, r.payload.byteOffset);
    if (view.getUint8(0) === 1)
      break;
    k = 2 + Number(view.getBigUint64(1, true)) / PART;
    show(`${Math.round(100 * (k - 2) / (list.length - 2))} %`);
    if (!list[k])
      throw new Error('its answer does not fit');
    act = await post(server, list[k]);
    r = reply(act);
  }
  return {head, act, k};
}

const join = parts => {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  parts.reduce((at, p) => (all.set(p, at), at + p.length), 0);
  return all;
};
const u32 = n => new Uint8Array(new Uint32Array([n]).buffer);
const block = b => join([u32(b.length), b]);

async function send() {
  const all = blocks(), answers = [];
  $('send').disabled = true;
  $('servers').replaceChildren(...all.map((_, i) => make('li', {id: 'server' + i}, `server ${i}: waits`)));
  for (let i = 0; i < all.length; i++) {
    const show = (words, style) => put('server' + i, `server ${i}: ${words}`, style);
    try {
      show('..');
      answers.push(await bring(i, all[i], show));
      show('has taken it', 'good');
    } catch (e) {
      show(`${e.message}. Press Send to go on.`, 'bad');
      return ready();
    }
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', parcel));
  files['a.parcel.answers'] = join([bytes('trefoil-answers-1\n'), digest,
    ...answers.flatMap(a => [block(a.head), u32(a.k), block(a.act)])]);
  const r = await trefoil('share', '/study.yaml', ...asOwner(), '--keep', '/a.parcel');
  put('end', r.code === 0 ? 'All servers have signed that they hold it: save the receipts.\n' + r.err : problem(r), r.code === 0 ? '' : 'bad');
  $('receipts').disabled = r.code !== 0;
  if (r.code === 0)
    document.body.dataset.sent = 'yes';
  ready();
}

function receipts() {
  for (const name of kept().filter(n => n.endsWith('.receipt')))
    save(name, files[name]);
  save('owner.json', ownerFile());
}

const words = () => relay !== '' ? `It goes to the servers by ${relay}, which sees from where, when and how much, and no rows.`
  : 'This study has no relay: save the parcel, and have somebody bring it to the servers with trefoil send.';

async function begin() {
  const linked = hideLink();
  $('key').onchange = takeKey;
  $('token').onchange = takeToken;
  $('make').onclick = makeKey;
  $('table').onchange = takeTable;
  for (const id of ['encoding', 'delimiter', 'decimal'])
    $(id).onchange = look;
  $('save').onclick = () => save('owner.json', ownerFile());
  $('proof').onchange = prove;
  $('send').onclick = send;
  $('carry').onclick = () => save('a.parcel', parcel);
  $('receipts').onclick = receipts;
  await call({module: data('module'), files: {}});
  const about = await trefoil('check', '/study.yaml'), terms = await trefoil('check', '/study.yaml', '--fingerprint');
  put('about', about.out + about.err);
  put('terms', terms.out.trim());
  put('where', words());
  if (linked)
    await takeToken();
  addEventListener('hashchange', () => hideLink() && takeToken());
  document.body.dataset.ready = 'yes';
}
begin();
