// A browser for tests of pages: what a person does, by clicks and keys, over a pipe. tests/firefox.mjs has the same.
import fs from 'node:fs';
import {spawn} from 'node:child_process';

export async function browser(profile, downloads) {
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
  await send('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: downloads});
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
  const choose = async (id, file) => {
    const {root} = await at('DOM.getDocument', {});
    const {nodeId} = await at('DOM.querySelector', {nodeId: root.nodeId, selector: '#' + id});
    await at('DOM.setFileInputFiles', {nodeId, files: [file]});
  };
  const keys = {Tab: [9], ArrowDown: [40], Enter: [13, '\r'], ' ': [32, ' '], s: [83, 's']};
  const press = async key => {
    const [windowsVirtualKeyCode, text] = keys[key];
    for (const type of ['keyDown', 'keyUp'])
      await at('Input.dispatchKeyEvent', {type, key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode, text});
  };
  const picture = async (file, width, height) => {
    await at('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
    const shot = await at('Page.captureScreenshot', {format: 'png'});
    fs.writeFileSync(file, Buffer.from(shot.data, 'base64'));
  };
  // What a screen reader would have to call "button" or "edit".
  const nameless = async () => (await at('Accessibility.getFullAXTree', {})).nodes
    .filter(n => !n.ignored && ['button', 'textbox', 'spinbutton', 'combobox', 'checkbox', 'link', 'DisclosureTriangle'].includes(n.role?.value) &&
      !(n.name?.value || '').trim()).map(n => n.role.value);
  // The page's process: what it has used of processors, in seconds, and its most memory, in MB.
  const taken = async () => (await send('SystemInfo.getProcessInfo')).processInfo.filter(one => one.type === 'renderer').map(one => ({
    seconds: one.cpuTime, most: Number((fs.readFileSync(`/proc/${one.id}/status`, 'utf8').match(/VmHWM:\s*(\d+)/) || [0, 0])[1]) / 1024}))
    .sort((x, y) => y.most - x.most)[0];
  return {run, until, choose, press, picture, nameless, taken, phone: 360,
    go: url => at('Page.navigate', {url}), end: () => p.kill()};
}
