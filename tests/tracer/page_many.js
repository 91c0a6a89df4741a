// SPDX-License-Identifier: Apache-2.0
// Appended to a report's page by page_many.sh: does what a user does and measures it. Everything here is synchronous, and what was drawn is read back, so
// that the times are those of the work.
(function () {
const wrong = [], times = {}, check = (ok, what) => { if (!ok) wrong.push(what); };
try {
  const canvas = document.getElementById('canvas'), context = canvas.getContext('2d'), box = canvas.getBoundingClientRect();
  const done = () => { context.getImageData(0, 0, 1, 1); return document.body.offsetHeight; };
  const timed = (what, f, most, repeat = 1) => {
    const all = [];
    for (let i = 0; i < repeat; i++) {
      const t = performance.now();
      f(i);
      done();
      all.push(performance.now() - t);
    }
    times[what] = Math.round(all.sort((a, b) => a - b)[all.length >> 1] * 10) / 10;
    check(times[what] <= most, what + ' took ' + times[what] + ' ms');
  };
  done();
  times.open = Math.round(performance.now());
  check(times.open <= 10000, 'opening took ' + times.open + ' ms');

  const rows = () => [...document.querySelectorAll('#kernels tbody tr')].map(r => [...r.cells].map(c => c.textContent));
  const launches = rows().map(r => Number(r[1].replace(/,/g, '')));
  check(launches.length === 50 && launches.every(n => n === 2000), 'launches: ' + launches);
  let kernels = 0;
  for (const t of DATA.tracks) for (const s of t.slices) kernels += s[4] === 1;
  check(kernels === 100000, kernels + ' launches on the timeline');

  const heads = [...document.querySelectorAll('#kernels th button')];
  timed('sort', i => heads[i % 2].click(), 1000, 6);
  heads[0].click();
  heads[0].click();
  const names = rows().map(r => r[0]), sorted = [...names].sort();
  check(names.join() === sorted.join() || names.join() === sorted.reverse().join(), 'sorted: ' + names);

  const wheel = delta => canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: delta, clientX: box.left + 300, clientY: box.top + 40, bubbles: true, cancelable: true, view: window }));
  const before = cudaway.visible();
  timed('zoom', i => wheel(-120), 100, 30);
  const after = cudaway.visible();
  check(after[1] - after[0] < (before[1] - before[0]) / 30, 'zoom: ' + before + ' to ' + after);
  timed('zoom_out', i => wheel(120), 100, 30);
  document.getElementById('all').click();
  timed('pointer', i => canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + 20 * i, clientY: box.top + 60, bubbles: true, view: window })), 100, 30);
  timed('show_kernel', i => document.querySelectorAll('#kernels tbody tr')[i].click(), 1000, 6);
  check(document.getElementById('detail').style.display === 'block', 'no detail');
} catch (e) {
  wrong.push('exception: ' + e.stack);
}
const said = (wrong.concat(window.failures || []).join(' | ') || 'good') + ' ' + Object.entries(times).map(([k, v]) => k + '=' + v).join(' ');
document.body.textContent = '';
document.documentElement.setAttribute('data-said', said.replace(/"/g, "'"));
})();
