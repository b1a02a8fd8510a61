// The rows of the results, and their statistics.

/** One line of the results. */
export interface Row {
  /** The name of its measure. */
  measure: string;
  /** The name of the row. */
  name: string;
  /** The unit of `ours` and `baseline`. */
  unit: string;
  /** The figure of the snapshotter: the median of several runs, or the only figure. */
  ours: number;
  /** The name of the baseline. */
  against: string;
  /** The figure of the baseline, computed in the same way, or null without a baseline. */
  baseline: number | null;
  /** `ours` divided by `baseline`. With `of: 'extra'`, `ours` minus `baseline`. Null without a baseline. */
  ratio: number | null;
  /** The maximum of `ratio`, or of `ours` with `of: 'ours'`. Null without a target. */
  target: number | null;
  /** The number of runs of each side. */
  runs: number;
  /** The interquartile range of `ours`, divided by the median. */
  spread: number;
  /** The interquartile range of `baseline`, divided by the median. */
  baselineSpread: number;
  /** The quartiles of the ratios of consecutive runs. Absent without such ratios. */
  ratioQuartiles?: [number, number];
  /** The value that the target limits, if that is not a quotient. */
  of?: 'extra' | 'ours';
}

/** The results of a measure. */
export interface Outcome {
  rows: Row[];
  /** Figures that are not rows, for the documentation. */
  details?: unknown;
}

/** The figures of two sides, in the order of their runs. */
export interface Samples {
  ours: number[];
  baseline: number[];
}

/** Makes a row of samples: the median of each side, and the ratio of the medians. */
export function compare(
  about: Pick<Row, 'measure' | 'name' | 'unit' | 'against' | 'target'>,
  { ours, baseline }: Samples,
): Row {
  const [ourMedian, baselineMedian] = [median(ours), median(baseline)];
  const ratios = ours.map((figure, index) => figure / baseline[index]!);
  return {
    ...about,
    ours: round(ourMedian),
    baseline: round(baselineMedian),
    ratio: round(ourMedian / baselineMedian),
    runs: ours.length,
    spread: spread(ours),
    baselineSpread: spread(baseline),
    ratioQuartiles: [round(quantile(ratios, 0.25)), round(quantile(ratios, 0.75))],
  };
}

/** Makes a row of samples without a baseline. */
export function alone(about: Pick<Row, 'measure' | 'name' | 'unit' | 'against'>, samples: number[]): Row {
  const ours = round(median(samples));
  const noBaseline = { baseline: null, ratio: null, target: null, baselineSpread: 0 };
  return { ...about, ...noBaseline, ours, runs: samples.length, spread: spread(samples) };
}

/** Makes a row of a number that does not vary. */
export function exact(
  about: Pick<Row, 'measure' | 'name' | 'unit' | 'against' | 'target' | 'ours' | 'baseline' | 'of'>,
): Row {
  const { ours, baseline, of } = about;
  const ratio =
    baseline === null
      ? null
      : of === 'extra'
        ? ours - baseline
        : baseline === 0
          ? null
          : round(ours / baseline);
  return { ...about, ratio, runs: 1, spread: 0, baselineSpread: 0 };
}

/** Whether a row meets its target, or null without a target. */
export function meetsTarget({ target, ratio, ours, of }: Row): boolean | null {
  if (target === null) return null;
  return (of === 'ours' ? ours : (ratio ?? 0)) <= target;
}

/** The median of numbers. */
export function median(numbers: number[]): number {
  return quantile(numbers, 0.5);
}

function quantile(numbers: number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(position)] ?? NaN, sorted[Math.ceil(position)] ?? NaN];
  return below + (above - below) * (position - Math.floor(position));
}

function spread(numbers: number[]): number {
  return round((quantile(numbers, 0.75) - quantile(numbers, 0.25)) / median(numbers));
}

function round(number: number): number {
  return Number(number.toPrecision(4));
}
