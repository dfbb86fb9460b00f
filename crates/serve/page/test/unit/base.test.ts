import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { count, distinct, exact, plain, rounded, short, span, units } from "../../src/base/format.ts";
import { addressOf, checksummed } from "../../src/base/addresses.ts";
import { keccak256 } from "../../src/base/keccak.ts";
import { foundPath, parseRoute } from "../../src/base/route.ts";
import { evident } from "../../src/base/search.ts";
import { exactAmount, isAmbiguous, roundedAmount, symbol } from "../../src/base/tokens.ts";
import { address, TOKEN, TOKENS } from "./made.ts";

test("exact amounts have all digits", () => {
  assert.equal(exact("0", 18), "0");
  assert.equal(exact("1", 18), "0.000000000000000001");
  assert.equal(exact("1234567890000", 6), "1,234,567.89");
  assert.equal(exact("1000", null), "1,000");
  const most = (2n ** 256n - 1n).toString();
  assert.equal(exact(most, 0).replace(/,/g, ""), most);
  assert.equal(exact(-1500n, 3), "-1.5");
});

test("typed amounts are whole units", () => {
  const cases: [string, number, string][] = [
    ["1.5", 6, "1500000"],
    ["1,000", 0, "1000"],
    [".5", 1, "5"],
    ["1_000", 0, "1000"],
    ["1.50", 1, "15"],
    ["", 6, ""],
    ["0", 6, ""],
  ];
  for (const [text, decimals, value] of cases) assert.equal(units(text, decimals), value, text);
  for (const text of ["x", "1.5e3", "-5", "1,5", "1,0000", ".", "0x10"])
    assert.throws(() => units(text, 6), /is not an amount/, text);
  assert.throws(() => units("1.999", 2), /it has 2 decimals/);
});

test("rounded amounts are those of the pictures", () => {
  // The tests run in crates/serve/page.
  const twin = readFileSync("../../export/src/picture/short_text.rs", "utf8");
  const cases = [...twin.matchAll(/\("(\d+)", (\d+), "([^"]+)"\)/g)];
  assert.ok(cases.length >= 10, String(cases.length));
  for (const [, value = "", decimals = "", text] of cases) {
    assert.equal(rounded(value, Number(decimals)), text, `${value} ${decimals}`);
  }
});

test("lookalike addresses get more digits", () => {
  const like = ["0x20611111111111111111111111111111111ae8c7", "0x20612222222222222222222222222222222be8c7", address(5)];
  const names = distinct([...like, address(5)]);
  assert.equal(names.get(address(5)), "0x0000…0005");
  assert.equal(new Set(names.values()).size, 3);
  assert.ok(names.get(like[0] ?? "")?.startsWith("0x206111…"));
});

test("text from outside is one line without marks of direction", () => {
  assert.equal(plain("a\u202eb\u0000c\n"), "a�b�c�");
  assert.equal([...plain("x".repeat(99), 10)].length, 10);
  assert.equal(plain("<b>"), "<b>");
});

test("short forms", () => {
  assert.equal(short(address(0xabcdef)), "0x0000…cdef");
  assert.equal(short("0x12"), "0x12");
  assert.equal(count(1234567), "1,234,567");
  assert.equal(span(1_704_067_200, 1_704_067_201), "2024-01-01 00:00");
  assert.equal(span(1_704_067_200, 1_704_070_000), "2024-01-01");
  assert.equal(span(1_704_067_200, null), "");
});

test("routes", () => {
  const a = address(1);
  assert.deepEqual(parseRoute(""), { view: "home" });
  assert.deepEqual(parseRoute(`#/address/${a.toUpperCase().replace("0X", "0x")}`), { view: "address", address: a });
  assert.equal(parseRoute("#/address/0x1").view, "unknown");
  assert.equal(parseRoute("#/block/12").view, "block");
  assert.equal(parseRoute("#/token/native").view, "unknown");
  const graph = parseRoute(`#/graph/${a},${address(2)}?hops=2`);
  assert.ok(graph.view === "graph" && graph.roots.length === 2 && graph.parameters.get("hops") === "2");
  const hash = `0x${"a".repeat(64)}`;
  const transaction = parseRoute(`#/graph/tx/${hash}`);
  assert.ok(transaction.view === "graph" && transaction.transaction === hash);
  assert.equal(parseRoute("#/<script>").view, "unknown");
  assert.equal(foundPath("transaction", hash), `#/tx/${hash}`);
  assert.equal(foundPath("other", "x"), "#/");
  // Mixed case is a checksum, as in the API.
  const right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  const wrong = right.replace("5aA", "5AA");
  const why = `\`${wrong}\` has a wrong checksum; with these digits it is \`${right}\``;
  for (const path of ["address/", "token/", `graph/${a},`]) {
    assert.deepEqual(parseRoute(`#/${path}${wrong}`), { view: "unknown", text: `${path}${wrong}`, why });
    assert.notEqual(parseRoute(`#/${path}${right}`).view, "unknown");
  }
});

test("what a text names for certain", () => {
  assert.equal(evident(` ${address(7)} `)?.kind, "address");
  assert.equal(evident("1,234")?.value, "1234");
  assert.equal(evident("USDC"), null);
  assert.throws(() => evident("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), /wrong checksum/);
});

test("tokens with one symbol are never alike", () => {
  const other = address(0xfa4e);
  const both = { ...TOKENS, [other]: { address: other, symbol: "usd", decimals: 6, name: null } };
  assert.ok(isAmbiguous(both, TOKEN) && isAmbiguous(both, other));
  assert.equal(symbol(TOKENS, TOKEN), "USD");
  assert.equal(symbol(both, other), "usd (0x0000…fa4e)");
  assert.equal(symbol({}, other), "0x0000…fa4e");
  assert.equal(roundedAmount(TOKENS, TOKEN, "1500000"), "1.5 USD");
  assert.equal(roundedAmount({}, TOKEN, "15"), "15 units of 0x0000…beef");
  assert.equal(roundedAmount(TOKENS, TOKEN, "0", "erc721", 3), "3 USD");
  assert.equal(exactAmount(TOKENS, "native", "1"), "0.000000000000000001 ETH");
});

test("Keccak and checksums", () => {
  assert.equal(keccak256(""), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  assert.equal(keccak256("abc"), "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
  // The examples of EIP-55.
  for (const address of [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
  ]) {
    assert.equal(checksummed(address.toLowerCase()), address);
    assert.equal(addressOf(` ${address} `), address.toLowerCase());
  }
  assert.equal(addressOf(`0x${"A".repeat(40)}`), `0x${"a".repeat(40)}`);
  assert.equal(addressOf("0x12"), null);
});
