// Keccak-256, the hash of Ethereum, of which EIP-55 takes the case of addresses.

const BITS = (1n << 64n) - 1n;

/** Bytes of the state that a block of the input changes. */
const RATE = 136;

/** The constants of the rounds, from the linear feedback shift register of the standard. */
const ROUNDS: bigint[] = (() => {
  let state = 1;
  const bit = (): bigint => {
    const out = BigInt(state & 1);
    state <<= 1;
    if (state & 0x100) state ^= 0x171;
    return out;
  };
  return Array.from({ length: 24 }, () => {
    let constant = 0n;
    for (let power = 0; power <= 6; power += 1) constant |= bit() << ((1n << BigInt(power)) - 1n);
    return constant;
  });
})();

const rotated = (value: bigint, by: number): bigint =>
  ((value << BigInt(by % 64)) | (value >> BigInt(64 - (by % 64)))) & BITS;

/** The permutation of 25 lanes, where lane `x + 5 * y` is that of column x and row y. */
function permute(lanes: bigint[]): void {
  const at = (index: number): bigint => lanes[index] ?? 0n;
  for (const constant of ROUNDS) {
    const sums = [0, 1, 2, 3, 4].map((x) => at(x) ^ at(x + 5) ^ at(x + 10) ^ at(x + 15) ^ at(x + 20));
    for (let lane = 0; lane < 25; lane += 1) {
      const x = lane % 5;
      lanes[lane] = at(lane) ^ (sums[(x + 4) % 5] ?? 0n) ^ rotated(sums[(x + 1) % 5] ?? 0n, 1);
    }
    let [x, y, moved] = [1, 0, at(1)];
    for (let step = 0; step < 24; step += 1) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const next = at(x + 5 * y);
      lanes[x + 5 * y] = rotated(moved, ((step + 1) * (step + 2)) / 2);
      moved = next;
    }
    for (let row = 0; row < 25; row += 5) {
      const old = lanes.slice(row, row + 5);
      for (let column = 0; column < 5; column += 1) {
        const [next, second] = [old[(column + 1) % 5] ?? 0n, old[(column + 2) % 5] ?? 0n];
        lanes[row + column] = (old[column] ?? 0n) ^ (~next & BITS & second);
      }
    }
    lanes[0] = at(0) ^ constant;
  }
}

/** The hash of a text, as hexadecimal digits. */
export function keccak256(text: string): string {
  const bytes = [...new TextEncoder().encode(text)];
  const length = (Math.floor(bytes.length / RATE) + 1) * RATE;
  const padded = [...bytes, 1, ...Array<number>(length - bytes.length - 1).fill(0)];
  padded[length - 1] = (padded[length - 1] ?? 0) | 0x80;
  const lanes = Array<bigint>(25).fill(0n);
  for (let block = 0; block < length; block += RATE) {
    for (let at = 0; at < RATE; at += 1) {
      const lane = Math.floor(at / 8);
      lanes[lane] = (lanes[lane] ?? 0n) ^ (BigInt(padded[block + at] ?? 0) << BigInt(8 * (at % 8)));
    }
    permute(lanes);
  }
  const byte = (at: number): number => Number(((lanes[Math.floor(at / 8)] ?? 0n) >> BigInt(8 * (at % 8))) & 0xffn);
  return Array.from({ length: 32 }, (_, at) => byte(at).toString(16).padStart(2, "0")).join("");
}
