// The owner's page (trefoil page), for tests/scripts/page.test.sh. Prints TAP without a plan.
//
//   node tests/owner_page.mjs module PAGE KEY TABLE     makes a parcel in the page's own worker, in this process
//   node tests/owner_page.mjs page PAGE FOLDER PICTURES   plays an owner in a browser, with FOLDER/owner.key and tables there
//   node tests/owner_page.mjs invited PAGE FOLDER PICTURES   two people who open one link, FOLDER/link
//   node tests/owner_page.mjs long PAGE FOLDER     a long table, in Chromium; prints what it takes
//   node tests/owner_page.mjs lies PAGE FOLDER PORT   a relay at PORT that is closed, and then lies
//   BROWSER=firefox        in that, and not in Chromium
import fs from 'node:fs';
import http from 'node:http';
import vm from 'node:vm';
import {webcrypto} from 'node:crypto';
import {use, walk} from './keyboard.mjs';

const {browser} = await import(`./${process.env.BROWSER || 'chromium'}.mjs`);

const [what, page, ...rest] = process.argv.slice(2);
const html = fs.readFileSync(page, 'utf8');
const part = id => (html.match(new RegExp(`<script type="[^"]*" id="${id}">([^]*?)</script>`)) || [])[1];
const bytes = id => new Uint8Array(Buffer.from(part(id), 'base64'));

function beside() {
  const all = Buffer.from(part('beside') || '', 'base64'), found = {};
  const take = at => all.subarray(at + 4, at + 4 + all.readUInt32LE(at));
  for (let at = 0; at < all.length; at += 8 + take(at).length + take(at + 4 + take(at).length).length)
    found[take(at).toString()] = new Uint8Array(take(at + 4 + take(at).length));
  return found;
}

async function inModule(key, table) {
  const waiting = [];
  const world = {WebAssembly, TextDecoder, TextEncoder, Uint8Array, DataView, Map, BigInt, Date, Math, String, Object, crypto: webcrypto,
    postMessage: m => waiting.shift()(m)};
  vm.runInNewContext(part('worker'), world);
  const call = message => new Promise(done => (waiting.push(done), world.onmessage({data: {id: 1, ...message}})));
  await call({module: bytes('module'), files: {}});
  const begun = Date.now();
  const r = await call({files: {...beside(), 'study.yaml': bytes('study'), 'owner.key': new Uint8Array(fs.readFileSync(key)),
    'table.csv': new Uint8Array(fs.readFileSync(table)), ...Object.fromEntries(fs.readdirSync(key + '.files', {withFileTypes: false})
      .map(name => [name, new Uint8Array(fs.readFileSync(`${key}.files/${name}`))]))},
    args: ['share', '/study.yaml', '/table.csv', '--key', '/owner.key', '--to', '/a.parcel'], want: '*'});
  process.stdout.write(r.out);
  process.stderr.write(`${r.err}# ${Date.now() - begun} ms\n`);
  if (r.code === 0)
    for (const name of Object.keys(r.files))
      fs.writeFileSync(`${key}.files/${name}`, r.files[name]);
  process.exitCode = r.code;
}

// A person at the page.
async function person(folder) {
  const downloads = folder + '/downloads';
  fs.mkdirSync(downloads, {recursive: true});
  const b = await browser(folder + '/profile', downloads);
  let bad = false;
  const is = (right, words) => {
    console.log(`${right ? 'ok' : 'not ok'} - the owner's page: ${words}`);
    bad = bad || !right;
  };
  const says = (id, words) => b.until(`document.querySelector('#${id}').textContent.includes(${JSON.stringify(words)})`);
  const click = id => b.run(`document.querySelector('#${id}').click()`);
  const saved = async name => {
    const whole = () => fs.existsSync(`${downloads}/${name}`) && fs.statSync(`${downloads}/${name}`).size > 0;
    for (let i = 0; i < 200 && !whole(); i++)
      await new Promise(r => setTimeout(r, 50));
    return whole();
  };
  // A person's other windows have nothing of this one.
  const open = async (after = '') => {
    await b.go('about:blank');
    await b.go('file://' + fs.realpathSync(page) + after);
    return b.until("document.body.dataset.ready === 'yes'");
  };
  // Nothing that people wrote became markup, let alone ran.
  const unbroken = () => b.run("!document.querySelector('img, b[onclick], iframe') && document.body.dataset.broken === undefined");
  // The dialogs between a table and Send.
  const prepare = async table => {
    fs.rmSync(downloads + '/owner.json', {force: true});
    await b.choose('table', table);
    await b.until("!document.querySelector('#save').disabled");
    await click('save');
    await saved('owner.json');
    await b.choose('proof', downloads + '/owner.json');
    return b.until("!document.querySelector('#send').disabled");
  };
  const end = async () => {
    if (bad)
      console.log((await b.run('document.body.innerText')).replace(/^/gm, '# '));
    b.end();
    process.exitCode = bad ? 1 : 0;
  };
  return {b, is, says, choose: b.choose, click, saved, open, unbroken, prepare, end, downloads};
}

async function inBrowser(folder, pictures) {
  const {b, is, says, choose, click, saved, open, unbroken, end, downloads} = await person(folder);
  const waits = async () => await says('state', 'Tick what is right above') && await b.run("document.querySelector('#save').disabled");
  is(await open(), 'it starts from a disk');
  is((await b.run("document.querySelector('#about').textContent")).includes('Terms ' + await b.run("document.querySelector('#terms').textContent")),
    'it says the terms, and explains the study');
  is(await b.run("document.querySelector('#send').disabled && document.querySelector('#save').disabled"), 'nothing can be sent yet');
  await b.picture(pictures + '/page-1.png', 900, 1100);

  await choose('key', folder + '/owner.key');
  is(await says('who', 'holder of this key'), 'a key is taken');
  await choose('table', folder + '/wrong.csv');
  is(await says('state', 'sex') && !(await b.run("document.querySelector('#state').className")).includes('good'), 'a table of another kind is refused in words');
  await choose('table', folder + '/odd.csv');
  is(await says('doubts', 'windows-1252') && await says('doubts', 'nothing in any cell'), 'one bad byte and empty rows are asked about');
  is(await waits(), 'and nothing goes on before they are answered');
  await b.picture(pictures + '/page-2.png', 900, 1300);
  for (let i = 0; i < 9 && await b.run("document.querySelector('#doubts input:not(:checked)') !== null"); i++)
    await use(b, '#doubts input:not(:checked)', ' ');
  is(await says('state', 'fits the study') && await b.until("!document.querySelector('#save').disabled"), 'then the table fits');

  await choose('table', folder + '/byte.csv');
  is(await says('doubts', 'windows-1252') && await says('first', 'Sÿ') && await waits(),
    'one bad byte among good ones is asked about, and shown');
  await choose('table', folder + '/thousands.csv');
  is(await says('doubts', 'A cell says 1,234: that is 1.234') && await waits(),
    '1,234, which may be thousands, is asked about');
  await choose('table', folder + '/points.csv');
  is(await says('doubts', 'A cell says 1,234: that is no number here') && await waits(),
    'and where numbers have points');
  await choose('table', folder + '/table.csv');
  is(await b.until("document.querySelector('#doubts').textContent === ''"), 'nothing is asked about a table without doubts');
  is(await b.until("!document.querySelector('#save').disabled") && await says('said', 'nothing was sent'), 'the dry run of trefoil share is shown');
  await click('save');
  is(await saved('owner.json'), 'the owner file is saved');
  is(await b.run("document.querySelector('#send').disabled"), 'sending waits for a proof of that');
  await choose('proof', folder + '/table.csv');
  is(await says('where', 'not the owner file'), 'another file is no proof');
  await choose('proof', downloads + '/owner.json');
  is(await b.until("!document.querySelector('#send').disabled"), 'the owner file is');
  await use(b, '#send', 'Enter');
  is(await b.until("document.body.dataset.sent === 'yes'", 1200), 'all servers have taken it');
  is(await says('end', 'receipt'), 'and receipts are verified');
  await b.picture(pictures + '/page-3.png', 900, 1700);
  fs.rmSync(downloads + '/owner.json', {force: true});
  await click('receipts');
  is(await saved('owner.json'), 'which are saved with the owner file');
  await b.picture(pictures + '/page-phone.png', b.phone, 2200);
  is(await b.run('document.documentElement.scrollWidth') <= b.phone, 'a phone shows it without scrolling sideways');
  is(await b.run("[...document.querySelectorAll('input, select, textarea')].every(e => e.type === 'checkbox' || e.labels.length > 0)"), 'all fields have names');
  is((await b.nameless()).length === 0, 'a screen reader has a name for all that can be used: ' + await b.nameless());
  is(await walk(b), 'the keyboard reaches all that can be used, in the order of the page');
  is(await reachesOnly(b), 'it reaches nothing but the relay');
  is(await b.run(`new Promise(done => {
      const e = document.createElement('p');
      e.innerHTML = '<img src=x onerror="document.body.dataset.broken = 1">';
      e.firstChild.addEventListener('error', () => done((e.remove(), document.body.dataset.broken ?? 'no')));
      document.body.append(e);
    })`) === 'no',
    'and no script but its own runs');
  is(await says('said', '<img src=x>') && await says('first', '<img src=x>') && await unbroken(), 'names and labels of the study and of the table are text');
  await end();
}

// Somebody who would answer any page hears nothing of this one.
async function reachesOnly(b) {
  let asked = 0;
  const other = http.createServer((request, response) => (asked++, response.writeHead(200, {'Access-Control-Allow-Origin': '*'}).end('x')));
  await new Promise(done => other.listen(0, '127.0.0.1', done));
  const to = `http://127.0.0.1:${other.address().port}/`;
  const said = await b.run(`Promise.all([fetch('${to}').then(() => 'fetched', () => 'refused'),
    new Promise(done => Object.assign(new Image(), {onload: () => done('shown'), onerror: () => done('refused'), src: '${to}'}))])`);
  other.close();
  return said.join() === 'refused,refused' && asked === 0;
}

async function invited(folder, pictures) {
  const {b, is, says, click, open, unbroken, prepare, end} = await person(folder);
  const link = fs.readFileSync(folder + '/link', 'utf8').trim();
  const secret = link.slice(link.indexOf('#'));
  for (const evil of ['#trefoil-<img src=x onerror="document.body.dataset.broken=1">', '#<img src=x onerror="document.body.dataset.broken=1">',
    "#trefoil-link1-';document.body.dataset.broken=1;'", '#javascript:document.body.dataset.broken=1'])
    is(await open(evil) && await unbroken() && await b.run("document.querySelector('#who').textContent === ''"), `an address with ${evil} does nothing`);
  is(await open(secret), 'a link is opened');
  is(await says('admits', 'for the first who takes it up') && await says('who', 'holder of this key'), 'it says what it is, and a key is made');
  is(await b.run("location.hash === '' && !location.href.includes('link1') && !history.state"), 'the secret leaves the address');
  is(await prepare(folder + '/table.csv'), 'the table is taken');
  await b.picture(pictures + '/page-invited.png', 900, 1500);
  await click('send');
  is(await b.until("document.body.dataset.sent === 'yes'", 1200), 'all servers have taken it');
  is(await open(secret) && await says('admits', 'for the first who takes it up'), 'a second person opens the same link');
  is(await prepare(folder + '/table.csv'), 'and gets as far as Send');
  await click('send');
  is(await says('servers', 'taken up the invitation'), 'but is refused, in words');
  is(await b.run("document.body.dataset.sent === undefined && document.querySelector('#receipts').disabled"), 'and has no receipts');
  await b.picture(pictures + '/page-refused.png', 900, 1500);
  await end();
}

async function long(folder) {
  const {b, is, says, choose, click, open, prepare, end} = await person(folder);
  await open();
  // No owner file, and a wrong token, while a table is read with a key: what that leaves is not theirs.
  fs.writeFileSync(folder + '/none.json', '{}');
  await choose('key', folder + '/owner.key');
  await says('who', 'holder of this key');
  await choose('table', folder + '/long.csv');
  await b.until("document.querySelector('#state').textContent.startsWith('Reading')");
  await choose('key', folder + '/none.json');
  await says('who', 'neither an owner file nor a key');
  const token = word => b.run(`Object.assign(document.querySelector('#token'), {value: '${word}'}).dispatchEvent(new Event('change'))`);
  await token('x');
  await b.until("document.querySelector('#admits').textContent !== ''"); // after the table: one follows the other
  await token('');
  await choose('table', folder + '/table.csv');
  is(await says('state', 'Choose your owner file or key first'), 'a key that was taken out is not used');
  await choose('key', folder + '/owner.key');
  await says('who', 'holder of this key');
  await b.until("!document.querySelector('#save').disabled");
  const begun = Date.now();
  is(await prepare(folder + '/long.csv'), 'a long table is taken');
  const read = Date.now();
  await click('send');
  is(await b.until("document.body.dataset.sent === 'yes'", 2400), 'and sent');
  const used = await b.taken();
  console.log(`# ${(read - begun) / 1000} s to read it, ask and save, ${(Date.now() - read) / 1000} s from Send to receipts; ` +
    `the tab took ${used.seconds.toFixed(1)} s of a processor, and ${used.most.toFixed(0)} MB at most`);
  is(used.most < 300, 'the tab stays below 300 MB');
  await end();
}

// An answer that no server signed: "I have taken it".
const claimed = Buffer.concat([Buffer.from([1, 14, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1]), Buffer.alloc(8), Buffer.alloc(64)]);

async function lies(folder, port) {
  const {b, is, says, choose, click, open, prepare, end} = await person(folder);
  is(await open(), 'it starts');
  await choose('key', folder + '/owner.key');
  await says('who', 'holder of this key');
  is(await prepare(folder + '/table.csv'), 'the table is taken');
  await click('send');
  is(await says('servers', 'Press Send to go on'), 'a closed relay is told, and Send is there again');
  let answer = claimed;
  const liar = http.createServer((request, response) => request.resume().on('end', () =>
    response.writeHead(200, {'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': 'Content-Type'}).end(answer)));
  await new Promise(done => liar.listen(Number(port), '127.0.0.1', done));
  await click('send');
  is(await says('end', 'is not what the servers answered') && await b.run("document.body.dataset.sent === undefined && document.querySelector('#receipts').disabled"),
    'a relay that makes up answers gets no receipt');
  for (answer of [Buffer.alloc(0), Buffer.from([1, 14]), Buffer.alloc(3, 255), Buffer.from([1, 14, 0, 255, 255, 255, 255]), claimed.subarray(0, 15)]) {
    await click('send');
    is(await says('servers', 'its answer does not fit') && await b.until("!document.querySelector('#send').disabled"), `nor does one whose answer has ${answer.length} bytes`);
  }
  liar.close();
  await end();
}

await {module: inModule, page: inBrowser, invited, long, lies}[what](...rest);
