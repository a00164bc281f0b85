// The explorer's page, and its module. For tests/scripts/explore.test.sh and tests/browser.sh.
//
//   node tests/explore.mjs module PAGE ARGUMENT..     runs trefoil's command in the page's own worker, in this process
//   node tests/explore.mjs page PAGE PICTURES         plays a reader in Chromium; prints TAP without a plan
import fs from 'node:fs';
import vm from 'node:vm';
import {webcrypto} from 'node:crypto';
import {browser} from './chromium.mjs';

const [what, page, ...rest] = process.argv.slice(2);
const html = fs.readFileSync(page, 'utf8');
const part = id => (html.match(new RegExp(`<script type="[^"]*" id="${id}">([^]*?)</script>`)) || [])[1];

async function inModule(args) {
  const waiting = [];
  const world = {WebAssembly, TextDecoder, TextEncoder, Uint8Array, DataView, Map, BigInt, Date, Math, String, Object, crypto: webcrypto,
    postMessage: m => waiting.shift()(m)};
  vm.runInNewContext(part('worker'), world);
  const call = message => new Promise(done => (waiting.push(done), world.onmessage({data: {id: 1, ...message}})));
  const bytes = id => new Uint8Array(Buffer.from(part(id), 'base64'));
  const files = {model: bytes('model')};
  if (part('errors'))
    files.errors = bytes('errors');
  await call({module: bytes('module'), files});
  const r = await call({args, want: 'rows.csv'});
  process.stdout.write(r.file ? Buffer.from(r.file) : r.out);
  process.stderr.write(r.err);
  process.exitCode = r.code;
}

async function inBrowser(pictures) {
  const b = await browser(pictures + '/explore-profile');
  let bad = false;
  const is = (right, words) => {
    console.log(`${right ? 'ok' : 'not ok'} - explorer: ${words}`);
    bad = bad || !right;
  };
  await b.at('Page.navigate', {url: 'file://' + fs.realpathSync(page)});
  is(await b.until("document.body.dataset.ready === 'yes' && document.querySelector('#chart svg rect') !== null"), 'a chart is drawn');
  is(await b.run("document.querySelector('#chart svg').getAttribute('aria-label').startsWith('Rows by')"), 'it says what it shows');
  await b.picture(pictures + '/explore-1.png', 1200, 900);
  await b.run("(s => { s.value = s.options[2].value; s.dispatchEvent(new Event('change')); })(document.querySelector('#second'))");
  is(await b.until("document.querySelector('#busy').textContent === '' && document.querySelector('#asked').textContent.split(',').length === 2"),
    'a second column');
  await b.run("(s => { s.value = s.options[2].value; s.dispatchEvent(new Event('change')); })(document.querySelector('#filter'))");
  await b.run("document.querySelector('#filters input').click()");
  is(await b.until("document.querySelector('#busy').textContent === '' && document.querySelector('#asked').textContent.includes(' WHERE ')"),
    'a filter');
  await b.run("document.querySelector('#sql').value = 'SELECT AVG(nobody) FROM t'; document.querySelector('#ask button').click()");
  is(await b.until("(document.querySelector('#answers pre') || {textContent: ''}).textContent.includes('there is no column')"),
    'a wrong question is answered in words');
  await b.run("document.querySelector('#draw button').click()");
  is(await b.until("document.querySelector('#made a') !== null"), 'rows are drawn');
  const rows = await b.run("fetch === undefined ? '' : document.querySelector('#made a').download");
  is(rows === 'synthetic.csv', 'and can be saved');
  is(await b.run("fetch('data:text/plain,x').then(() => false, () => true)"), 'the page can fetch nothing');
  await b.picture(pictures + '/explore-2.png', 1200, 1500);
  await b.picture(pictures + '/explore-phone.png', 360, 1600);
  is(await b.run('document.documentElement.scrollWidth <= 360'), 'a phone shows it without scrolling sideways');
  b.end();
  process.exitCode = bad ? 1 : 0;
}

await (what === 'module' ? inModule(rest) : inBrowser(rest[0]));
