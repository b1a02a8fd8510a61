// What the snapshotter promises about sandboxes of a runtime, observed on the checked deployment.

import type { Runtime } from '../runtimes.ts';
import { codeOf, type Account } from './account.ts';
import { AtMost, once, timed, type Check } from './check.ts';
import { differences, listFiles, MAKE } from './files.ts';

/** Prints what the snapshotter and the class wrote into the container to recognize it, except for the files of checks for changes. */
const PRINT_MARKERS =
  'for file in /run/sandbox-snapshotter.*; do case $file in *.looked*) ;; *) cat "$file" ;; esac; done';

/** The longest expected start of a sandbox and of a workspace with few files, in milliseconds. */
export const START_LIMIT_MS = 30_000;

/** Returns the checks of a runtime. */
export function mainJob(runtime: Runtime): Check[] {
  const id = (account: Account) => account.own(`${runtime}-main`);
  const list = (account: Account, sandboxId: string) => listFiles(account, runtime, sandboxId);
  const check = (part: Check): Check => ({ ...part, name: `${runtime}: ${part.name}` });

  const started = once((account) => timed(() => account.exec(runtime, id(account), MAKE)));

  /** Takes a snapshot, restores it, and lists the files of both sandboxes. */
  const restored = once(async (account) => {
    await started(account);
    const before = await list(account, id(account));
    const ref = await account.client.snapshot({ sandboxId: id(account), ...account.choice(runtime) });
    const { sandboxId } = (await account.client.restore({ ref })).ref;
    return { ref, before, restored: await list(account, sandboxId), after: await list(account, id(account)) };
  });

  /** Stops a workspace, and starts it again. */
  const resumed = once(async (account) => {
    const name = account.workspace(`${runtime}-named`);
    const { sandboxId } = await account.client.workspaces.create({ name, ...account.choice(runtime) });
    await account.exec(runtime, sandboxId, MAKE);
    const before = await list(account, sandboxId);
    await account.client.workspaces.stop({ name });
    const { milliseconds, result } = await timed(() => account.client.workspaces.start({ name }));
    return { before, after: await list(account, result.sandboxId), milliseconds };
  });

  return [
    {
      name: 'sandbox-start-time',
      assumption: 'The first command in a new sandbox starts its container in seconds.',
      expected: new AtMost(START_LIMIT_MS),
      observe: async (account: Account) => (await started(account)).milliseconds,
    },
    {
      name: 'restore-equality',
      assumption: 'A restored sandbox has the captured files, with modes, times and links.',
      expected: [],
      observe: async (account: Account) => {
        const { before, restored: files } = await restored(account);
        return differences(before, files);
      },
    },
    {
      name: 'source-unchanged',
      assumption: 'A snapshot and a restore do not change the captured sandbox.',
      expected: [],
      observe: async (account: Account) => {
        const { before, after } = await restored(account);
        return differences(before, after);
      },
    },
    {
      name: 'archive-verified',
      assumption: 'The archive in R2 is complete.',
      expected: true,
      observe: async (account: Account) => {
        const { ref } = await restored(account);
        return (await account.client.verify({ ref })).ok;
      },
    },
    {
      name: 'branches-independent',
      assumption: 'Two branches of a snapshot do not change each other.',
      expected: ['one', 'two'],
      observe: async (account: Account) => {
        const { ref } = await restored(account);
        const write = async (text: string) => {
          const { sandboxId } = (await account.client.branch({ ref })).ref;
          await account.exec(runtime, sandboxId, `echo ${text} >/workspace/src/file`);
          return sandboxId;
        };
        const ids = await Promise.all(['one', 'two'].map(write));
        return Promise.all(ids.map((each) => account.exec(runtime, each, 'cat /workspace/src/file')));
      },
    },
    {
      name: 'marker-kept',
      assumption:
        'The marker of a container is kept while the container runs, so that it can be captured again.',
      expected: [],
      observe: async (account: Account) => {
        await restored(account);
        const before = await account.exec(runtime, id(account), PRINT_MARKERS);
        if (before === '') throw new Error('The container has no marker.');
        await account.client.snapshot({ sandboxId: id(account), fresh: true });
        return differences(before, await account.exec(runtime, id(account), PRINT_MARKERS));
      },
    },
    {
      name: 'ended-container-refused',
      assumption: 'A container that has ended is not captured as an empty one.',
      expected: 'SANDBOX_NOT_RUNNING',
      observe: async (account: Account) => {
        await restored(account);
        await account.call(runtime, id(account), 'destroy');
        return codeOf(account.client.snapshot({ sandboxId: id(account) }));
      },
    },
    {
      name: 'workspace-files',
      assumption: 'A stopped workspace has its files after its next start.',
      expected: [],
      observe: async (account: Account) => {
        const { before, after } = await resumed(account);
        return differences(before, after);
      },
    },
    {
      name: 'workspace-start-time',
      assumption: 'The start of a stopped workspace with few files takes seconds.',
      expected: new AtMost(START_LIMIT_MS),
      observe: async (account: Account) => (await resumed(account)).milliseconds,
    },
  ].map(check);
}
