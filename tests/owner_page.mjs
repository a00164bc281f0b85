// The owner's page (trefoil page), for tests/scripts/page.test.sh. Prints TAP without a plan.
//
//   node tests/owner_page.mjs module PAGE KEY TABLE     makes a parcel in the page's own worker, in this process
//   node tests/owner_page.mjs page PAGE FOLDER PICTURES   plays an owner in Chromium, with FOLDER/owner.key and tables there
import fs from 'node:fs';
import vm from 'node:vm';
import {webcrypto} from 'node:crypto';
import {browser} from './chromium.mjs';

const [what, page, ...rest] = process.argv.slice(2);
const html = fs.readFileSync(page, 'utf8');
const part = id => (html.match(new RegExp(`<script type="[^"]*" id="${id}">([^]*?)</script>`)) || [])[1];
const bytes = id => new Uint8Array(Buffer.from(part(id), 'base64'));

async function inModule(key, table) {
  const waiting = [];
  const world = {WebAssembly, TextDecoder, TextEncoder, Uint8Array, DataView, Map, BigInt, Date, Math, String, Object, crypto: webcrypto,
    postMessage: m => waiting.shift()(m)};
  vm.runInNewContext(part('worker'), world);
  const call = message => new Promise(done => (waiting.push(done), world.onmessage({data: {id: 1, ...message}})));
  await call({module: bytes('module'), files: {}});
  const begun = Date.now();
  const r = await call({files: {'study.yaml': bytes('study'), 'owner.key': new Uint8Array(fs.readFileSync(key)),
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

async function inBrowser(folder, pictures) {
  const b = await browser(folder + '/profile');
  const downloads = folder + '/downloads';
  let bad = false;
  const is = (right, words) => {
    console.log(`${right ? 'ok' : 'not ok'} - the owner's page: ${words}`);
    bad = bad || !right;
  };
  const says = (id, words) => b.until(`document.querySelector('#${id}').textContent.includes(${JSON.stringify(words)})`);
  const choose = async (id, file) => {
    const {root} = await b.at('DOM.getDocument', {});
    const {nodeId} = await b.at('DOM.querySelector', {nodeId: root.nodeId, selector: '#' + id});
    await b.at('DOM.setFileInputFiles', {nodeId, files: [file]});
  };
  const click = id => b.run(`document.querySelector('#${id}').click()`);
  const saved = async name => {
    for (let i = 0; i < 200 && !fs.existsSync(`${downloads}/${name}`); i++)
      await new Promise(r => setTimeout(r, 50));
    return fs.existsSync(`${downloads}/${name}`);
  };
  fs.mkdirSync(downloads, {recursive: true});
  await b.at('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: downloads}).catch(() => {});
  await b.at('Page.setDownloadBehavior', {behavior: 'allow', downloadPath: downloads}).catch(() => {});
  await b.at('Page.navigate', {url: 'file://' + fs.realpathSync(page)});
  is(await b.until("document.body.dataset.ready === 'yes'"), 'it starts from a disk');
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
  is(await b.run("document.querySelector('#save').disabled"), 'and nothing goes on before they are answered');
  await b.picture(pictures + '/page-2.png', 900, 1300);
  await b.run("document.querySelectorAll('#doubts input').forEach(e => e.click())");
  is(await says('state', 'fits the study') && await b.until("!document.querySelector('#save').disabled"), 'then the table fits');
  await b.run("document.querySelector('#save').disabled = true"); // until the next table is read

  await choose('table', folder + '/table.csv');
  is(await b.until("!document.querySelector('#save').disabled") && await says('said', 'nothing was sent'), 'the dry run of trefoil share is shown');
  await click('save');
  is(await saved('owner.json'), 'the owner file is saved');
  is(await b.run("document.querySelector('#send').disabled"), 'sending waits for a proof of that');
  await choose('proof', folder + '/table.csv');
  is(await says('where', 'not the owner file'), 'another file is no proof');
  await choose('proof', downloads + '/owner.json');
  is(await b.until("!document.querySelector('#send').disabled"), 'the owner file is');
  await click('send');
  is(await b.until("document.body.dataset.sent === 'yes'", 1200), 'all servers have taken it');
  is(await says('end', 'receipt'), 'and receipts are verified');
  if (bad)
    console.log((await b.run("document.querySelector('#servers').innerText + document.querySelector('#end').innerText + document.querySelector('#state').innerText")).replace(/^/gm, '# '));
  await b.picture(pictures + '/page-3.png', 900, 1700);
  fs.rmSync(downloads + '/owner.json', {force: true});
  await click('receipts');
  is(await saved('owner.json'), 'which are saved with the owner file');
  await b.picture(pictures + '/page-phone.png', 360, 2200);
  is(await b.run('document.documentElement.scrollWidth <= 360'), 'a phone shows it without scrolling sideways');
  is(await b.run("[...document.querySelectorAll('input, select, textarea')].every(e => e.type === 'checkbox' || e.labels.length > 0)"), 'all fields have names');
  is(await b.run("fetch('http://127.0.0.1:1/').then(() => 'fetched', e => 'refused')") === 'refused', 'it reaches nothing but the relay');
  b.end();
  process.exitCode = bad ? 1 : 0;
}

await (what === 'module' ? inModule(...rest) : inBrowser(...rest));
