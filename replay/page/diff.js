// SPDX-License-Identifier: Apache-2.0
// The page of `cudaway-diff --html`. DATA is what replay/page.c writes; d3 (version 3) is in front of this.
'use strict';
(function () {
const D = DATA, R = D.results, $ = id => document.getElementById(id);
const css = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const el = (tag, attributes, ...children) => {
  const e = document.createElement(tag);
  for (const k in attributes || {}) e.setAttribute(k, attributes[k]);
  for (const c of children) if (c !== null && c !== undefined) e.append(c);
  return e;
};
const count = n => n.toLocaleString('en-US');
const short = v => v === null ? 'overflow' : v === 0 ? '0' : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6 ? String(Number(v.toPrecision(3))) : v.toExponential(2);

// ---- head and key figures ----
document.title = D.title + ' · CUDAway';
$('title').textContent = D.title;
$('subtitle').textContent = R.reference ? R.reference + ' against ' + R.subject + (R.tolerance ? ' · tolerances of ' + R.tolerance : '') : count(R.dumps.length) + ' dumps';
const card = (value, label, bad) => $('cards').append(el('div', { class: bad ? 'card bad' : 'card' }, el('b', {}, value), el('span', {}, label)));
card(count(R.compared), 'launches compared');
for (const [name, bad] of [['same'], ['tolerated'], ['within bounds'], ['different', 1], ['not run', 1], ['translation fault', 1]])
  if (R.severities[name] || name === 'same' || name === 'different') card(count(R.severities[name]), name, bad && R.severities[name]);
if (R.not_compared) card(count(R.not_compared), 'could not be compared', 1);

// ---- the table ----
function table(t, rows, columns) {
  const head = el('tr'), body = el('tbody');
  let sorted = -1, down = true;
  const fill = () => {
    body.textContent = '';
    for (const r of rows) {
      const tr = el('tr');
      for (const [, value, show] of columns) { const td = el('td', {}, show ? show(value(r), r) : value(r)); td.title = td.textContent; tr.append(td); }
      body.append(tr);
    }
  };
  columns.forEach(([title, value], i) => {
    const th = el('th', {}, el('button', { type: 'button' }, title));
    th.addEventListener('click', () => {
      const order = v => v === null ? Infinity : v;
      down = sorted === i ? !down : typeof (rows.length ? order(value(rows[0])) : 0) === 'number';
      sorted = i;
      rows.sort((a, b) => { const x = order(value(a)), y = order(value(b)), c = x < y ? -1 : x > y ? 1 : 0; return down ? -c : c; });
      for (const o of head.children) o.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      fill();
    });
    head.append(th);
  });
  t.append(el('thead', {}, head), body);
  fill();
}
const allowed = r => r.severity === 'tolerated' || r.severity === 'within bounds';
if (R.kernels.length) table($('groups'), R.kernels, [
  ['kernel', r => r.kernel], ['cause', r => r.cause || 'not looked into'], ['launches', r => r.launches, count],
  ['elements', r => allowed(r) ? r.tolerated + r.bounded : r.differ, (v, r) => count(v) + ' of ' + count(r.elements)],
  ['absolute', r => r.absolute, short], ['relative', r => r.relative, short], ['ULP', r => r.ulp, (v, r) => v === 0 && r.absolute !== 0 ? '–' : v === null ? short(v) : count(v)],
]);
else $('groups').replaceWith(el('p', { class: 'soft' }, 'All launches are the same.'));

// ---- pictures ----
const tip = $('tip');
const hide = () => tip.style.display = 'none';
const show = (e, text) => {
  tip.textContent = text;
  tip.style.display = 'block';
  tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = e.clientY + 16 + 'px';
};
const distance = (p, v) => v === null || v < 0 ? 'an infinity or a NaN' : p.unit === 'ULP' ? count(v) + ' ULP' : short(v) + ' apart';
const SHAPES = { threads: 'rows as the threads of the grid lie', array: 'the array\'s rows', texture: 'the texture\'s rows', fold: 'rows of a square, since nothing says how long they are' };

function heat(p) {
  const h = p.heat, canvas = el('canvas', { width: h.columns, height: h.rows, role: 'img', 'aria-label': 'where elements differ' }), c = canvas.getContext('2d');
  const most = d3.max(h.cells) || 1, box = el('div', { class: 'heat' }, canvas);
  const color = d3.scale.log().domain([1, Math.max(most, 2)]).range(['#ffd54a', '#b71c1c']).interpolate(d3.interpolateHcl).clamp(true);
  const special = css('compile');
  canvas.style.aspectRatio = h.columns * h.wide + ' / ' + h.rows * h.high;
  canvas.style.minHeight = '24px';
  canvas.style.maxHeight = '420px';
  const image = c.createImageData(h.columns, h.rows);
  h.cells.forEach((v, i) => {
    if (!v) return;
    const rgb = d3.rgb(v < 0 ? special : color(v));
    image.data.set([rgb.r, rgb.g, rgb.b, 255], 4 * i);
  });
  c.putImageData(image, 0, 0);
  const at = e => {
    const r = canvas.getBoundingClientRect(), x = Math.floor((e.clientX - r.left) / r.width * h.columns), y = Math.floor((e.clientY - r.top) / r.height * h.rows);
    return x >= 0 && y >= 0 && x < h.columns && y < h.rows ? [x, y] : null;
  };
  const range = (a, n, all) => n === 1 ? String(a) : a + '–' + Math.min(a + n, all) + '';
  canvas.addEventListener('mousemove', e => {
    const xy = at(e);
    if (!xy) return hide();
    const v = h.cells[xy[1] * h.columns + xy[0]];
    show(e, 'row ' + range(xy[1] * h.high, h.high, p.rows - 1) + ', column ' + range(xy[0] * h.wide, h.wide, p.columns - 1) + ': ' + (v ? (h.wide * h.high > 1 && v > 0 ? 'at most ' : '') + distance(p, v) : 'the same'));
  });
  canvas.addEventListener('mouseleave', hide);
  const bar = el('i');
  bar.style.background = 'linear-gradient(90deg, #ffd54a, ' + color(Math.sqrt(Math.max(most, 2))) + ', #b71c1c)';
  const scale = el('div', { class: 'scale' }, '1', bar, distance(p, Math.max(most, 1)));
  if (p.special) { const b = el('b'); b.style.background = special; scale.append(el('span', {}, b, 'infinity or NaN')); }
  box.append(scale, el('div', { class: 'soft' }, count(p.rows) + ' × ' + count(p.columns) + ' elements, ' + SHAPES[p.shape] + (h.wide * h.high > 1 ? '; a point is the worst of ' + h.high + ' × ' + h.wide : '')));
  return box;
}

function histogram(p) {
  const bars = p.histogram.map((n, i) => ({ n, label: i < 2 ? String(i + 1) : '≤ 2^' + i }));
  if (p.special) bars.push({ n: p.special, label: '∞, NaN', special: true });
  const box = el('div'), W = innerWidth < 700 ? 340 : 460, H = 200, left = 44, bottom = 34, top = 20;
  const svg = d3.select(box).append('svg').attr('class', 'chart').attr('viewBox', '0 0 ' + W + ' ' + H).style('max-width', W + 'px').attr('role', 'img').attr('aria-label', 'how many elements are how far apart');
  const x = d3.scale.ordinal().domain(d3.range(bars.length)).rangeRoundBands([left, W], 0.15), y = d3.scale.log().domain([0.5, Math.max(2, d3.max(bars, b => b.n))]).range([H - bottom, top]);
  svg.selectAll('rect').data(bars).enter().append('rect').attr('class', b => b.special ? 'special' : '').attr('x', (b, i) => x(i)).attr('width', x.rangeBand())
    .attr('y', b => b.n ? y(b.n) : H - bottom).attr('height', b => b.n ? H - bottom - y(b.n) : 0)
    .on('mousemove', b => show(d3.event, count(b.n) + ' elements, ' + (b.special ? b.label : b.label + ' ' + p.unit))).on('mouseleave', hide);
  svg.selectAll('text.bar').data(bars).enter().append('text').attr('class', 'bar').attr('x', (b, i) => x(i) + x.rangeBand() / 2).attr('y', b => y(b.n || 0.5) - 4)
    .text(b => !b.n ? '' : x.rangeBand() > 7 * count(b.n).length ? count(b.n) : '');
  const every = Math.ceil(bars.length / (W < 400 ? 4 : 7));
  const axis = svg.append('g').attr('class', 'axis').attr('transform', 'translate(0,' + (H - bottom) + ')')
    .call(d3.svg.axis().scale(x).orient('bottom').tickSize(3).tickValues(d3.range(0, bars.length, every)).tickFormat(i => bars[i].label));
  const powers = d3.range(0, 12).map(i => Math.pow(10, i)).filter(v => v <= y.domain()[1]);
  svg.append('g').attr('class', 'axis').attr('transform', 'translate(' + left + ',0)').call(d3.svg.axis().scale(y).orient('left').tickSize(3).tickValues(powers).tickFormat(v => v >= 1e4 ? '10^' + Math.round(Math.log10(v)) : count(v)));
  axis.append('text').attr('x', W).attr('y', 30).style('text-anchor', 'end').text('how far apart (' + (p.unit === 'ULP' ? 'ULP' : 'absolute') + '), and how many elements');
  return box;
}

function worst(p) {
  const t = el('table', { class: 'worst' });
  table(t, p.worst, [
    ['row, column', w => w.index, v => Math.floor(v / p.columns) + ', ' + v % p.columns], ['index', w => w.index, count], ['reference', w => w.reference], ['subject', w => w.subject],
    ['how far', w => w.distance, v => distance(p, v)], ['written by thread', w => w.thread || 'not known'], ['at', w => w.place || 'not known'],
  ]);
  return el('div', { class: 'scroll' }, t);
}

// A picture comes from the process that ran the kernel, which may have made it up: the others are shown.
function picture(s) {
  const launch = R.launches[s.of], g = s.picture.grid.join(' × '), b = s.picture.block.join(' × ');
  const section = el('section', { class: 'launch' }, el('h2', {}, launch.kernel + (launch.launch ? ', launch ' + launch.launch : '')),
    el('div', { class: 'soft' }, (launch.cause || 'not looked into') + ' · ' + g + ' blocks of ' + b + ' threads · ' + (launch.dump || '')));
  if (s.picture.note) section.append(el('div', { class: 'soft' }, 'Who wrote what is not known: ' + s.picture.note));
  for (const p of s.picture.buffers)
    section.append(el('div', { class: 'picture' }, el('h3', {}, p.where + ': ' + count(p.differ) + ' of ' + count(p.elements) + ' ' + p.type + ' differ' + (p.allowed ? ', ' + count(p.allowed) + ' more are allowed' : '')),
      el('div', { class: 'side' }, heat(p), histogram(p)), worst(p)));
  $('pictures').append(section);
}
for (const s of D.pictures)
  try { picture(s); } catch (e) { $('pictures').append(el('p', { class: 'soft' }, 'The picture of a launch is damaged.')); }
const left = R.launches.length - D.pictures.length;
if (left > 0) $('pictures').append(el('p', { class: 'soft' }, count(left) + ' further launches have no picture: of each kernel the launches that are kept have one.'));
window.cudaway = { pictures: D.pictures };
})();
