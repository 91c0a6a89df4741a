// SPDX-License-Identifier: Apache-2.0
// The page of `cudaway-trace report --html`. DATA is what tracer/cli/report_html.c writes; d3 (version 3) is in front of this.
'use strict';
(function () {
const D = DATA, $ = id => document.getElementById(id);
const css = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const el = (tag, attributes, ...children) => {
  const e = document.createElement(tag);
  for (const k in attributes || {}) k === 'onclick' ? e.addEventListener('click', attributes[k]) : e.setAttribute(k, attributes[k]);
  for (const c of children) if (c !== null && c !== undefined) e.append(c);
  return e;
};

// ---- numbers ----
const fixed = (v, n) => v.toLocaleString('en-US', { minimumFractionDigits: n, maximumFractionDigits: n });
const digits = v => v >= 100 ? 0 : v >= 10 ? 1 : 2;
function time(ns) {
  if (!ns) return '0';
  const a = Math.abs(ns);
  if (a < 1e3) return fixed(ns, 0) + ' ns';
  const [d, u] = a < 1e6 ? [1e3, 'µs'] : a < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return fixed(ns / d, digits(a / d)) + ' ' + u;
}
function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let u = 0;
  while (n >= 1024 && u < 4) { n /= 1024; u++; }
  return fixed(n, u ? digits(n) : 0) + ' ' + units[u];
}
const count = n => n.toLocaleString('en-US');
const percent = (a, b) => b ? fixed(100 * a / b, 1) + ' %' : '–';

// ---- head, key figures, findings ----
document.title = D.title + ' · CUDAway';
$('title').textContent = $('title').title = D.title;
$('subtitle').textContent = D.subtitle;
const span = D.end || 1;
for (const [value, label, bad] of D.cards) $('cards').append(el('div', { class: bad ? 'card bad' : 'card' }, el('b', {}, value), el('span', {}, label)));
for (const f of D.findings) $('findings').append(el('li', { class: f[0] }, el('b', {}, f[1]), ' ', f[2]));
if (!D.findings.length) $('findings').append(el('li', {}, 'Nothing stands out.'));

// ---- tables ----
// columns: [title, value of a row, how it is shown, how it is shown as a node]
function table(id, rows, columns, pick) {
  const t = $(id), head = el('tr'), body = el('tbody');
  let sorted = -1, down = true;
  const fill = () => {
    body.textContent = '';
    for (const r of rows) {
      const tr = el('tr', pick ? { class: 'pick', tabindex: 0 } : {});
      for (const [, value, show] of columns) {
        const shown = show ? show(value(r), r) : value(r);
        const td = el('td', {}, shown);
        if (typeof shown === 'string') td.title = shown;
        tr.append(td);
      }
      if (pick) {
        tr.addEventListener('click', () => { for (const o of body.children) o.classList.remove('picked'); tr.classList.add('picked'); pick(r); });
        tr.addEventListener('keydown', e => { if (e.key === 'Enter') tr.click(); });
      }
      body.append(tr);
    }
  };
  columns.forEach(([title, value], i) => {
    const th = el('th', {}, el('button', { type: 'button' }, title));
    th.addEventListener('click', () => {
      down = sorted === i ? !down : typeof (rows.length ? value(rows[0]) : 0) === 'number';
      sorted = i;
      rows.sort((a, b) => { const x = value(a), y = value(b), c = x < y ? -1 : x > y ? 1 : 0; return down ? -c : c; });
      for (const o of head.children) o.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      fill();
    });
    head.append(th);
  });
  t.append(el('thead', {}, head), body);
  fill();
}
const share = (v, all, color) => {
  const box = document.createDocumentFragment(), bar = el('span', { class: 'bar' }, el('i'));
  bar.firstChild.style.width = (all ? 100 * v / all : 0) + '%';
  if (color) bar.firstChild.style.background = 'var(--' + color + ')';
  box.append(percent(v, all), bar);
  return box;
};
table('kernels', D.kernels, [
  ['name', r => r.name], ['launches', r => r.launches, count], ['total', r => r.total, time],
  ['share', r => r.total / (D.deviceTotal || 1), (v, r) => share(r.total, D.deviceTotal, r.kind === 'graph' ? 'kernel' : r.kind)],
  ['mean', r => r.timed ? r.total / r.timed : 0, time], ['shortest', r => r.min, time], ['longest', r => r.max, time],
  ['occupancy', r => r.occupancy, v => v ? fixed(v, 0) + ' %' : '–'], ['bytes', r => r.bytes, v => v ? bytes(v) : '–'],
  ['compiled in', r => r.compile, (v, r) => v ? time(v) + (r.cached ? ' (cache)' : '') : '–'],
], r => r.kind === 'kernel' ? show_kernel(r.name) : null);
table('functions', D.functions, [
  ['function', r => r[0]], ['calls', r => r[1], count], ['failed', r => r[2], count], ['total', r => r[3], time],
  ['mean', r => r[3] / r[1], time], ['longest', r => r[4], time],
]);
if (D.problems.length) table('problems', D.problems, [['what', r => r[0]], ['how', r => r[1]], ['times', r => r[2], count]]);
else $('problems').replaceWith(el('p', { class: 'soft' }, 'No call failed, and nothing was missing.'));

// ---- the timeline ----
// A track's slices: arrays of numbers [start, duration, name, call or operation] of 4, sorted by start; depth by nesting.
const ROW = 17, GAP = 12, LABEL = 15, colors = { kernel: 'kernel', copy: 'copy', memset: 'memset', compile: 'compile', cuda: 'cuda' };
const canvas = $('canvas'), context = canvas.getContext('2d');
let width = 0, height = 0, picked = null, hovered = null, only = null;
const kinds = ['cuda', 'kernel', 'copy', 'memset', 'compile'];
for (const t of D.tracks) {
  const order = t.slices.map((s, i) => i).sort((a, b) => t.slices[a][0] - t.slices[b][0] || t.slices[b][1] - t.slices[a][1]);
  t.slices = order.map(i => t.slices[i]);
  const ends = [];
  t.rows = [];                   // of each depth: its slices, sorted
  for (const s of t.slices) {
    let d = 0;
    while (d < ends.length && ends[d] > s[0]) d++;
    ends[d] = s[0] + s[1];
    (t.rows[d] = t.rows[d] || []).push(s);
    s.track = t;
  }
  if (t.rows.length > 8) t.rows.length = 8;
}
const x = d3.scale.linear().domain([0, span]);
const zoom = d3.behavior.zoom().scaleExtent([1, Math.max(10, span / 50)]).on('zoom', () => { clamp(); draw(); });
function clamp() {
  const s = zoom.scale(), t = zoom.translate();
  zoom.translate([Math.min(0, Math.max(width * (1 - s), t[0])), 0]);
}
const first = (row, at) => { let lo = 0, hi = row.length; while (lo < hi) { const m = lo + hi >> 1; row[m][0] + row[m][1] < at ? lo = m + 1 : hi = m; } return lo; };
const visible = () => x.domain();
function draw() {
  const ratio = devicePixelRatio || 1, [from, to] = visible(), scale = width / (to - from);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  const paint = kinds.map(k => css(colors[k])), soft = css('soft'), line = css('line'), ink = css('ink');
  // Ticks.
  context.fillStyle = soft;
  context.strokeStyle = line;
  context.lineWidth = 1;
  for (const v of x.ticks(Math.max(2, Math.floor(width / 130)))) {
    const px = Math.round((v - from) * scale) + 0.5;
    context.beginPath();
    context.moveTo(px, 18);
    context.lineTo(px, height);
    context.stroke();
    context.fillText(time(v), Math.min(px + 3, width - 50), 8);
  }
  let y = 24;
  for (const t of D.tracks) {
    t.top = y;
    context.fillStyle = soft;
    context.fillText(t.name, 4, y + 6);
    y += LABEL;
    t.rows.forEach((row, depth) => {
      const top = y + depth * ROW;
      let last = -1;
      for (let i = first(row, from); i < row.length; i++) {
        const s = row[i];
        if (s[0] > to) break;
        const a = Math.max(-2, (s[0] - from) * scale), b = Math.min(width + 2, (s[0] + s[1] - from) * scale), w = Math.max(b - a, 1);
        if (b < last && s !== picked) continue;      // the same pixel again
        last = Math.floor(b) + 1;
        context.globalAlpha = only !== null && s[2] !== only ? 0.18 : 1;
        context.fillStyle = paint[s[4]];
        context.fillRect(a, top, w, ROW - 2);
        if (s === picked || s === hovered) {
          context.strokeStyle = ink;
          context.lineWidth = 1.5;
          context.strokeRect(a, top, w, ROW - 2);
        }
        if (w > 34) {
          context.save();
          context.beginPath();
          context.rect(a, top, w, ROW);
          context.clip();
          context.fillStyle = s[4] ? '#fff' : '#10161d';
          context.fillText(D.names[s[2]], Math.max(a, 0) + 4, top + ROW / 2 - 0.5);
          context.restore();
        }
        context.globalAlpha = 1;
      }
    });
    y += t.rows.length * ROW + GAP;
  }
  arrow(from, scale);
  memory();
}
// From the picked call to its operations, or back.
function arrow(from, scale) {
  if (!picked) return;
  context.strokeStyle = css('accent');
  context.lineWidth = 1.5;
  for (const o of partners(picked)) {
    const [a, b] = picked[4] ? [o, picked] : [picked, o];
    const xa = (a[0] - from) * scale, xb = (b[0] - from) * scale, ya = middle(a), yb = middle(b);
    context.beginPath();
    context.moveTo(xa, ya);
    context.bezierCurveTo(xa + 20, (ya + yb) / 2, xb - 20, (ya + yb) / 2, xb, yb);
    context.stroke();
  }
}
const middle = s => s.track.top + LABEL + s.track.rows.findIndex(r => r.includes(s)) * ROW + ROW / 2;
const flows = new Map();
for (const t of D.tracks) for (const s of t.slices) if (s[3]) flows.has(s[3]) ? flows.get(s[3]).push(s) : flows.set(s[3], [s]);
const partners = s => (s[3] ? flows.get(s[3]) : []).filter(o => o !== s && (!o[4] !== !s[4])).slice(0, 200);
function at(px, py) {
  const [from, to] = visible(), v = from + px * (to - from) / width, near = 3 * (to - from) / width;
  for (const t of D.tracks) {
    const depth = Math.floor((py - t.top - LABEL) / ROW);
    if (depth < 0 || depth >= t.rows.length || py < t.top + LABEL) continue;
    const row = t.rows[depth];
    for (let i = first(row, v - near); i < row.length && row[i][0] <= v + near; i++) return row[i];
  }
  return null;
}
const tip = $('tip');
canvas.addEventListener('mousemove', e => {
  const r = canvas.getBoundingClientRect(), s = at(e.clientX - r.left, e.clientY - r.top);
  if (s !== hovered) { hovered = s; draw(); }
  tip.style.display = s ? 'block' : 'none';
  if (!s) return;
  tip.textContent = D.names[s[2]] + ' · ' + time(s[1]) + ' from ' + time(s[0]);
  tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
  tip.style.top = e.clientY + 16 + 'px';
});
canvas.addEventListener('mouseleave', () => { tip.style.display = 'none'; hovered = null; draw(); });
let pressed = null;
canvas.addEventListener('mousedown', e => pressed = [e.clientX, e.clientY]);
canvas.addEventListener('click', e => {
  if (pressed && Math.abs(e.clientX - pressed[0]) + Math.abs(e.clientY - pressed[1]) > 4) return;     // it was a drag
  const r = canvas.getBoundingClientRect();
  pick(at(e.clientX - r.left, e.clientY - r.top));
});
function set_domain(a, b) {
  const scale = span / (b - a);
  zoom.scale(scale).translate([-a / span * width * scale, 0]);
  clamp();
  draw();
}
const around = f => { const [a, b] = visible(), m = (a + b) / 2, h = (b - a) / 2 * f; set_domain(Math.max(0, m - h), Math.min(span, m + h)); };
$('in').addEventListener('click', () => around(0.5));
$('out').addEventListener('click', () => around(2));
$('all').addEventListener('click', () => { only = null; set_domain(0, span); });
function layout() {
  const [a, b] = width ? visible() : [0, span];
  width = $('timeline').clientWidth;
  height = 24 + D.tracks.reduce((n, t) => n + LABEL + t.rows.length * ROW + GAP, 0);
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = height + 'px';
  x.domain([0, span]).range([0, width]);
  zoom.x(x);
  set_domain(a, b);
}

// ---- what was picked ----
function pick(s) {
  picked = s;
  const d = $('detail');
  d.textContent = '';
  d.style.display = s ? 'block' : 'none';
  draw();
  if (!s) return;
  const list = el('dl'), add = (k, v) => list.append(el('dt', {}, k), el('dd', {}, v));
  d.append(el('b', { class: 'mono' }, D.names[s[2]]), list);
  add('when', time(s[0]) + ' after the first call, for ' + time(s[1]) + ' (' + count(s[1]) + ' ns)');
  add('where', s.track.name);
  const own = D.details[s[5]] || [];
  for (const [k, v] of own) add(k, v);
  // A launch's parameters are the call's that submitted it; that of a graph has none.
  if (s[4] && !own.some(([k]) => k === 'parameters'))
    for (const c of partners(s))
      for (const [k, v] of D.details[c[5]] || []) if (k === 'parameters') add(k, v);
  for (const o of partners(s).slice(0, 12))
    add(s[4] ? 'submitted by' : 'made the device do', el('button', { class: 'link', type: 'button', onclick: () => go(o) }, D.names[o[2]] + ', ' + time(o[1]) + ', at ' + time(o[0])));
  if (D.ptx[D.names[s[2]]]) d.append(source(D.names[s[2]]));
}
function source(name) {
  const box = el('details', {}, el('summary', {}, 'PTX of ' + name), el('pre', {}, D.ptx[name]));
  return box;
}
function go(s) {
  const [a, b] = visible(), w = b - a;
  if (s[0] < a || s[0] > b) set_domain(Math.max(0, s[0] - w / 3), Math.min(span, s[0] + w * 2 / 3));
  pick(s);
}
function show_kernel(name) {
  only = D.names.indexOf(name);
  let longest = null;
  for (const t of D.tracks) for (const s of t.slices) if (s[2] === only && (!longest || s[1] > longest[1])) longest = s;
  if (longest) pick(longest);
  else { pick(null); draw(); }
}

// ---- memory ----
const area = d3.select('#memory');
function memory() {
  if (!D.memory.length) return;
  const h = 110, left = 0, y = d3.scale.linear().domain([0, d3.max(D.memory, m => m[1]) || 1]).range([h - 20, 22]);       // the label is above
  const path = d3.svg.area().interpolate('step-after').x(m => x(m[0])).y0(h - 20).y1(m => y(m[1]));
  const points = D.memory.concat([[span, D.memory[D.memory.length - 1][1]]]);
  area.attr('width', width).attr('height', h).select('path.area').attr('d', path(points));
  area.select('g.x').attr('transform', 'translate(' + left + ',' + (h - 20) + ')')
    .call(d3.svg.axis().scale(x).orient('bottom').ticks(Math.max(2, Math.floor(width / 130))).tickFormat(v => v ? time(v) : ''));
  area.select('text.peak').attr('x', 0).attr('y', 12).text('at most ' + bytes(y.domain()[1]));
}
if (!D.memory.length) $('memory-section').style.display = 'none';
for (const k of kinds) {
  if (!D.tracks.some(t => t.slices.some(s => kinds[s[4]] === k))) continue;
  const i = el('i');
  i.style.background = 'var(--' + colors[k] + ')';
  $('legend').append(el('span', {}, i, { cuda: 'calls', kernel: 'kernels', copy: 'copies', memset: 'memsets', compile: 'compilation' }[k]));
}
if (!D.tracks.length) $('timeline-section').style.display = 'none';
layout();
d3.select(canvas).call(zoom).on('dblclick.zoom', null);
addEventListener('resize', layout);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
window.cudaway = { visible, pick, at, rows: () => [...$('kernels').tBodies[0].rows].map(r => r.cells[0].textContent) };
})();
