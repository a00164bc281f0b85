// The explorer's page, and its module. For tests/scripts/explore.test.sh and tests/browser.sh.
//
//   node tests/explore.mjs module PAGE ARGUMENT..     runs trefoil's command in the page's own worker, in this process
//   node tests/explore.mjs page PAGE PICTURES         plays a reader in Chromium; prints TAP without a plan
import fs from 'node:fs';
import vm from 'node:vm';
import {spawn} from 'node:child_process';
import {webcrypto} from 'node:crypto';

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
  await call({reader: bytes('reader'), files});
  const r = await call({args, want: 'rows.csv'});
  process.stdout.write(r.file ? Buffer.from(r.file) : r.out);
  process.stderr.write(r.err);
  process.exitCode = r.code;
}

// Chromium over a pipe: what a person does, by clicks and keys.
async function browser(profile) {
  const p = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
    '--remote-debugging-pipe', '--user-data-dir=' + profile, 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
  const waiting = new Map();
  let calls = 0, heard = '';
  p.stdio[4].on('data', d => {
    const all = (heard + d).split('\0');
    heard = all.pop();
    for (const m of all.map(t => JSON.parse(t)))
      if (m.id)
        waiting.get(m.id)(m);
  });
  const send = (method, params = {}, sessionId) => new Promise((done, failed) => {
    waiting.set(++calls, m => (m.error ? failed(new Error(`${method}: ${m.error.message}`)) : done(m.result)));
    p.stdio[3].write(JSON.stringify({id: calls, method, params, sessionId}) + '\0');
  });
  const {targetInfos} = await send('Target.getTargets');
  const {sessionId} = await send('Target.attachToTarget', {targetId: targetInfos.find(t => t.type === 'page').targetId, flatten: true});
  const at = (method, params) => send(method, params, sessionId);
  const run = async expression => {
    const r = await at('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (r.exceptionDetails)
      throw new Error(JSON.stringify(r.exceptionDetails.exception));
    return r.result.value;
  };
  const until = async (expression, tries = 600) => {
    for (; tries > 0; tries--) {
      if (await run(`document.body !== null && (${expression})`))
        return true;
      await new Promise(r => setTimeout(r, 50));
    }
    return false;
  };
  const picture = async (file, width, height) => {
    await at('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
    const shot = await at('Page.captureScreenshot', {format: 'png'});
    fs.writeFileSync(file, Buffer.from(shot.data, 'base64'));
  };
  return {at, run, until, picture, end: () => p.kill()};
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
