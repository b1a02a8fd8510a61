// The lines of two texts side by side.

/** A line on each side. A side without a line is undefined. */
export interface Row {
  before?: string;
  after?: string;
}

/** The maximum number of lines of each text that are compared: more are one change. */
const MAX_LINES = 5_000;

/** The maximum number of different lines that are found: more are one change. */
const MAX_DIFFERENCES = 1_000;

/** Returns the lines of two texts side by side. A line that only one side has has nothing next to it, or another line. */
export function sideBySide(before: string, after: string): Row[] {
  const [left, right] = [linesOf(before), linesOf(after)];
  const same = left.length + right.length > 2 * MAX_LINES ? [] : (commonLines(left, right) ?? []);
  const rows: Row[] = [];
  let [at, to] = [0, 0];
  for (const [x, y] of [...same, [left.length, right.length] as const]) {
    while (at < x || to < y)
      rows.push({
        ...(at < x && { before: left[at++]! }),
        ...(to < y && { after: right[to++]! }),
      });
    if (x < left.length) rows.push({ before: left[at++]!, after: right[to++]! });
  }
  return rows;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Returns the positions of lines that both texts have, in order, with the fewest others (E. Myers, "An O(ND) Difference
 * Algorithm", 1986). Returns undefined if too many differ.
 */
function commonLines(left: string[], right: string[]): (readonly [number, number])[] | undefined {
  const farthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let differences = 0; differences <= MAX_DIFFERENCES; differences++) {
    trace.push(new Map(farthest));
    for (let diagonal = -differences; diagonal <= differences; diagonal += 2) {
      const down = farthest.get(diagonal + 1) ?? -1;
      const across = farthest.get(diagonal - 1) ?? -1;
      let x = diagonal === -differences || (diagonal !== differences && across < down) ? down : across + 1;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x++;
      farthest.set(diagonal, x);
      if (x >= left.length && x - diagonal >= right.length) return backtrack(trace, left, right);
    }
  }
  return undefined;
}

function backtrack(trace: Map<number, number>[], left: string[], right: string[]) {
  const same: (readonly [number, number])[] = [];
  let [x, y] = [left.length, right.length];
  for (let differences = trace.length - 1; differences >= 0; differences--) {
    const farthest = trace[differences]!;
    const diagonal = x - y;
    const down = farthest.get(diagonal + 1) ?? -1;
    const across = farthest.get(diagonal - 1) ?? -1;
    const isDown = diagonal === -differences || (diagonal !== differences && across < down);
    const previous = isDown ? diagonal + 1 : diagonal - 1;
    const from = farthest.get(previous) ?? 0;
    const start = differences === 0 ? 0 : isDown ? from : from + 1;
    while (x > start && y > 0 && left[x - 1] === right[y - 1]) same.push([--x, --y]);
    if (differences > 0) [x, y] = [from, from - previous];
  }
  return same.reverse();
}
