// A page without a mouse: `b` is a browser of tests/chromium.mjs or firefox.mjs.

// The next Tab is the first.
const begin = b =>
  b.run("document.activeElement.blur(), document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute('tabindex')");

// Tab stops at all that can be used, in the order of the page.
export async function walk(b) {
  await begin(b);
  const wanted = await b.run(`[...document.querySelectorAll('input, select, textarea, button, summary, a, [tabindex="0"]')]
    .filter(e => !e.disabled && e.checkVisibility()).map((e, i) => (e.dataset.turn = i))`);
  const found = [];
  for (let i = 0; i < wanted.length + 12 && found.length < wanted.length; i++) {
    await b.press('Tab');
    const turn = await b.run("document.activeElement.dataset.turn === undefined ? -1 : Number(document.activeElement.dataset.turn)");
    if (turn >= 0 && turn !== found.at(-1)) // what scrolls has a stop, too
      found.push(turn);
  }
  return found.length > 5 && found.join() === wanted.join() ? true : console.log("# " + found + " of " + wanted);
}

// Goes by Tab to what is wanted, and presses a key there.
export async function use(b, selector, key) {
  await begin(b);
  const there = () => b.run(`document.activeElement.matches(${JSON.stringify(selector)})`);
  for (let i = 0; i < 100 && !await there(); i++)
    await b.press('Tab');
  await b.press(key);
}
