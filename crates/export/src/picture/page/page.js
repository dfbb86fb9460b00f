// The page around the drawing: view, pointer, keys, details, table, legend and search.
by('title').textContent = data.title;
for (const line of data.lines.concat(data.notes)) {
  add(by('lines'), 'div', line.startsWith('INCOMPLETE') ? { class: 'loud' } : {}, line);
}

// Pan and zoom.
function fit() {
  const shown = data.nodes.filter((_, number) => isSeen(number));
  if (!shown.length) return;
  const xs = shown.map((node) => node.x), ys = shown.map((node) => node.y);
  const [left, right] = [xs.reduce((a, b) => Math.min(a, b)) - 90, xs.reduce((a, b) => Math.max(a, b)) + 90];
  const [top, bottom] = [ys.reduce((a, b) => Math.min(a, b)) - 50, ys.reduce((a, b) => Math.max(a, b)) + 50];
  const { width, height } = canvas.getBoundingClientRect();
  const k = Math.min(2, width / (right - left), height / (bottom - top));
  view = { k, x: width / 2 - k * (left + right) / 2, y: height / 2 - k * (top + bottom) / 2 };
  redraw();
}
function zoom(factor, x, y) {
  const k = Math.min(20, Math.max(0.005, view.k * factor));
  view = { k, x: x - (x - view.x) * k / view.k, y: y - (y - view.y) * k / view.k };
  redrawMoving();
}
function center(number, least) {
  const { width, height } = canvas.getBoundingClientRect();
  view.k = Math.max(view.k, least);
  view.x = width / 2 - view.k * data.nodes[number].x;
  view.y = height / 2 - view.k * data.nodes[number].y;
  redraw();
}

// What lies below a point of the screen.
function hit(event) {
  const box = canvas.getBoundingClientRect();
  const x = (event.clientX - box.left - view.x) / view.k, y = (event.clientY - box.top - view.y) / view.k;
  // A small vertex is hit in its neighborhood, too.
  const near = 3 / view.k;
  const node = data.nodes.findLastIndex((node, number) =>
    isSeen(number) && Math.abs(x - node.x) <= Math.max(near, nodes[number].w) && Math.abs(y - node.y) <= Math.max(near, nodes[number].h));
  if (node >= 0) return { node, arrow: -1 };
  let best = 6 / view.k, arrow = -1;
  arrows.forEach(({ shown, box: [left, top, right, bottom], points }, number) => {
    if (!shown || x < left - best || x > right + best || y < top - best || y > bottom + best) return;
    let last = points[0];
    for (let step = 1; step <= 16; step++) {
      const next = at(points, step / 16);
      const dx = next[0] - last[0], dy = next[1] - last[1];
      const along = Math.min(1, Math.max(0, ((x - last[0]) * dx + (y - last[1]) * dy) / (dx * dx + dy * dy || 1)));
      const far = Math.hypot(x - last[0] - along * dx, y - last[1] - along * dy);
      if (far < best) { best = far; arrow = number; }
      last = next;
    }
  });
  return { node: -1, arrow };
}
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });
let held = null;
canvas.addEventListener('pointerdown', (event) => {
  held = { x: event.clientX, y: event.clientY, ...hit(event), moved: false };
});
window.addEventListener('pointermove', (event) => {
  if (!held) {
    if (event.target !== canvas) return;
    const { node, arrow } = hit(event);
    canvas.style.cursor = node >= 0 || arrow >= 0 ? 'pointer' : 'grab';
    canvas.title = (node >= 0 ? data.nodes[node].tip : arrow >= 0 ? data.arrows[arrow].tip : []).join('\n');
    return;
  }
  const dx = event.clientX - held.x, dy = event.clientY - held.y;
  if (!held.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(held, { x: event.clientX, y: event.clientY, moved: true });
  if (held.node >= 0) {
    data.nodes[held.node].x += dx / view.k;
    data.nodes[held.node].y += dy / view.k;
    data.arrows.forEach((arrow, number) => { if (arrow.s === held.node || arrow.t === held.node) route(number); });
  } else {
    view.x += dx;
    view.y += dy;
  }
  redrawMoving();
});
window.addEventListener('pointerup', () => {
  if (held && !held.moved) choose(held);
  held = null;
});

// The vertex next to the chosen one in a direction.
function next(dx, dy) {
  const from = data.nodes[chosen.node];
  if (!from) return data.nodes.findIndex((node, number) => node.root && isSeen(number));
  let best = Infinity, number = chosen.node;
  data.nodes.forEach(({ x, y }, other) => {
    const [ahead, aside] = dx ? [(x - from.x) * dx, Math.abs(y - from.y)] : [(y - from.y) * dy, 3 * Math.abs(x - from.x)];
    if (other === chosen.node || !isSeen(other) || ahead <= 0 || ahead + aside >= best) return;
    best = ahead + aside;
    number = other;
  });
  return number;
}
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
canvas.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { width, height } = canvas.getBoundingClientRect();
  if (STEPS[event.key]) {
    const number = next(...STEPS[event.key]);
    if (number >= 0) { choose({ node: number, arrow: -1 }); center(number, 0.6); }
  } else if (event.key === 'Enter') by('details').querySelector('button')?.focus();
  else if (event.key === '+' || event.key === '=') zoom(1.25, width / 2, height / 2);
  else if (event.key === '-') zoom(0.8, width / 2, height / 2);
  else if (event.key === '0') fit();
  else if (event.key === 't') showTable(table.hidden);
  else if (event.key === '/') by('search').focus();
  else return;
  event.preventDefault();
});
window.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  choose({ node: -1, arrow: -1 });
  canvas.focus();
});

// Details of what is chosen.
const details = by('details');
const name = (number) => data.nodes[number].label.join(' ');
const say = (lines) => lines.forEach((line) => add(details, 'p', { class: 'mono' }, line));
function action(parent, text, run) {
  add(parent, 'button', { type: 'button' }, text).addEventListener('click', run);
}
function choose({ node, arrow }) {
  chosen = { node, arrow };
  const wasHidden = details.hidden;
  details.hidden = node < 0 && arrow < 0;
  details.replaceChildren();
  if (!details.hidden) {
    const { link, tip } = node >= 0 ? data.nodes[node] : data.arrows[arrow];
    action(details, 'close', () => choose({ node: -1, arrow: -1 }));
    if (node >= 0) action(details, 'hide', () => { nodes[node].hidden = true; choose({ node: -1, arrow: -1 }); refresh(); });
    add(details, 'h2', {}, node >= 0 ? name(node) : data.arrows[arrow].label.join(', '));
    // The program that made the page accepts links to the web only.
    if (link && /^https?:\/\//.test(link)) {
      add(add(details, 'p', {}), 'a', { href: link, target: '_blank', rel: 'noopener noreferrer' }, link);
    }
    say(tip);
    if (node >= 0) nodeDetails(node);
  }
  if (wasHidden !== details.hidden) keepPlace();
  redraw();
}
function nodeDetails(number) {
  if (data.nodes[number].members.length) {
    add(details, 'h3', {}, 'Addresses');
    say(data.nodes[number].members);
  }
  add(details, 'h3', {}, 'Transfers');
  data.arrows.forEach((arrow, at) => {
    if (!arrows[at].shown || (arrow.s !== number && arrow.t !== number)) return;
    const [side, other] = arrow.s === number ? ['to', arrow.t] : ['from', arrow.s];
    action(details, `${side} ${name(other)}: ${arrow.label.join(', ')}`, () => choose({ node: -1, arrow: at }));
  });
}

// The arrows that are seen, as a table.
const table = by('table');
function showTable(is) {
  table.hidden = !is;
  by('rows').setAttribute('aria-pressed', is);
  fillTable();
  keepPlace();
}
function fillTable() {
  const body = table.querySelector('tbody');
  body.replaceChildren();
  if (table.hidden) return;
  data.arrows.forEach((arrow, number) => {
    if (!arrows[number].shown) return;
    const row = add(body, 'tr', {});
    action(add(row, 'td', {}), name(arrow.s), () => { choose({ node: arrow.s, arrow: -1 }); center(arrow.s, 0.6); });
    action(add(row, 'td', {}), name(arrow.t), () => { choose({ node: arrow.t, arrow: -1 }); center(arrow.t, 0.6); });
    action(add(row, 'td', {}), arrow.label[0], () => choose({ node: -1, arrow: number }));
    add(row, 'td', {}, moment(arrow.first));
    add(row, 'td', {}, moment(arrow.last));
  });
}
by('rows').addEventListener('click', () => showTable(table.hidden));

// What is seen: tokens, a range of time, vertices that are not hidden.
const off = new Set();
data.categories.forEach((entry) => add(by('legend'), 'span', { style: 'background:' + entry.color, class: 'category' }, entry.label));
data.legend.forEach((entry, asset) => {
  const made = add(by('legend'), 'button', { type: 'button', style: 'background:' + entry.color, title: entry.tip, 'aria-pressed': true }, entry.label);
  made.addEventListener('click', () => {
    off.has(asset) ? off.delete(asset) : off.add(asset);
    made.setAttribute('aria-pressed', !off.has(asset));
    refresh();
  });
});
const last = data.legend.length - 1;
const more = data.legend.length && data.arrows.some((arrow) => arrow.asset > last);
const entryOf = (asset) => (more ? Math.min(asset, last) : asset);
const low = data.arrows.reduce((a, arrow) => Math.min(a, arrow.first), Infinity);
const high = data.arrows.reduce((a, arrow) => Math.max(a, arrow.last), -Infinity);
const moment = (at) => (data.timed ? new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ') : 'block ' + Math.round(at));
function refresh() {
  const at = (id) => low + (high - low) * by(id).value / 1000;
  const from = at('from'), to = at('to');
  if (data.arrows.length) by('span').textContent = moment(from) + ' to ' + moment(to) + (data.timed ? ' UTC' : '');
  nodes.forEach((node) => { node.used = false; });
  let shown = 0;
  data.arrows.forEach((arrow, number) => {
    const is = !off.has(entryOf(arrow.asset)) && arrow.last >= from && arrow.first <= to && !nodes[arrow.s].hidden && !nodes[arrow.t].hidden;
    arrows[number].shown = is;
    if (is) { nodes[arrow.s].used = nodes[arrow.t].used = true; shown += 1; }
  });
  document.body.dataset.arrows = shown;
  fillTable();
  redraw();
}
by('from').addEventListener('input', refresh);
by('to').addEventListener('input', refresh);
by('show').addEventListener('click', () => { nodes.forEach((node) => { node.hidden = false; }); refresh(); });
by('fit').addEventListener('click', fit);
by('amounts').addEventListener('change', redraw);
const PALETTE = ['#4477AA', '#EE6677', '#228833', '#EE7733', '#AA3377', '#66CCEE', '#CCBB44', '#009988', '#CC3311'];
by('color').addEventListener('change', () => {
  const mode = by('color').value;
  const names = [...new Set(data.nodes.map((node) => node.name))].filter((name) => name !== null);
  nodes.forEach((drawn, number) => {
    const node = data.nodes[number];
    drawn.fill = mode === 'hop' ? PALETTE[node.hop % PALETTE.length]
      : mode === 'label' && node.name !== null ? PALETTE[names.indexOf(node.name) % PALETTE.length]
      : mode === 'label' ? '#FFFFFF' : node.fill;
  });
  redraw();
});
by('search').addEventListener('input', () => {
  const wanted = by('search').value.trim().toLowerCase();
  const has = (lines) => lines.some((line) => line.toLowerCase().includes(wanted));
  const is = ({ label, tip, members }) => has(label) || has(tip) || has(members);
  found = wanted ? new Set([...data.nodes.keys()].filter((number) => is(data.nodes[number]))) : null;
  by('found').textContent = found ? found.size + ' found' : '';
  if (found?.size === 1) center([...found][0], 0.9);
  redraw();
});
by('save').addEventListener('click', () => {
  const url = URL.createObjectURL(new Blob([picture()], { type: 'image/svg+xml' }));
  const link = document.createElement('a');
  Object.assign(link, { href: url, download: 'transfers.svg' });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});

// The middle of the view stays where it was when the drawing changes its size.
let extent = canvas.getBoundingClientRect();
function keepPlace() {
  const now = canvas.getBoundingClientRect();
  view.x += (now.width - extent.width) / 2;
  view.y += (now.height - extent.height) / 2;
  extent = now;
  redraw();
}
window.addEventListener('resize', keepPlace);

refresh();
fit();
draw();
document.body.dataset.ready = 'yes';
