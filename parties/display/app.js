'use strict';
// What pages share that run trefoil's own commands in a worker. They compute no figure themselves.
const $ = id => document.getElementById(id);
const data = id => Uint8Array.from(atob($(id).textContent.trim()), c => c.charCodeAt(0));

// --- the worker

const worker = new Worker(URL.createObjectURL(new Blob([$('worker').textContent], {type: 'text/javascript'})));
const waiting = new Map();
let calls = 0;
worker.onmessage = e => {
  waiting.get(e.data.id)(e.data);
  waiting.delete(e.data.id);
};
const call = message => new Promise(done => {
  waiting.set(++calls, done);
  worker.postMessage({id: calls, ...message});
});

// --- text and elements: names go into text nodes, never into markup

function make(tag, attributes, ...children) {
  const svg = ['svg', 'rect', 'line', 'text', 'g', 'title'].includes(tag);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (name.startsWith('on'))
      e.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined)
      e.setAttribute(name, value === true ? '' : value);
  for (const c of children)
    e.append(c);
  return e;
}

