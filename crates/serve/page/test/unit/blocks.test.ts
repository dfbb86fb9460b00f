import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf, ends, upTo } from "../../src/base/blocks.ts";

test("fields become a range, without the separators of numbers", () => {
  const cases: [string, string, string][] = [
    ["", "", ""],
    [" 1,000 ", "2_000", "1000:2000"],
    ["", "1,234,567", ":1234567"],
    ["-1,000", "", "-1000:"],
    ["17M", "latest", "17M:latest"],
    ["2024-01-01", "2024-02-01", "2024-01-01:2024-02-01"],
    ["2024-01-01 02:00", "2024-01-01  03:00:30", "2024-01-01T02:00:2024-01-01T03:00:30"],
    // Two digits would be seconds.
    ["2024-01-01T02:00", "15", "2024-01-01T02:00:00:15"],
    ["2024-01-01T02:00", "800", "2024-01-01T02:00:800"],
    ["abc", "", "abc:"],
  ];
  for (const [from, until, blocks] of cases) assert.equal(blocksOf(from, until), blocks, `${from}|${until}`);
  for (const text of ["1,5", "10,20", "1:2", "2024-01-01 2h", "0x,1"]) {
    assert.throws(() => blocksOf(text, ""), /is not a block or a date/, text);
    assert.throws(() => blocksOf("", text), /is not a block or a date/, text);
  }
});

test("a range is shown in its fields, also with times", () => {
  const cases: [string, [string, string]][] = [
    ["", ["", ""]],
    [":", ["", ""]],
    ["10:20", ["10", "20"]],
    ["-1000:", ["-1000", ""]],
    [":2024-01-01T02:00", ["", "2024-01-01T02:00"]],
    ["2024-01-01T02:00:2024-01-01T03:00:30Z", ["2024-01-01T02:00", "2024-01-01T03:00:30Z"]],
    ["2024-01-01T02:00:800", ["2024-01-01T02:00", "800"]],
    ["2024-01-01T02:00:00:15", ["2024-01-01T02:00:00", "15"]],
    ["2024-01-01T02:00:", ["2024-01-01T02:00", ""]],
    ["7", ["7", ""]],
    // What has no two ends stands in the first field.
    ["0:10,20:30", ["0:10,20:30", ""]],
    ["0:100:10", ["0:100:10", ""]],
  ];
  for (const [blocks, fields] of cases) {
    assert.deepEqual(ends(blocks), fields, blocks);
    if (/^\d+:\d+$|T/.test(blocks)) assert.equal(blocksOf(...fields), blocks);
  }
});

test("ranges that end with the chain are bounded", () => {
  assert.equal(upTo("", 800), ":801");
  assert.equal(upTo("", 800, 500), "500:801");
  assert.equal(upTo(":", 800), ":801");
  assert.equal(upTo("10:", 800), "10:801");
  assert.equal(upTo("-50:", 800), "751:801");
  assert.equal(upTo("-5000:", 800), "0:801");
  assert.equal(upTo("2024-01-01T02:00:", 15), "2024-01-01T02:00:00:16");
  for (const blocks of ["10:20", ":5", "7", "0:10,20:30", "0:10,20:", "latest:"])
    assert.equal(upTo(blocks, 800), blocks);
});
