// Ranges of blocks: the two fields of a form, and the text of the command line, `FIRST:END`.

/** A date, or a date and a time of day. The colons in it separate nothing. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?!\d))?Z?)?/i;

const isTime = (text: string): boolean => TIME.exec(text)?.[0] === text;

/** Whether a text can be one end of a range: it has nothing that separates. */
const isEnd = (text: string): boolean => isTime(text) || !/[:,/\s]/.test(text);

/** A block or a time as it was typed, in the form of the command line. */
function point(typed: string): string {
  const text = typed.trim();
  if (/^-?\d{1,3}(,\d{3})+$/.test(text) || /^-?\d[\d_]*$/.test(text)) return text.replace(/[,_]/g, "");
  const time = text.replace(/^(\d{4}-\d\d-\d\d)\s+(?=\d\d:\d\d)/, "$1T");
  if (isEnd(time)) return time;
  throw new Error(
    `\`${text}\` is not a block or a date: write 2024-01-31, 2024-01-31 12:00 (both UTC) or a number, e.g. 17M`,
  );
}

/** A range with two ends. */
function range(from: string, until: string): string {
  // Two digits after a time without seconds would be its seconds.
  const isCut = /T\d\d:\d\d$/i.test(from) && /^\d\d(?!\d)/.test(until);
  return `${from}${isCut ? ":00" : ""}:${until}`;
}

/** The range of two fields; empty without any. What is no end of a range is an error. */
export function blocksOf(from: string, until: string): string {
  const [first, end] = [point(from), point(until)];
  return first === "" && end === "" ? "" : range(first, end);
}

/** The two fields of a range. The first one has everything if it is no range with two ends. */
export function ends(blocks: string): [string, string] {
  const time = TIME.exec(blocks)?.[0] ?? "";
  const at = blocks.indexOf(":", time.length);
  if (at < 0) return [blocks, ""];
  const [from, until] = [blocks.slice(0, at), blocks.slice(at + 1)];
  return isEnd(from) && isEnd(until) ? [from, until] : [blocks, ""];
}

/** The same blocks up to one block, for ranges that end with the chain. `first` is the first block of the node. */
export function upTo(blocks: string, last: number, first = 0): string {
  if (blocks === "") return `${first > 0 ? first : ""}:${last + 1}`;
  const [from, until] = ends(blocks);
  if (until !== "" || `${from}:` !== blocks) return blocks;
  const [, newest] = /^-(\d+)$/.exec(from) ?? [];
  if (newest !== undefined) return `${Math.max(last + 1 - Number(newest), 0)}:${last + 1}`;
  return from === "" || /^\d+$/.test(from) || isTime(from) ? range(from, String(last + 1)) : blocks;
}
