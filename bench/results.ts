// Figures, and what they come to.

/** One line of the results. */
export interface Row {
  /** Which measure it belongs to. */
  measure: string;
  /** What was measured. */
  name: string;
  /** The unit of `ours` and `baseline`. */
  unit: string;
  /** The snapshotter's figure: where there were several runs, their median. */
  ours: number;
  /** What it is compared with. */
  against: string;
  /** The figure of that, in the same way; null where there is nothing to compare with. */
  baseline: number | null;
  /** `ours` divided by `baseline`, or what `ours` has more where the target is such a number; null without a baseline. */
  ratio: number | null;
  /** The most that the ratio should be, or `ours` where there is none; null where the figure is only reported. */
  target: number | null;
  /** How often each side was run. */
  runs: number;
  /** The interquartile range of `ours`, divided by the median. */
  spread: number;
  /** The same of the baseline. */
  baselineSpread: number;
  /** The quartiles of the ratios of runs that came one after the other; absent where there is no such ratio. */
  ratioQuartiles?: [number, number];
  /** What the target is about, where that is not the ratio. */
  of?: 'extra' | 'ours';
}

/** Rows, and what else is to be told of a measure. */
export interface Outcome {
  rows: Row[];
  /** Figures in another form than rows, for the documentation. */
  details?: unknown;
}

/** The runs of two sides, in the order in which they were made. */
export interface Samples {
  ours: number[];
  baseline: number[];
}

/** A row of samples: the median of each side, and the ratio of the two. */
export function compare(
  about: Pick<Row, 'measure' | 'name' | 'unit' | 'against' | 'target'>,
  { ours, baseline }: Samples,
): Row {
  const [own, other] = [median(ours), median(baseline)];
  const ratios = ours.map((one, index) => one / baseline[index]!);
  return {
    ...about,
    ours: round(own),
    baseline: round(other),
    ratio: round(own / other),
    runs: ours.length,
    spread: spread(ours),
    baselineSpread: spread(baseline),
    ratioQuartiles: [round(quantile(ratios, 0.25)), round(quantile(ratios, 0.75))],
  };
}

/** A row of samples that there is nothing to compare with. */
export function alone(about: Pick<Row, 'measure' | 'name' | 'unit' | 'against'>, samples: number[]): Row {
  const ours = round(median(samples));
  const nothing = { baseline: null, ratio: null, target: null, baselineSpread: 0 };
  return { ...about, ...nothing, ours, runs: samples.length, spread: spread(samples) };
}

/** A row of a number that does not vary. */
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

/** Whether a row is as it is wanted; null where nothing is wanted of it. */
export function holds({ target, ratio, ours, of }: Row): boolean | null {
  if (target === null) return null;
  return (of === 'ours' ? ours : (ratio ?? 0)) <= target;
}

/** The middle one of numbers. */
export function median(numbers: number[]): number {
  return quantile(numbers, 0.5);
}

function quantile(numbers: number[], share: number): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const place = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(place)] ?? NaN, sorted[Math.ceil(place)] ?? NaN];
  return below + (above - below) * (place - Math.floor(place));
}

function spread(numbers: number[]): number {
  return round((quantile(numbers, 0.75) - quantile(numbers, 0.25)) / median(numbers));
}

function round(number: number): number {
  return Number(number.toPrecision(4));
}
