'use strict';
// Text from outside is only ever set as text or as an attribute of SVG, never as markup.
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const NS = 'http://www.w3.org/2000/svg';
  const PALETTE = ['#4477AA', '#EE6677', '#228833', '#EE7733', '#AA3377', '#66CCEE', '#CCBB44', '#009988', '#CC3311'];
  const by = (id) => document.getElementById(id);
  const svg = by('view');

  function add(parent, name, attributes, text) {
    const made = document.createElementNS(parent.namespaceURI, name);
    for (const key in attributes || {}) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  // Head.
  document.title = data.title;
  by('title').textContent = data.title;
  for (const line of data.lines.concat(data.notes)) {
    add(by('lines'), 'div', line.startsWith('INCOMPLETE') ? { class: 'loud' } : {}, line);
  }

  // Columns by hop for a page that was made without Graphviz. Each node goes near the middle of
  // its neighbors in the column before it.
  function place() {
    const columns = new Map();
    data.nodes.forEach((node, number) => {
      if (!columns.has(node.column)) columns.set(node.column, []);
      columns.get(node.column).push(number);
    });
    const near = data.nodes.map(() => []);
    for (const arrow of data.arrows) {
      near[arrow.s].push(arrow.t);
      near[arrow.t].push(arrow.s);
    }
    const order = [...columns.keys()].sort((a, b) => a - b);
    const row = new Array(data.nodes.length).fill(0);
    const number = (column) => columns.get(column).forEach((node, at, all) => { row[node] = at - all.length / 2; });
    order.forEach(number);
    for (let pass = 0; pass < 6; pass++) {
      for (const column of pass % 2 ? [...order].reverse() : order) {
        const middle = new Map();
        for (const node of columns.get(column)) {
          const others = near[node].filter((other) => data.nodes[other].column !== column);
          middle.set(node, others.length ? others.reduce((sum, other) => sum + row[other], 0) / others.length : row[node]);
        }
        columns.get(column).sort((a, b) => middle.get(a) - middle.get(b));
        number(column);
      }
    }
    order.forEach((column, at) => {
      for (const node of columns.get(column)) {
        data.nodes[node].x = at * 260;
        data.nodes[node].y = row[node] * 56;
      }
    });
  }
  if (data.nodes.some((node) => node.x === null)) place();

  // The drawing: arrows below nodes.
  const world = add(svg, 'g', { id: 'world' });
  const markers = add(svg, 'defs', {});
  const heads = new Map();
  function head(color) {
    if (!heads.has(color)) {
      const id = 'head' + heads.size;
      const marker = add(markers, 'marker', { id, viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto', markerUnits: 'userSpaceOnUse' });
      add(marker, 'path', { d: 'M0,0 L8,4 L0,8 z', fill: color });
      heads.set(color, 'url(#' + id + ')');
    }
    return heads.get(color);
  }
  const lines = add(world, 'g', {});
  const texts = add(world, 'g', { 'font-family': 'Helvetica, Arial, sans-serif', 'font-size': 8, 'text-anchor': 'middle' });
  const marks = add(world, 'g', { 'font-family': 'Helvetica, Arial, sans-serif', 'font-size': 10, 'text-anchor': 'middle' });

  const size = data.nodes.map((node) => ({
    w: Math.max(72, 22 + 6.4 * Math.max(...node.label.map((line) => line.length))) / 2,
    h: (10 + 12 * node.label.length) / 2,
  }));

  // Where the line from the center of a node towards a point leaves the node.
  function edge(number, x, y) {
    const node = data.nodes[number];
    const dx = x - node.x, dy = y - node.y;
    if (!dx && !dy) return [node.x, node.y];
    const k = 1 / Math.hypot(dx / size[number].w, dy / size[number].h);
    return [node.x + dx * k, node.y + dy * k];
  }

  // Parallel arrows are bent apart.
  const parallel = new Map();
  const arrows = data.arrows.map((arrow, number) => {
    const key = Math.min(arrow.s, arrow.t) + ' ' + Math.max(arrow.s, arrow.t);
    const turn = parallel.get(key) || 0;
    parallel.set(key, turn + 1);
    const made = add(lines, 'path', { fill: 'none', stroke: arrow.color, 'stroke-width': arrow.width / 10, 'stroke-opacity': 0.75, 'marker-end': head(arrow.color) });
    add(made, 'title', {}, arrow.tip.join('\n'));
    made.addEventListener('click', () => arrowDetails(number));
    const text = add(texts, 'text', { fill: arrow.color });
    arrow.label.forEach((line, at) => add(text, 'tspan', { dy: at ? 9 : 0 }, line));
    return { made, text, turn };
  });
  function route(number) {
    const arrow = data.arrows[number], { made, text, turn } = arrows[number];
    const a = data.nodes[arrow.s], b = data.nodes[arrow.t];
    let x, y, path;
    if (arrow.s === arrow.t) {
      const top = a.y - size[arrow.s].h, up = 26 + 14 * turn;
      path = `M${a.x - 10},${top} C${a.x - 30},${top - up} ${a.x + 30},${top - up} ${a.x + 10},${top}`;
      x = a.x; y = top - up;
    } else {
      const long = Math.hypot(b.x - a.x, b.y - a.y) || 1;
      const forward = arrow.s < arrow.t ? 1 : -1;
      // Arrows inside a column go around the nodes between their ends.
      const round = Math.abs(a.x - b.x) < 2 ? Math.min(200, long / 4) : 0;
      const bend = round + forward * Math.ceil(turn / 2) * (turn % 2 ? 1 : -1) * 28;
      const mx = (a.x + b.x) / 2 - bend * (b.y - a.y) / long, my = (a.y + b.y) / 2 + bend * (b.x - a.x) / long;
      const from = edge(arrow.s, mx, my), to = edge(arrow.t, mx, my);
      path = `M${from} Q${mx},${my} ${to}`;
      x = (from[0] + 2 * mx + to[0]) / 4; y = (from[1] + 2 * my + to[1]) / 4;
    }
    made.setAttribute('d', path);
    text.setAttribute('y', y - 13);
    for (const line of text.children) line.setAttribute('x', x);
  }

  const corners = (points) => ['polygon', { points: points.join(' ') }];
  const SHAPES = {
    box: (w, h) => ['rect', { x: -w, y: -h, width: 2 * w, height: 2 * h }],
    folder: (w, h) => ['path', { d: `M${-w},${-h} h${w} l6,-5 h${w - 8} l2,5 v${2 * h} h${-2 * w} z` }],
    octagon: (w, h) => ['polygon', { points: [[-w, -h / 2], [-w * 0.6, -h], [w * 0.6, -h], [w, -h / 2], [w, h / 2], [w * 0.6, h], [-w * 0.6, h], [-w, h / 2]].join(' ') }],
    hexagon: (w, h) => ['polygon', { points: [[-w, 0], [-w * 0.75, -h], [w * 0.75, -h], [w, 0], [w * 0.75, h], [-w * 0.75, h]].join(' ') }],
    diamond: (w, h) => ['polygon', { points: [[-w, 0], [0, -h * 1.4], [w, 0], [0, h * 1.4]].join(' ') }],
    ellipse: (w, h) => ['ellipse', { rx: w, ry: h }],
    note: (w, h) => ['path', { d: `M${-w},${-h} h${2 * w - 8} l8,8 v${2 * h - 8} h${-2 * w} z` }],
    cylinder: (w, h) => ['rect', { x: -w, y: -h, width: 2 * w, height: 2 * h, rx: 8 }],
    house: (w, h) => corners([[-w, h], [-w, -h * 0.7], [0, -h * 1.4], [w, -h * 0.7], [w, h]]),
    invhouse: (w, h) => corners([[-w, -h], [-w, h * 0.7], [0, h * 1.4], [w, h * 0.7], [w, -h]]),
    pentagon: (w, h) => corners([[0, -h * 1.4], [w, -h * 0.4], [w * 0.8, h], [-w * 0.8, h], [-w, -h * 0.4]]),
    trapezium: (w, h) => corners([[-w * 1.1, h], [-w * 0.9, -h], [w * 0.9, -h], [w * 1.1, h]]),
    parallelogram: (w, h) => corners([[-w * 1.1, h], [-w * 0.9, -h], [w * 1.1, -h], [w * 0.9, h]]),
  };
  const BORDERS = { dotted: { 'stroke-dasharray': '1 3' }, dashed: { 'stroke-dasharray': '5 3' }, bold: { 'stroke-width': 2 } };
  const nodes = data.nodes.map((node, number) => {
    const { w, h } = size[number];
    const group = add(marks, 'g', { cursor: 'pointer' });
    const make = SHAPES[node.shape.replace('double', '')] || SHAPES.ellipse;
    if (node.root) {
      const [name, attributes] = make(w + 4, h + 4);
      add(group, name, Object.assign({ fill: 'none', stroke: '#222' }, attributes));
    }
    const [name, attributes] = make(w, h);
    const shape = add(group, name, Object.assign({ fill: node.fill, stroke: '#222' }, BORDERS[node.style.split(',')[1]], attributes));
    add(group, 'title', {}, node.tip.join('\n'));
    const text = add(group, 'text', {});
    node.label.forEach((line, at) => add(text, 'tspan', { x: 0, y: 12 * at - 6 * node.label.length + 9 }, line));
    return { group, shape, text, hidden: false };
  });
  const move = (number) => nodes[number].group.setAttribute('transform', `translate(${data.nodes[number].x},${data.nodes[number].y})`);
  data.nodes.forEach((_, number) => move(number));
  data.arrows.forEach((_, number) => route(number));

  // Pan and zoom.
  let view = { x: 0, y: 0, k: 1 };
  function apply() {
    world.setAttribute('transform', `translate(${view.x},${view.y}) scale(${view.k})`);
    const mode = by('amounts').value;
    const close = view.k > 0.55;
    texts.setAttribute('display', mode === 'none' ? 'none' : '');
    arrows.forEach(({ text }, number) => text.setAttribute('visibility', mode === 'all' || close || (data.arrows[number].shown && data.arrows.length <= 300) ? 'visible' : 'hidden'));
  }
  function fit() {
    const shown = data.nodes.filter((_, number) => !nodes[number].hidden);
    if (!shown.length) return;
    const xs = shown.map((node) => node.x), ys = shown.map((node) => node.y);
    const [left, right] = [xs.reduce((a, b) => Math.min(a, b)) - 90, xs.reduce((a, b) => Math.max(a, b)) + 90];
    const [top, bottom] = [ys.reduce((a, b) => Math.min(a, b)) - 50, ys.reduce((a, b) => Math.max(a, b)) + 50];
    const { width, height } = svg.getBoundingClientRect();
    const k = Math.min(2, width / (right - left), height / (bottom - top));
    view = { k, x: width / 2 - k * (left + right) / 2, y: height / 2 - k * (top + bottom) / 2 };
    apply();
  }
  svg.addEventListener('wheel', (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const k = Math.min(20, Math.max(0.005, view.k * Math.exp(-event.deltaY * 0.0015)));
    view = { k, x: x - (x - view.x) * k / view.k, y: y - (y - view.y) * k / view.k };
    apply();
  }, { passive: false });
  let held = null;
  svg.addEventListener('pointerdown', (event) => {
    const at = nodes.findIndex(({ group }) => group.contains(event.target));
    held = { x: event.clientX, y: event.clientY, at, moved: false };
  });
  window.addEventListener('pointermove', (event) => {
    if (!held) return;
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    Object.assign(held, { x: event.clientX, y: event.clientY, moved: true });
    if (held.at >= 0) {
      data.nodes[held.at].x += dx / view.k;
      data.nodes[held.at].y += dy / view.k;
      move(held.at);
      data.arrows.forEach((arrow, number) => { if (arrow.s === held.at || arrow.t === held.at) route(number); });
    } else {
      view.x += dx; view.y += dy;
      apply();
    }
  });
  window.addEventListener('pointerup', () => {
    if (held && !held.moved && held.at >= 0) nodeDetails(held.at);
    held = null;
  });

  // Details.
  const details = by('details');
  function start(title, link) {
    details.hidden = false;
    details.replaceChildren();
    const close = add(details, 'button', {}, 'close');
    close.addEventListener('click', () => { details.hidden = true; select(-1); });
    add(details, 'h3', {}, title);
    // The program that made the page accepts links to the web only.
    if (link && /^https?:\/\//.test(link)) {
      add(add(details, 'p', {}), 'a', { href: link, target: '_blank', rel: 'noopener noreferrer' }, link);
    }
  }
  const say = (lines) => lines.forEach((line) => add(details, 'p', { class: 'mono' }, line));
  function select(chosen) {
    nodes.forEach(({ shape }, number) => shape.setAttribute('stroke-width', number === chosen ? 4 : 1));
    data.arrows.forEach((arrow, number) => arrows[number].made.setAttribute('stroke-opacity', chosen < 0 ? 0.75 : arrow.s === chosen || arrow.t === chosen ? 1 : 0.15));
  }
  function nodeDetails(number) {
    const node = data.nodes[number];
    select(number);
    start(node.label.join(' '), node.link);
    const hide = add(details, 'button', {}, 'hide');
    hide.addEventListener('click', () => { nodes[number].hidden = true; details.hidden = true; select(-1); refresh(); });
    say(node.tip);
    if (node.members.length) {
      add(details, 'h4', {}, 'Addresses');
      say(node.members);
    }
    add(details, 'h4', {}, 'Transfers');
    data.arrows.forEach((arrow, at) => {
      if (arrow.s !== number && arrow.t !== number) return;
      const other = data.nodes[arrow.s === number ? arrow.t : arrow.s].label.join(' ');
      const line = add(details, 'p', { class: 'mono' }, `${arrow.s === number ? 'to' : 'from'} ${other}: ${arrow.label.join(', ')}`);
      line.addEventListener('click', () => arrowDetails(at));
    });
  }
  function arrowDetails(number) {
    start(data.arrows[number].label.join(', '), data.arrows[number].link);
    say(data.arrows[number].tip);
  }

  // What is seen: tokens, a range of time, hidden nodes.
  const off = new Set();
  data.categories.forEach((entry) => add(by('legend'), 'span', { style: 'background:' + entry.color, class: 'category' }, entry.label));
  data.legend.forEach((entry, asset) => {
    const made = add(by('legend'), 'span', { style: 'background:' + entry.color, title: entry.tip }, entry.label);
    made.addEventListener('click', () => {
      off.has(asset) ? off.delete(asset) : off.add(asset);
      made.classList.toggle('off');
      refresh();
    });
  });
  const last = data.legend.length - 1;
  const more = data.legend.length && data.arrows.some((arrow) => arrow.asset > last);
  const entryOf = (asset) => (more ? Math.min(asset, last) : asset);
  const low = data.arrows.reduce((a, arrow) => Math.min(a, arrow.first), Infinity);
  const high = data.arrows.reduce((a, arrow) => Math.max(a, arrow.last), -Infinity);
  const words = (at) => (data.timed ? new Date(at * 1000).toISOString().slice(0, 16).replace('T', ' ') : 'block ' + Math.round(at));
  function refresh() {
    const at = (id) => low + (high - low) * by(id).value / 1000;
    const from = at('from'), to = at('to');
    if (data.arrows.length) by('span').textContent = words(from) + ' to ' + words(to) + (data.timed ? ' UTC' : '');
    const used = new Set();
    let shown = 0;
    data.arrows.forEach((arrow, number) => {
      const is = !off.has(entryOf(arrow.asset)) && arrow.last >= from && arrow.first <= to && !nodes[arrow.s].hidden && !nodes[arrow.t].hidden;
      if (is) { used.add(arrow.s); used.add(arrow.t); shown += 1; }
      arrows[number].made.setAttribute('display', is ? '' : 'none');
      arrows[number].text.setAttribute('display', is ? '' : 'none');
    });
    nodes.forEach((node, number) => node.group.setAttribute('display', !node.hidden && (used.has(number) || data.nodes[number].root) ? '' : 'none'));
    document.body.dataset.arrows = shown;
  }
  by('from').addEventListener('input', refresh);
  by('to').addEventListener('input', refresh);
  by('show').addEventListener('click', () => { nodes.forEach((node) => { node.hidden = false; }); refresh(); });
  by('fit').addEventListener('click', fit);
  by('amounts').addEventListener('change', apply);
  by('color').addEventListener('change', () => {
    const names = [...new Set(data.nodes.map((node) => node.name))].filter((name) => name !== null);
    nodes.forEach(({ shape }, number) => {
      const node = data.nodes[number], mode = by('color').value;
      const fill = mode === 'hop' ? PALETTE[node.hop % PALETTE.length]
        : mode === 'label' && node.name !== null ? PALETTE[names.indexOf(node.name) % PALETTE.length]
        : mode === 'label' ? '#FFFFFF' : node.fill;
      shape.setAttribute('fill', fill);
    });
  });
  by('search').addEventListener('input', () => {
    const wanted = by('search').value.trim().toLowerCase();
    const has = (lines) => lines.some((line) => line.toLowerCase().includes(wanted));
    let count = 0, first = -1;
    nodes.forEach(({ group, shape }, number) => {
      const node = data.nodes[number];
      const is = !wanted || has(node.label) || has(node.tip) || has(node.members);
      if (wanted && is) { count += 1; if (first < 0) first = number; }
      group.setAttribute('opacity', is ? 1 : 0.2);
      shape.setAttribute('stroke-width', wanted && is ? 3 : 1);
    });
    by('found').textContent = wanted ? count + ' found' : '';
    if (count === 1) {
      const { width, height } = svg.getBoundingClientRect();
      view.k = Math.max(view.k, 0.9);
      view.x = width / 2 - view.k * data.nodes[first].x;
      view.y = height / 2 - view.k * data.nodes[first].y;
      apply();
    }
  });

  // Export of what is seen, as it is seen.
  function picture() {
    const copy = svg.cloneNode(true);
    const { width, height } = svg.getBoundingClientRect();
    copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    copy.querySelectorAll('[display=none], [visibility=hidden]').forEach((gone) => gone.remove());
    return new XMLSerializer().serializeToString(copy);
  }
  by('save').addEventListener('click', () => {
    const url = URL.createObjectURL(new Blob([picture()], { type: 'image/svg+xml' }));
    const link = document.createElement('a');
    Object.assign(link, { href: url, download: 'transfers.svg' });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });

  refresh();
  fit();
  document.body.dataset.ready = 'yes';
})();
