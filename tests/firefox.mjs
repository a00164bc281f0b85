// Firefox, with the functions of tests/chromium.mjs. It listens for Marionette's messages: "LENGTH:JSON".
import fs from 'node:fs';
import net from 'node:net';
import {spawn} from 'node:child_process';

const quiet = downloads => Object.entries({'marionette.port': 0, 'browser.download.folderList': 2, 'browser.download.dir': downloads,
  'browser.download.alwaysOpenPanel': false, 'datareporting.policy.dataSubmissionEnabled': false, 'app.normandy.enabled': false,
  'network.captive-portal-service.enabled': false, 'network.connectivity-service.enabled': false})
  .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join('');

const later = () => new Promise(r => setTimeout(r, 50));

export async function browser(profile, downloads) {
  fs.mkdirSync(profile, {recursive: true});
  fs.writeFileSync(profile + '/user.js', quiet(downloads));
  const place = profile + '/MarionetteActivePort';
  fs.rmSync(place, {force: true}); // of an earlier one
  const p = spawn('firefox-esr', ['--headless', '--no-remote', '--marionette', '--profile', profile, 'about:blank'], {stdio: 'ignore'});
  process.on('exit', () => p.kill()); // however the test ends
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => process.exit(1));
  for (let i = 0; i < 2400 && !(fs.existsSync(place) && fs.readFileSync(place, 'utf8')); i++)
    await later();
  const line = net.connect(Number(fs.readFileSync(place, 'utf8')), '127.0.0.1');
  const waiting = new Map();
  let calls = 0, heard = Buffer.alloc(0);
  line.on('data', d => {
    heard = Buffer.concat([heard, d]);
    for (let mark; (mark = heard.indexOf(':')) > 0;) {
      const end = mark + 1 + Number(heard.subarray(0, mark));
      if (heard.length < end)
        return;
      const m = JSON.parse(heard.subarray(mark + 1, end));
      heard = heard.subarray(end);
      if (Array.isArray(m)) // not the greeting
        waiting.get(m[1])(m);
    }
  });
  const at = (command, params = {}) => new Promise((done, failed) => {
    waiting.set(++calls, m => (m[2] ? failed(new Error(`${command}: ${m[2].message}`)) : done(m[3])));
    const text = JSON.stringify([0, calls, 'WebDriver:' + command, params]);
    line.write(Buffer.byteLength(text) + ':' + text);
  });
  await at('NewSession', {capabilities: {alwaysMatch: {timeouts: {script: 3600000, pageLoad: 3600000}}}});
  const run = async expression => {
    const {value} = await at('ExecuteAsyncScript', {args: [expression], script: `const done = arguments[1];
      (async () => (${expression}))().then(value => done({value}), e => done({problem: String(e)}))`});
    if (value.problem)
      throw new Error(value.problem);
    return value.value;
  };
  const until = async (expression, tries = 600) => {
    for (; tries > 0; tries--) {
      if (await run(`document.body !== null && (${expression})`))
        return true;
      await later();
    }
    return false;
  };
  const elements = async selector => (await at('FindElements', {using: 'css selector', value: selector})).map(e => Object.values(e)[0]);
  const choose = async (id, text) => at('ElementSendKeys', {id: (await elements('#' + id))[0], text});
  const keys = {Tab: '\uE004', ArrowDown: '\uE015', Enter: '\uE007', ' ': ' ', s: 's'};
  const press = key => at('PerformActions', {actions: [{type: 'key', id: 'keys', actions: ['keyDown', 'keyUp']
    .map(type => ({type, value: keys[key]}))}]});
  const picture = async (file, width, height) => {
    await at('SetWindowRect', {width, height});
    fs.writeFileSync(file, Buffer.from((await at('TakeScreenshot', {full: true})).value, 'base64'));
  };
  const nameless = async () => {
    const found = [];
    for (const id of await elements('input, select, textarea, button, summary, a'))
      if ((await at('IsElementDisplayed', {id})).value && !(await at('GetComputedLabel', {id})).value.trim())
        found.push((await at('GetElementTagName', {id})).value);
    return found;
  };
  return {run, until, choose, press, picture, nameless, phone: 500, // no window of it is narrower
    go: url => at('Navigate', {url}), end: () => p.kill()};
}
