import assert from "node:assert/strict";
import { test } from "node:test";
import type { Position } from "../../src/base/types.ts";
import { placeOf, type Span, widened } from "../../src/graph/timeline.ts";

const at = (block: number): Position => ({ block, time: 1_704_067_200 + 12 * block, transaction: null, index: 0 });
const SPAN: Span = [at(100), at(300)];

test("a span has all transfers", () => {
  const blocks = (span: Span): number[] => span.map(({ block }) => block);
  assert.deepEqual(blocks(widened(null, at(5), at(6))), [5, 6]);
  assert.deepEqual(blocks(widened(SPAN, at(5), at(6))), [5, 300]);
  assert.deepEqual(blocks(widened(SPAN, at(150), at(400))), [100, 400]);
});

test("the ends of a range have a place in a span, as blocks and as times", () => {
  assert.equal(placeOf("200", SPAN, 0), 0.5);
  // The end of a range is after its last block.
  assert.equal(placeOf("201", SPAN, -1), 0.5);
  assert.equal(placeOf("2024-01-01T00:40:00Z", SPAN, 0), 0.5);
  assert.equal(placeOf("2024-01-01T00:40", SPAN, 0), 0.5);
  for (const text of ["", "99", "301", "-50", "17M", "2024-01-02", "2023-01-01"])
    assert.equal(placeOf(text, SPAN, 0), null, text);
  assert.equal(placeOf("100", [at(100), at(100)], 0), null);
});
