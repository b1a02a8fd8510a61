// Marker words that are written where only their owner may read them, so that the tests can search for leaks.

/** The marker words. Each contains {@link CANARY}. */
export const SECRETS = {
  content: 'canary-in-a-file',
  name: 'canary-in-a-name',
  variable: 'canary-in-a-variable',
  label: 'canary-in-a-label',
  output: 'canary-in-an-output',
} as const;

/** The common part of the marker words. No log line may contain it. */
export const CANARY = 'canary';

/** The marker words that no error may contain either. Errors may contain labels and the output of hooks. */
export const FORBIDDEN = [SECRETS.content, SECRETS.name, SECRETS.variable];
