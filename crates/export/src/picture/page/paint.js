// Drawing: one description of what is seen, and two pens for it, a canvas and SVG.
const NS = 'http://www.w3.org/2000/svg';
const FONT = 'Helvetica, Arial, sans-serif';
const ACCENT = '#EE7733';
const DASHES = { dotted: [1, 3], dashed: [5, 3] };
// Arrows of a picture whose text stays while it is moved.
const STILL_TEXT = 300;
const canvas = by('view');
const context = canvas.getContext('2d');
const dark = matchMedia('(prefers-color-scheme: dark)');
let view = { x: 0, y: 0, k: 1 };
let chosen = { node: -1, arrow: -1 };
let found = null;
let moving = 0;

function canvasPen() {
  return {
    path(path, x, y, { fill, line, width, dash, alpha }) {
      context.globalAlpha = alpha;
      if (x || y) context.translate(x, y);
      // An outline is parsed once. Something that moved has another one.
      path.made ??= new Path2D(path.text);
      if (fill) { context.fillStyle = fill; context.fill(path.made); }
      if (line) {
        context.strokeStyle = line;
        context.lineWidth = width;
        context.setLineDash(dash || []);
        context.stroke(path.made);
      }
      if (x || y) context.translate(-x, -y);
    },
    text(line, x, y, { size, color, halo, alpha }) {
      context.globalAlpha = alpha;
      context.font = `${size}px ${FONT}`;
      context.textAlign = 'center';
      if (halo) {
        context.strokeStyle = halo;
        context.lineWidth = 2.5;
        context.lineJoin = 'round';
        context.setLineDash([]);
        context.strokeText(line, x, y);
      }
      context.fillStyle = color;
      context.fillText(line, x, y);
    },
  };
}

function svgPen(parent) {
  return {
    path(path, x, y, { fill, line, width, dash, alpha }) {
      const made = add(parent, 'path', { d: path.text, fill: fill || 'none', opacity: alpha });
      if (x || y) made.setAttribute('transform', `translate(${x},${y})`);
      if (line) { made.setAttribute('stroke', line); made.setAttribute('stroke-width', width); }
      if (dash) made.setAttribute('stroke-dasharray', dash.join(' '));
    },
    text(line, x, y, { size, color, halo, alpha }) {
      const made = add(parent, 'text', { x, y, fill: color, opacity: alpha, 'font-family': FONT, 'font-size': size, 'text-anchor': 'middle' }, line);
      if (halo) { made.setAttribute('stroke', halo); made.setAttribute('stroke-width', 2.5); made.setAttribute('paint-order', 'stroke'); }
    },
  };
}

const isSeen = (number) => !nodes[number].hidden && (nodes[number].used || data.nodes[number].root);
const colors = () => {
  const style = getComputedStyle(document.documentElement);
  return { paper: style.getPropertyValue('--paper').trim(), ink: style.getPropertyValue('--ink').trim() };
};

// Draws what lies in the view, arrows below vertices, and returns the number of arrows.
function paint(pen, width, height, isMoving) {
  const { paper, ink } = colors();
  const { k } = view;
  const low = [-view.x / k, -view.y / k], high = [(width - view.x) / k, (height - view.y) / k];
  const meets = ([left, top, right, bottom]) => right >= low[0] && left <= high[0] && bottom >= low[1] && top <= high[1];
  const inView = arrows.map((arrow) => arrow.shown && meets(arrow.box));
  let drawn = 0;
  data.arrows.forEach(({ s, t, color, width }, number) => {
    if (!inView[number]) return;
    drawn += 1;
    const isChosen = number === chosen.arrow;
    const alpha = isChosen || s === chosen.node || t === chosen.node ? 1 : chosen.node >= 0 ? 0.15 : 0.75;
    const arrow = arrows[number];
    // A line is at least half a pixel wide.
    const line = Math.max(width / 10, 0.5 / k) * (isChosen ? 2 : 1);
    pen.path(arrow.path, 0, 0, { line: color, width: line, alpha });
    if (8 * k > 1.5) pen.path(arrow.head, 0, 0, { fill: color, alpha });
  });
  const mode = by('amounts').value;
  const hasText = !isMoving || arrows.length <= STILL_TEXT;
  if (hasText && mode !== 'none') {
    data.arrows.forEach((arrow, number) => {
      if (!inView[number] || !(mode === 'all' || k > 0.55 || (arrow.shown && arrows.length <= 300))) return;
      const [x, y] = arrows[number].middle;
      const alpha = chosen.node < 0 || arrow.s === chosen.node || arrow.t === chosen.node ? 1 : 0.15;
      arrow.label.forEach((text, row) => pen.text(text, x, y - 13 + 9 * row, { size: 8, color: ink, halo: paper, alpha }));
    });
  }
  data.nodes.forEach((node, number) => {
    const { w, h, path, outer, fill, border } = nodes[number];
    const { x, y } = node;
    if (!isSeen(number) || !meets([x - w, y - 2 * h, x + w, y + 2 * h])) return;
    const is = found === null || found.has(number);
    const alpha = is ? 1 : 0.2;
    const thick = Math.max(number === chosen.node ? 4 : found !== null && is ? 3 : border === 'bold' ? 2 : 1, 0.5 / k);
    // Dashes that cannot be seen take most of the time of a frame.
    const dash = k > 0.4 ? DASHES[border] : undefined;
    if (outer) pen.path(outer, x, y, { line: ink, width: 1, alpha });
    pen.path(path, x, y, { fill, line: number === chosen.node ? ACCENT : ink, width: thick, dash, alpha });
    // Smaller text cannot be read.
    if (!hasText || 10 * k < 3.5) return;
    node.label.forEach((line, row) => pen.text(line, x, y + 12 * row - 6 * node.label.length + 9, { size: 10, color: '#222', alpha }));
  });
  return drawn;
}

function draw() {
  const { width, height } = canvas.getBoundingClientRect();
  const dots = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * dots) || canvas.height !== Math.round(height * dots)) {
    canvas.width = Math.round(width * dots);
    canvas.height = Math.round(height * dots);
  }
  context.setTransform(dots, 0, 0, dots, 0, 0);
  context.clearRect(0, 0, width, height);
  context.setTransform(dots * view.k, 0, 0, dots * view.k, dots * view.x, dots * view.y);
  document.body.dataset.drawn = paint(canvasPen(), width, height, moving > 0);
}
// Draws at the next frame, once for all changes before it.
let waiting = 0;
function redraw() {
  waiting ||= requestAnimationFrame(() => { waiting = 0; draw(); });
}
// Draws without the text of large pictures until the view rests.
function redrawMoving() {
  clearTimeout(moving);
  moving = setTimeout(() => { moving = 0; redraw(); }, 150);
  redraw();
}
dark.addEventListener('change', redraw);

// What is seen, as SVG.
function picture() {
  const { width, height } = canvas.getBoundingClientRect();
  const svg = document.createElementNS(NS, 'svg');
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) svg.setAttribute(key, value);
  add(svg, 'title', {}, data.title);
  add(svg, 'rect', { width, height, fill: colors().paper });
  paint(svgPen(add(svg, 'g', { transform: `translate(${view.x},${view.y}) scale(${view.k})` })), width, height, false);
  return new XMLSerializer().serializeToString(svg);
}
