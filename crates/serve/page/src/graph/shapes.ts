// Outlines of shapes, around a center, with a radius of 1. The drawing, files and tests share them.

import type { Shape } from "./style.ts";

type Point = [number, number];

function regular(corners: number, turn = 0): Point[] {
  return Array.from({ length: corners }, (_, index) => {
    const angle = (2 * Math.PI * index) / corners + turn;
    return [Math.cos(angle), Math.sin(angle)];
  });
}

/** Corners, with y downward. A circle has many. */
export const OUTLINES: Record<Shape, Point[]> = {
  circle: regular(40),
  hexagon: regular(6),
  octagon: regular(8, Math.PI / 8),
  box: [
    [-0.85, -0.85],
    [0.85, -0.85],
    [0.85, 0.85],
    [-0.85, 0.85],
  ],
  diamond: regular(4),
  pentagon: regular(5, -Math.PI / 2),
  house: [
    [0, -1.05],
    [0.95, -0.25],
    [0.95, 0.85],
    [-0.95, 0.85],
    [-0.95, -0.25],
  ],
  invhouse: [
    [0, 1.05],
    [0.95, 0.25],
    [0.95, -0.85],
    [-0.95, -0.85],
    [-0.95, 0.25],
  ],
  trapezium: [
    [-0.6, -0.8],
    [0.6, -0.8],
    [1.05, 0.8],
    [-1.05, 0.8],
  ],
  parallelogram: [
    [-0.6, -0.8],
    [1.1, -0.8],
    [0.6, 0.8],
    [-1.1, 0.8],
  ],
  cylinder: [
    [-0.75, -0.75],
    [-0.4, -0.95],
    [0.4, -0.95],
    [0.75, -0.75],
    [0.75, 0.75],
    [0.4, 0.95],
    [-0.4, 0.95],
    [-0.75, 0.75],
  ],
  note: [
    [-0.85, -0.85],
    [0.4, -0.85],
    [0.85, -0.4],
    [0.85, 0.85],
    [-0.85, 0.85],
  ],
  folder: [
    [-0.95, -0.85],
    [-0.25, -0.85],
    [-0.05, -0.68],
    [0.95, -0.68],
    [0.95, 0.8],
    [-0.95, 0.8],
  ],
};
