// What the class over `ctx.container` assumes about the containers of Durable Objects.

import { setTimeout } from 'node:timers/promises';

import type { Account } from './account.ts';
import { AtMost, once, timed, type Check } from './check.ts';
import type { Monitored, Ran } from './worker/answers.ts';

/** The options of a start, as the class passes them. */
const OPTIONS = {
  enableInternet: true,
  env: { OF_THE_START: '1' },
  labels: { 'account-check': 'label' },
};

/** The inactivity timeout of its check, and the time after which the container must have ended, in milliseconds. */
const INACTIVITY_MS = 60_000;
const INACTIVITY_LIMIT_MS = 300_000;

/** A file that a snapshot of the platform keeps, and one that it does not keep. */
const KEPT = '/etc/kept';
const DROPPED = '/run/dropped';

/** The variables that a shell sets, through which the platform may run a command. */
const SET_BY_SHELLS = ['PWD', 'SHLVL', '_'];

const started = once(async (account) => probe(account, 'main').start(OPTIONS));

/** Returns the output of a program in the container of the exec checks. */
async function printed(account: Account, ...argv: string[]): Promise<string> {
  await started(account);
  const { stdout, error } = await probe(account, 'main').exec(...argv);
  if (stdout === undefined) throw new Error(error);
  return stdout.trimEnd();
}

/** Takes a snapshot of a container, and starts another one from it. */
const snapshotted = once(async (account) => {
  const source = probe(account, 'source');
  await source.start(OPTIONS);
  await source.exec('/bin/sh', '-c', `echo 1 >${KEPT}; echo 1 >${DROPPED}`);
  const taken = await timed(() => source.snapshot());
  const target = probe(account, 'target');
  const restored = await timed(async () => {
    await target.start({ containerSnapshot: { id: taken.result.id } });
    return target.exec('/bin/sh', '-c', `for f in ${KEPT} ${DROPPED}; do [ ! -e $f ] || echo $f; done`);
  });
  const { stdout, error } = restored.result;
  if (stdout === undefined) throw new Error(error);
  const files = stdout.split('\n');
  return { files, takenMs: taken.milliseconds, startedMs: restored.milliseconds };
});

/** The checks of containers. */
export const PLATFORM: Check[] = [
  {
    name: 'start-returns-running',
    assumption: '`running` is true as soon as `start` returns.',
    expected: true,
    observe: started,
  },
  {
    name: 'start-twice',
    assumption: '`start` fails while the container runs.',
    expected: 'fails',
    observe: async (account) => {
      await started(account);
      return typeof (await probe(account, 'main').start(OPTIONS)) === 'string' ? 'fails' : 'succeeds';
    },
  },
  {
    name: 'start-labels',
    assumption: '`inspect` returns the labels of `start`.',
    expected: 'label',
    observe: async (account) => {
      await printed(account, 'true');
      return (await probe(account, 'main').inspect())?.labels?.['account-check'] ?? null;
    },
  },
  {
    name: 'exec-environment',
    assumption: '`exec` passes `PATH` and its own variables only, not those of `start`.',
    expected: ['PATH'],
    observe: async (account) => {
      const names = (await printed(account, 'env')).split('\n').map((line) => line.split('=')[0] ?? '');
      return names.filter((name) => !SET_BY_SHELLS.includes(name));
    },
  },
  {
    name: 'exec-directory',
    assumption: '`exec` begins in `/`.',
    expected: '/',
    observe: (account) => printed(account, 'pwd'),
  },
  {
    name: 'exec-missing-program',
    assumption: '`exec` fails if the image does not have the program.',
    expected: 'fails',
    observe: async (account) => {
      await started(account);
      const { error } = await probe(account, 'main').exec('no-such-program');
      return error === undefined ? 'succeeds' : 'fails';
    },
  },
  {
    name: 'snapshot-files',
    assumption: 'A snapshot of the platform has the whole disk, except `/run`.',
    expected: [KEPT],
    observe: async (account) => (await snapshotted(account)).files.filter(Boolean),
  },
  {
    name: 'snapshot-time',
    assumption: 'A snapshot of the platform takes a few seconds.',
    expected: new AtMost(10_000),
    observe: async (account) => (await snapshotted(account)).takenMs,
  },
  {
    name: 'snapshot-start-time',
    assumption: 'A start from a snapshot of the platform takes a few seconds.',
    expected: new AtMost(10_000),
    observe: async (account) => (await snapshotted(account)).startedMs,
  },
  {
    name: 'monitor-after-destroy',
    assumption: '`monitor` resolves after `destroy`.',
    expected: 'resolved',
    observe: async (account) => {
      const ended = probe(account, 'ended');
      await ended.start(OPTIONS);
      await ended.exec('true');
      return ended.end();
    },
  },
];

/** The check of the inactivity timeout, which takes minutes. */
export const INACTIVITY: Check = {
  name: 'inactivity',
  assumption: 'A container ends after its inactivity timeout, counted from when its object leaves memory.',
  expected: false,
  observe: async (account) => {
    const idle = probe(account, 'idle');
    await idle.start(OPTIONS);
    await idle.exec('true');
    await idle.limitInactivity(INACTIVITY_MS);
    await setTimeout(INACTIVITY_LIMIT_MS, undefined, { signal: account.interruption.signal });
    return idle.running();
  },
};

/** Returns a container of the platform. */
function probe(account: Account, what: string) {
  const id = account.own(what);
  const call = <T>(method: string, ...args: unknown[]) => account.call<T>('probe', id, method, ...args);
  return {
    start: (options: object) => call<boolean | string>('start', options),
    exec: (...argv: string[]) => call<Ran>('exec', argv),
    inspect: () => call<{ labels?: Record<string, string> } | null>('inspect'),
    running: () => call<boolean>('running'),
    snapshot: () => call<{ id: string; size: number }>('snapshot'),
    limitInactivity: (milliseconds: number) => call<null>('limitInactivity', milliseconds),
    end: () => call<Monitored>('end'),
  };
}
