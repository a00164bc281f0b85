// The explorer's page, and its module. For tests/scripts/explore.test.sh and tests/browser.sh.
//
//   node tests/explore.mjs module PAGE ARGUMENT..     runs trefoil's command in the page's own worker, in this process
//   node tests/explore.mjs page PAGE PICTURES RESULT  plays a reader in a browser; prints TAP without a plan
//   BROWSER=firefox        in that, and not in Chromium; TREFOIL is the program whose answers are compared
import fs from 'node:fs';
import vm from 'node:vm';
import {webcrypto} from 'node:crypto';
import {execFileSync} from 'node:child_process';
import {use, walk} from './keyboard.mjs';

const {browser} = await import(`./${process.env.BROWSER || 'chromium'}.mjs`);

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

// What the page has to show of the program's answer, by the page's own words for numbers.
function expected(result, question) {
  const words = vm.runInNewContext(html.match(/^const show = [^]*?;$/m)[0] + ' show');
  const [answer] = JSON.parse(execFileSync(process.env.TREFOIL, ['query', result, '--json', question]));
  return answer.lines.map(l => [...Object.values(l.group).map(v => v ?? 'missing'),
    ...l.answers.flatMap(a => [words(a.answer), `${words(a.low)} to ${words(a.high)}`])].join('|')).join('\n');
}

async function inBrowser(pictures, result) {
  const downloads = pictures + '/explore-downloads';
  fs.mkdirSync(downloads, {recursive: true});
  const b = await browser(pictures + '/explore-profile', downloads);
  let bad = false;
  const is = (right, words) => {
    console.log(`${right ? 'ok' : 'not ok'} - explorer in ${process.env.BROWSER || 'chromium'}: ${words}`);
    bad = bad || !right;
  };
  await b.go('file://' + fs.realpathSync(page));
  is(await b.until("document.body.dataset.ready === 'yes' && document.querySelector('#chart svg rect') !== null"), 'a chart is drawn');
  is(await b.run("document.querySelector('#chart svg').getAttribute('aria-label').startsWith('Rows by')"), 'it says what it shows');
  await b.picture(pictures + '/explore-1.png', 1200, 900);
  // All without a mouse. What is pressed stays where the next Tab goes on from.
  const asked = words => b.until(`document.querySelector('#busy').textContent === '' && document.querySelector('#asked').textContent${words}`);
  const at = selector => b.run(`document.activeElement.matches(${JSON.stringify(selector)})`);
  for (const [key, other] of [['Enter', 2], [' ', 3]]) {
    const button = `#columns button:nth-of-type(${other})`;
    await use(b, button, key);
    is(await asked(`.endsWith('GROUP BY "' + document.querySelector('${button}').textContent + '"')`) && await at(button + '[aria-pressed="true"]'),
      `another column, by ${key === ' ' ? 'Space' : key}`);
  }
  await use(b, '#second', 'ArrowDown');
  is(await asked(".split(',').length === 2"), 'a second column');
  await use(b, '#chart summary', 'Enter');
  await use(b, '#chart [role="region"]', 'ArrowDown');
  is(await b.run("document.querySelector('#chart details').open") && await at('#chart [role="region"]'), 'the numbers of a chart');
  await use(b, '#filter', 'ArrowDown');
  await use(b, '#filters button', 'Enter');
  is(await asked(".split(',').length === 2") && await b.run("document.querySelector('#filters').children.length === 0") && await at('#filter'),
    'a filter is taken out');
  await b.press('s'); // for sex
  await use(b, '#filters input[type="checkbox"]', ' ');
  is(await asked(".includes(' WHERE ')"), 'a filter');
  is(await walk(b), 'the keyboard reaches all that can be used, in the order of the page');
  const ask = async question => {
    await b.run(`document.querySelector('#sql').value = ${JSON.stringify(question)}`);
    await use(b, '#ask button', 'Enter');
  };
  await ask('SELECT AVG(nobody) FROM t');
  is(await b.until("(document.querySelector('#answers pre') || {textContent: ''}).textContent.includes('there is no column')"),
    'a wrong question is answered in words');
  await use(b, '#draw button', 'Enter');
  is(await b.until("document.querySelector('#made a') !== null"), 'rows are drawn');
  await use(b, '#made a', 'Enter');
  const saved = downloads + '/synthetic.csv', ours = pictures + '/synthetic.csv';
  for (let i = 0; i < 200 && !(fs.existsSync(saved) && fs.statSync(saved).size > 0); i++)
    await new Promise(r => setTimeout(r, 50));
  execFileSync(process.env.TREFOIL, ['synth', result + '/model', '--rows', '1000', '--seed', '1', '--out', ours]);
  is(fs.readFileSync(saved).equals(fs.readFileSync(ours)), 'and saved: they are those of trefoil synth, byte for byte');
  const column = JSON.parse(fs.readFileSync(result + '/measurements.json')).attributes.find(c => c.labels).name;
  const question = `SELECT COUNT(*) FROM t GROUP BY "${column}"`;
  await ask(question);
  await b.until("document.querySelector('#answers tbody') !== null");
  is(await b.run("[...document.querySelectorAll('#answers tbody tr')].map(r => [...r.cells].map(c => c.textContent).join('|')).join('\\n')") ===
    expected(result, question), 'a question has the answer of trefoil query');
  is(await b.run("fetch('data:text/plain,x').then(() => false, () => true)"), 'the page can fetch nothing');
  await b.picture(pictures + '/explore-2.png', 1200, 1500);
  is((await b.nameless()).length === 0, 'a screen reader has a name for all that can be used: ' + await b.nameless());
  await b.picture(pictures + '/explore-phone.png', b.phone, 1600);
  is(await b.run('document.documentElement.scrollWidth') <= b.phone, 'a phone shows it without scrolling sideways');
  b.end();
  process.exitCode = bad ? 1 : 0;
}

await (what === 'module' ? inModule(rest) : inBrowser(...rest));
