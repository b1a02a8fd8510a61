// Platform snapshots as a storage of a workspace.

import { codeOf, type Account } from './account.ts';
import { AtMost, once, Skipped, timed, type Check } from './check.ts';
import { differences, listFiles, MAKE } from './files.ts';
import { START_LIMIT_MS } from './main-job.ts';

/** The longest expected stop with an archive and a platform snapshot, in milliseconds. */
const STOP_LIMIT_MS = 60_000;

/** A file outside of the directory of the workspace, which only a platform snapshot has. */
const OUTSIDE = '/etc/outside';

/** Stops a workspace with the storage `both`, and starts it again. */
const resumed = once(async (account) => {
  if (!account.runtimes.includes('container'))
    throw new Skipped('The Worker of the check is not bound to the runtime container.');
  const { workspaces } = account.client;
  const name = account.workspace('both');
  const create = workspaces.create({ name, storage: 'both', ...account.choice('container') });
  if ((await codeOf(create)) === 'UNSUPPORTED')
    throw new Skipped(
      'The container of the class has no `images` in its wrangler.toml. docs/platform-snapshots.md shows them.',
    );
  const { sandboxId } = await create;
  await account.exec('container', sandboxId, `${MAKE} && echo 1 >${OUTSIDE}`);
  const list = async (id: string) =>
    `${await listFiles(account, 'container', id)}\n${await account.exec('container', id, `ls ${OUTSIDE} || true`)}`;
  const before = await list(sandboxId);
  const stopped = await timed(() => workspaces.stop({ name }));
  const started = await timed(() => workspaces.start({ name }));
  return {
    storage: started.result.restoredFrom?.storage ?? stopped.result.platformFailure,
    files: differences(before, await list(started.result.sandboxId)),
    stopMs: stopped.milliseconds,
    startMs: started.milliseconds,
  };
});

/** The checks of a class that selects the image of its containers. */
export const STORAGE: Check[] = [
  {
    name: 'storage-used',
    assumption: 'The start of a workspace with the storage `both` restores the platform snapshot.',
    expected: 'platform',
    observe: async (account: Account) => (await resumed(account)).storage,
  },
  {
    name: 'storage-files',
    assumption: 'It has its files, and those outside of the directory of the workspace.',
    expected: [],
    observe: async (account: Account) => (await resumed(account)).files,
  },
  {
    name: 'storage-stop-time',
    assumption: 'Its stop takes an archive and a platform snapshot in seconds.',
    expected: new AtMost(STOP_LIMIT_MS),
    observe: async (account: Account) => (await resumed(account)).stopMs,
  },
  {
    name: 'storage-start-time',
    assumption: 'Its start takes seconds.',
    expected: new AtMost(START_LIMIT_MS),
    observe: async (account: Account) => (await resumed(account)).startMs,
  },
];
