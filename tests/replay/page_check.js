// SPDX-License-Identifier: Apache-2.0
// Appended to the page by page.sh: looks at it as a user does, and tells the page around it what came. What must come is written here, from what
// page.sh plants, not from the page.
(async function () {
const wrong = [], check = (ok, what) => { if (!ok) wrong.push(what); };
const wait = ms => new Promise(r => setTimeout(r, ms));
try {
  await wait(100);
  const rows = t => [...t.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent));
  const groups = document.getElementById('groups');
  const names = () => rows(groups).map(r => r[0]).join();
  check(rows(groups).find(r => r[0] === 'plus').join('|') === 'plus|not looked into|1|256 of 256|0.5|0.2|2,097,152', 'plus: ' + rows(groups).find(r => r[0] === 'plus'));
  // 24.25 for 16.25 and 52.25 for 36.25: at most 16, and 8 / 24.25.
  check(rows(groups).find(r => r[0] === 'sample').join('|') === 'sample|not looked into|1|2 of 32|16|0.33|4,194,304', 'sample: ' + rows(groups).find(r => r[0] === 'sample'));
  groups.querySelectorAll('th button')[0].click();
  check(names() === 'hole,plus,sample', 'sorted by name: ' + names());
  groups.querySelectorAll('th button')[3].click();
  groups.querySelectorAll('th button')[3].click();
  check(names() === 'hole,sample,plus', 'sorted by elements: ' + names());

  check(/^The picture of a launch is damaged\./.test(document.getElementById('pictures').textContent), 'a damaged picture is not told');
  const of = name => [...document.querySelectorAll('section.launch')].find(s => s.querySelector('h2').textContent.startsWith(name));
  const pixels = section => {
    const c = section.querySelector('canvas'), data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, painted = [];
    for (let i = 0; i < c.width * c.height; i++) if (data[4 * i + 3]) painted.push(i);
    return [c.width, c.height, painted.join()];
  };
  // The texture's result has 8 columns, as its block of threads; elements 13 and 29 are planted.
  const sample = of('sample'), worst = rows(sample.querySelector('table.worst'));
  check(pixels(sample).join(' ') === '8 4 13,29', 'heat map of sample: ' + pixels(sample).join(' '));
  check(worst.length === 2 && worst[0].slice(0, 6).join('|') === '1, 5|13|24.25 (0x41c20000)|16.25 (0x41820000)|4,194,304 ULP|(5,1,0) of block (0,0,0)', 'worst of sample: ' + worst.join(' || '));
  check(worst[1].slice(0, 6).join('|') === '3, 5|29|52.25 (0x42510000)|36.25 (0x42110000)|4,194,304 ULP|(5,3,0) of block (0,0,0)', 'worst of sample: ' + worst.join(' || '));
  check(/st\.global\.f32/.test(worst[0][6]), 'place: ' + worst[0][6]);
  const bars = section => [...section.querySelectorAll('rect')].map(r => Number(r.getAttribute('height')) > 0);
  check(bars(sample).length === 23 && bars(sample).filter(b => b).length === 1 && bars(sample)[22], 'histogram of sample: ' + bars(sample));
  // 256 elements fold into 16 rows. A NaN has no distance, and a bar of its own.
  check(pixels(of('plus'))[0] === 16 && pixels(of('plus'))[1] === 16 && pixels(of('plus'))[2].split(',').length === 256, 'heat map of plus: ' + pixels(of('plus')));
  check(pixels(of('hole')).join(' ') === '16 16 70', 'heat map of hole: ' + pixels(of('hole')).join(' '));
  check(bars(of('hole')).join() === 'true' && of('hole').querySelector('rect.special'), 'histogram of hole: ' + bars(of('hole')));
  check(rows(of('hole').querySelector('table.worst')).map(r => r.slice(1, 6).join('|')).join() === '70|nan (0x7fc00000)|18.5 (0x41940000)|an infinity or a NaN|(6,0,0) of block (1,0,0)', 'worst of hole: ' +
    rows(of('hole').querySelector('table.worst')));
  // What is under the pointer.
  const canvas = sample.querySelector('canvas');
  canvas.scrollIntoView();
  const box = canvas.getBoundingClientRect(), tip = document.getElementById('tip');
  canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + box.width * 5.5 / 8, clientY: box.top + box.height * 1.5 / 4, bubbles: true }));
  check(tip.style.display === 'block' && tip.textContent === 'row 1, column 5: 4,194,304 ULP', 'tip: ' + tip.textContent);

  // Readable: nothing wider than the window, no text below 11 pixels.
  check(document.documentElement.scrollWidth <= innerWidth, 'the page is ' + document.documentElement.scrollWidth + ' pixels wide in a window of ' + innerWidth);
  for (const e of document.querySelectorAll('main *'))
    if (e.childNodes.length && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && parseFloat(getComputedStyle(e).fontSize) < 11)
      check(false, 'small text: ' + e.tagName);
  for (const s of document.querySelectorAll('svg')) check(s.getScreenCTM().a > 0.99 && s.getBoundingClientRect().right <= innerWidth, 'a chart is scaled or cut');
  check(!/https?:\/\//.test([...document.querySelectorAll('[src],[href]')].map(e => e.getAttribute('src') || e.getAttribute('href')).join()), 'refers to other files');
} catch (e) {
  wrong.push('exception: ' + e.stack);
}
parent.postMessage(innerWidth + ': ' + (wrong.concat(window.failures || []).join(' | ') || 'good'), '*');
})();
