// SPDX-License-Identifier: Apache-2.0
// Appended to a report's page by page.sh: does what a user does, and tells the page around it what came. What must come is written here, from
// what timeline.c does, not from the page.
(async function () {
const wrong = [], check = (ok, what) => { if (!ok) wrong.push(what); };
const wait = ms => new Promise(r => setTimeout(r, ms));
try {
  await wait(100);
  const rows = () => [...document.querySelectorAll('#kernels tbody tr')].map(r => [...r.cells].map(c => c.textContent));
  const names = rows().map(r => r[0]);
  check(['spin', 'scale', 'copy to the device', 'copy to the host', 'memset'].every(n => names.includes(n)) && names.length === 5, 'rows: ' + names);
  const heads = [...document.querySelectorAll('#kernels th button')];
  heads[0].click();
  check(rows().map(r => r[0]).join() === [...names].sort().join(), 'sorted by name: ' + rows().map(r => r[0]));
  heads[0].click();
  check(rows().map(r => r[0]).join() === [...names].sort().reverse().join(), 'sorted by name, downwards: ' + rows().map(r => r[0]));
  heads[1].click();
  const launches = rows().map(r => Number(r[1]));
  check(launches.join() === [...launches].sort((a, b) => b - a).join() && launches.includes(2 * ROUNDS), 'sorted by launches: ' + launches);
  const th = document.querySelectorAll('#kernels th')[1];
  check(th.getAttribute('aria-sort') === 'descending', 'aria-sort: ' + th.getAttribute('aria-sort'));

  // The wheel zooms around the pointer.
  const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect(), before = cudaway.visible();
  const px = box.width / 4, under = before[0] + (before[1] - before[0]) / 4;
  for (let i = 0; i < 5; i++)
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -120, clientX: box.left + px, clientY: box.top + 40, bubbles: true, cancelable: true, view: window }));
  const after = cudaway.visible(), zoomed = after[0] + (after[1] - after[0]) / 4;
  check(after[1] - after[0] < (before[1] - before[0]) / 1.5, 'zoom: ' + before + ' to ' + after);
  check(Math.abs(zoomed - under) < (before[1] - before[0]) / 100, 'zoom around the pointer: ' + under + ' to ' + zoomed);
  document.getElementById('all').click();
  check(cudaway.visible().map(Math.round).join() === before.map(Math.round).join(), 'show all: ' + cudaway.visible());

  // A click on a kernel's row shows its longest launch, its parameters by the kernel's types, and its PTX.
  [...document.querySelectorAll('#kernels tbody tr')].find(r => r.cells[0].textContent === 'scale').click();
  const detail = document.getElementById('detail');
  check(detail.style.display === 'block' && detail.textContent.includes('1024 × 1 × 1 blocks of 256 × 1 × 1 threads'), 'detail: ' + detail.textContent.slice(0, 200));
  check(detail.querySelector('pre') && /^\.entry scale\(/.test(detail.querySelector('pre').textContent), 'PTX of scale');
  const link = [...detail.querySelectorAll('button.link')][0];
  check(link, 'a link to the call');
  if (link) {
    link.click();
    check(/cuLaunchKernel|cuGraphLaunch/.test(detail.textContent), 'the call: ' + detail.textContent.slice(0, 100));
    if (/cuLaunchKernel/.test(detail.textContent))
      check(/a=0x[0-9a-f]+, f=1\.5, n=262144/.test(detail.textContent), 'parameters: ' + detail.textContent.slice(0, 400));
  }
  // spin is never in a graph: what the device did has the parameters of the call that submitted it.
  [...document.querySelectorAll('#kernels tbody tr')].find(r => r.cells[0].textContent === 'spin').click();
  check(/submitted by/.test(detail.textContent) && /out=0x[0-9a-f]+, n=200000/.test(detail.textContent), 'parameters of a launch on the device: ' + detail.textContent.slice(0, 400));
  check(document.querySelector('#memory path.area').getAttribute('d').length > 20, 'memory');
  check(document.getElementById('findings').children.length > 0, 'findings');

  // Readable: nothing wider than the window, no text below 11 pixels.
  check(document.documentElement.scrollWidth <= innerWidth, 'the page is ' + document.documentElement.scrollWidth + ' pixels wide in a window of ' + innerWidth);
  for (const e of document.querySelectorAll('main *'))
    if (e.childNodes.length && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && parseFloat(getComputedStyle(e).fontSize) < 11)
      check(false, 'small text: ' + e.tagName);
  check(!/https?:\/\//.test([...document.querySelectorAll('[src],[href]')].map(e => e.getAttribute('src') || e.getAttribute('href')).join()), 'refers to other files');
} catch (e) {
  wrong.push('exception: ' + e.stack);
}
parent.postMessage(innerWidth + ': ' + (wrong.concat(window.failures || []).join(' | ') || 'good'), '*');
})();
