// The way of an arrow: a line, or a curve with one control point. All with y downward.

export interface Point {
  x: number;
  y: number;
}

/** The control point of an arrow with a bend. */
export function control(from: Point, to: Point, bend: number): Point {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  return { x: (from.x + to.x) / 2 + dy * bend, y: (from.y + to.y) / 2 - dx * bend };
}

/** The point at a part `t` of the way. */
export function along(from: Point, to: Point, bend: number, t: number): Point {
  const middle = control(from, to, bend);
  const [a, b, c] = [(1 - t) * (1 - t), 2 * t * (1 - t), t * t];
  return { x: a * from.x + b * middle.x + c * to.x, y: a * from.y + b * middle.y + c * to.y };
}

/** The part of the way where a label stands: nearer to the end that has fewer arrows. */
export function labelAt(fromDegree: number, toDegree: number): number {
  if (fromDegree === toDegree) return 0.5;
  return fromDegree > toDegree ? 0.66 : 0.34;
}
