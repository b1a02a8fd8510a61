// Words that are put where nobody but their owner may read them, to be looked for elsewhere.

/** The words. Each has {@link CANARY} in it. */
export const SECRETS = {
  content: 'canary-in-a-file',
  name: 'canary-in-a-name',
  variable: 'canary-in-a-variable',
  label: 'canary-in-a-label',
  output: 'canary-in-an-output',
} as const;

/** What all of them have in them: it is in no line of the log. */
export const CANARY = 'canary';

/** Those that no message may have either. A label, and what a hook printed, are told to the caller. */
export const UNTOLD = [SECRETS.content, SECRETS.name, SECRETS.variable];
