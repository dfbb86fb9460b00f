// The scene: vertices and arrows with their places and outlines.
// Text from outside is only ever drawn, or set as text or as an attribute, never as markup.
const data = JSON.parse(document.getElementById('data').textContent);
const by = (id) => document.getElementById(id);
function add(parent, name, attributes, text) {
  const made = document.createElementNS(parent.namespaceURI, name);
  for (const key in attributes || {}) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

// Columns by hop for a page that was made without Graphviz. Each vertex goes near the middle of
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

// Outlines around the origin as paths of SVG, which a canvas draws too.
const polygon = (points) => 'M' + points.map(([x, y]) => x + ',' + y).join(' L') + ' z';
const SHAPES = {
  box: (w, h) => polygon([[-w, -h], [w, -h], [w, h], [-w, h]]),
  folder: (w, h) => `M${-w},${-h} h${w} l6,-5 h${w - 8} l2,5 v${2 * h} h${-2 * w} z`,
  octagon: (w, h) => polygon([[-w, -h / 2], [-w * 0.6, -h], [w * 0.6, -h], [w, -h / 2], [w, h / 2], [w * 0.6, h], [-w * 0.6, h], [-w, h / 2]]),
  hexagon: (w, h) => polygon([[-w, 0], [-w * 0.75, -h], [w * 0.75, -h], [w, 0], [w * 0.75, h], [-w * 0.75, h]]),
  diamond: (w, h) => polygon([[-w, 0], [0, -h * 1.4], [w, 0], [0, h * 1.4]]),
  ellipse: (w, h) => `M${-w},0 a${w},${h} 0 1,0 ${2 * w},0 a${w},${h} 0 1,0 ${-2 * w},0 z`,
  note: (w, h) => `M${-w},${-h} h${2 * w - 8} l8,8 v${2 * h - 8} h${-2 * w} z`,
  cylinder: (w, h) => `M${8 - w},${-h} h${2 * w - 16} q8,0 8,8 v${2 * h - 16} q0,8 -8,8 h${16 - 2 * w} q-8,0 -8,-8 v${16 - 2 * h} q0,-8 8,-8 z`,
  house: (w, h) => polygon([[-w, h], [-w, -h * 0.7], [0, -h * 1.4], [w, -h * 0.7], [w, h]]),
  invhouse: (w, h) => polygon([[-w, -h], [-w, h * 0.7], [0, h * 1.4], [w, h * 0.7], [w, -h]]),
  pentagon: (w, h) => polygon([[0, -h * 1.4], [w, -h * 0.4], [w * 0.8, h], [-w * 0.8, h], [-w, -h * 0.4]]),
  trapezium: (w, h) => polygon([[-w * 1.1, h], [-w * 0.9, -h], [w * 0.9, -h], [w * 1.1, h]]),
  parallelogram: (w, h) => polygon([[-w * 1.1, h], [-w * 0.9, -h], [w * 1.1, -h], [w * 0.9, h]]),
};
const nodes = data.nodes.map((node) => {
  const w = Math.max(72, 22 + 6.4 * Math.max(...node.label.map((line) => line.length))) / 2;
  const h = (10 + 12 * node.label.length) / 2;
  const shape = SHAPES[node.shape.replace('double', '')] || SHAPES.ellipse;
  const outer = node.root ? { text: shape(w + 4, h + 4) } : null;
  return { w, h, path: { text: shape(w, h) }, outer, fill: node.fill, border: node.style.split(',')[1], hidden: false, used: true };
});

// Where the line from the center of a vertex towards a point leaves the vertex.
function edge(number, x, y) {
  const node = data.nodes[number];
  const dx = x - node.x, dy = y - node.y;
  if (!dx && !dy) return [node.x, node.y];
  const k = 1 / Math.hypot(dx / nodes[number].w, dy / nodes[number].h);
  return [node.x + dx * k, node.y + dy * k];
}

// Parallel arrows are bent apart.
const parallel = new Map();
const arrows = data.arrows.map((arrow) => {
  const key = Math.min(arrow.s, arrow.t) + ' ' + Math.max(arrow.s, arrow.t);
  const turn = parallel.get(key) || 0;
  parallel.set(key, turn + 1);
  return { turn, shown: true };
});
function route(number) {
  const { s, t } = data.arrows[number], arrow = arrows[number];
  const a = data.nodes[s], b = data.nodes[t];
  // The four points of a cubic curve.
  let points, isStraight = false;
  if (s === t) {
    const top = a.y - nodes[s].h, up = 26 + 14 * arrow.turn;
    points = [[a.x - 10, top], [a.x - 30, top - up], [a.x + 30, top - up], [a.x + 10, top]];
  } else {
    const long = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const forward = s < t ? 1 : -1;
    // Arrows inside a column go around the vertices between their ends.
    const round = Math.abs(a.x - b.x) < 2 ? Math.min(200, long / 4) : 0;
    const bend = round + forward * Math.ceil(arrow.turn / 2) * (arrow.turn % 2 ? 1 : -1) * 28;
    const mx = (a.x + b.x) / 2 - bend * (b.y - a.y) / long, my = (a.y + b.y) / 2 + bend * (b.x - a.x) / long;
    const from = edge(s, mx, my), to = edge(t, mx, my);
    const toward = ([x, y]) => [x + (mx - x) * 2 / 3, y + (my - y) * 2 / 3];
    points = [from, toward(from), toward(to), to];
    isStraight = bend === 0;
  }
  const [, , [cx, cy], [x, y]] = points;
  const long = Math.hypot(x - cx, y - cy) || 1;
  const dx = 8 * (x - cx) / long, dy = 8 * (y - cy) / long;
  arrow.points = points;
  // A canvas draws a line in a fraction of the time of a curve.
  arrow.path = { text: isStraight ? `M${points[0]} L${points[3]}` : `M${points[0]} C${points.slice(1).join(' ')}` };
  arrow.head = { text: polygon([[x, y], [x - dx - dy / 2, y - dy + dx / 2], [x - dx + dy / 2, y - dy - dx / 2]]) };
  arrow.middle = at(points, 0.5);
  const xs = points.map((point) => point[0]), ys = points.map((point) => point[1]);
  arrow.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}
// The point of a cubic curve at a share of it.
function at([a, b, c, d], share) {
  const rest = 1 - share;
  const of = (axis) => rest ** 3 * a[axis] + 3 * rest ** 2 * share * b[axis] + 3 * rest * share ** 2 * c[axis] + share ** 3 * d[axis];
  return [of(0), of(1)];
}
data.arrows.forEach((_, number) => route(number));
