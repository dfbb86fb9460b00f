// The way of an arrow: a line, or a curve with one control point; and the place of its amount. All with y downward.

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

/** A part of the drawing that has text or a shape. */
export interface Box {
  key: string;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const meets = (a: Box, b: Box): boolean => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** A place with room for a text of a width, at the wanted part of the way or near it. */
export function room(
  key: string,
  from: Point,
  to: Point,
  bend: number,
  wanted: number,
  width: number,
  boxes: Box[],
): Box | null {
  for (const shift of [0, -0.08, 0.08, -0.16, 0.16]) {
    const { x, y } = along(from, to, bend, wanted + shift);
    const box = { key, left: x - width / 2, right: x + width / 2, top: y - 8, bottom: y + 8 };
    if (!boxes.some((other) => meets(box, other))) return box;
  }
  return null;
}
