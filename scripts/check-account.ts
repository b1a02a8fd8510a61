// `npm run check:account`: compares what this project assumes about Cloudflare with a real deployment. docs/account.md
// describes the preparation. The last line is `N as assumed, M different, K failed,
// S skipped`.
//
//   SNAPSHOTTER_ADDRESS, SNAPSHOTTER_TOKEN    the snapshotter and its API token
//   CHECK_ADDRESS, CHECK_TOKEN                the Worker in scripts/check-account/worker and its token
//
//   --without inactivity    omits the check that takes five minutes

import { parseArgs } from 'node:util';

import { Account } from './check-account/account.ts';
import { run, type Check, type Result } from './check-account/check.ts';
import { mainJob } from './check-account/main-job.ts';
import { MIGRATION } from './check-account/migration.ts';
import { INACTIVITY, PLATFORM } from './check-account/platform.ts';
import { STORAGE } from './check-account/storage.ts';

/** The outcomes, in the order of the last line. */
const OUTCOMES = ['as assumed', 'different', 'failed', 'skipped'] as const;

const { values } = parseArgs({ options: { without: { type: 'string' } } });
const account = await Account.connect(endpoint('SNAPSHOTTER'), endpoint('CHECK')).catch((error: Error) =>
  fail(error.message),
);
console.log(
  `Runtimes: ${account.runtimes.join(', ')}. Everything that this run makes is named ${account.prefix}-….`,
);

const checks: Check[] = [
  ...PLATFORM,
  ...account.runtimes.flatMap(mainJob),
  ...STORAGE,
  ...MIGRATION,
  ...(values.without === INACTIVITY.name ? [] : [INACTIVITY]),
];
const results: Result[] = [];
process.once('SIGINT', () => account.interruption.abort()); // The second one ends the process.
for (const check of checks) {
  if (account.interruption.signal.aborted) break;
  const result = await run(check, account);
  results.push(result);
  print(result);
}

const left = await account.cleanUp();
for (const what of left) console.log(`Not removed: ${what}`);
const count = (outcome: Result['outcome']) => results.filter((result) => result.outcome === outcome).length;
console.log(OUTCOMES.map((outcome) => `${count(outcome)} ${outcome}`).join(', '));
const isComplete = results.length === checks.length && left.length === 0;
process.exit(isComplete && count('different') + count('failed') === 0 ? 0 : 1);

/** Prints a result, with the assumption unless it holds. A skipped check has the reason. */
function print({ name, outcome, assumption, expected, observed }: Result) {
  console.log(`${outcome}: ${name}: ${JSON.stringify(observed)}`);
  if (outcome === 'different' || outcome === 'failed')
    console.log(`  ${assumption}\n  Expected: ${JSON.stringify(expected)}`);
}

/** Reads the address and the token of a Worker from the environment. */
function endpoint(name: string) {
  const [url, token] = [process.env[`${name}_ADDRESS`], process.env[`${name}_TOKEN`]];
  if (url && token) return { url, token };
  return fail(`Set ${name}_ADDRESS and ${name}_TOKEN. docs/account.md describes the preparation.`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
