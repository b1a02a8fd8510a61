// The detection of growing gauges.

import type { Sample } from './gauges.ts';

/** The allowed growth of each gauge over the second half of the samples. The memory of processes varies without growth. */
export const ALLOWED: Record<keyof Sample, (sample: Sample) => number> = {
  workerd: ({ workerd }) => Math.max(32, workerd * 0.15),
  node: ({ node }) => Math.max(32, node * 0.15),
  handles: () => 6,
  active: () => 4,
  processes: () => 2,
  mounts: () => 2,
  objects: () => 2,
  ledger: ({ ledger }) => ledger * 0.05,
  names: ({ names }) => names * 0.1,
};

/** The minimum number of samples. */
export const MIN_SAMPLES = 6;

/** Returns the gauges that grow more than allowed. The growth is that of the best-fit line of the second half of the samples. */
export function growing(samples: readonly Sample[]): string[] {
  if (samples.length < MIN_SAMPLES) return [];
  const half = samples.slice(Math.floor(samples.length / 2));
  const first = half[0]!;
  return (Object.keys(ALLOWED) as (keyof Sample)[]).flatMap((gauge) => {
    const growth = slope(half.map((sample) => sample[gauge])) * (half.length - 1);
    const allowed = ALLOWED[gauge](first);
    return growth <= allowed
      ? []
      : [
          `${gauge} grows by ${growth.toFixed(1)} over ${half.length} samples; at most ${allowed.toFixed(1)} is allowed`,
        ];
  });
}

/** The slope of the best-fit line, per sample. */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [above, below] = [0, 0];
  for (const [index, value] of values.entries()) {
    above += (index - middle) * (value - mean);
    below += (index - middle) ** 2;
  }
  return below === 0 ? 0 : above / below;
}
