// The migration of a workspace from the runtime `sdk-0.12` to `container`, and back.

import { once, Skipped, type Check } from './check.ts';
import type { Account } from './account.ts';
import { differences, listFiles, MAKE } from './files.ts';

/** Migrates a workspace with a snapshot to `container`, changes its files there, and migrates it back. */
const migrated = once(async (account) => {
  if (account.runtimes.length < 2)
    throw new Skipped(
      `The Worker of the check is bound to ${account.runtimes.join()} only, not to both runtimes.`,
    );
  const { client } = account;
  const name = account.workspace('migrated');
  const { sandboxId: id } = await client.workspaces.create({ name, runtime: 'sdk-0.12' });
  await account.exec('sdk-0.12', id, MAKE);
  const before = await listFiles(account, 'sdk-0.12', id);
  const ref = await client.snapshot({ sandboxId: id });

  await client.workspaces.migrate({ name, runtime: 'container' });
  const { sandboxId } = await client.workspaces.start({ name });
  const arrived = await listFiles(account, 'container', sandboxId);
  const restored = (await client.restore({ ref, runtime: 'container' })).ref.sandboxId;
  const ofSnapshot = await listFiles(account, 'container', restored);

  await account.exec('container', sandboxId, 'echo 1 >/workspace/new; rm /workspace/random');
  const changed = await listFiles(account, 'container', sandboxId);
  await client.workspaces.migrate({ name, runtime: 'sdk-0.12' });
  const back = await client.workspaces.start({ name });
  const returned = await listFiles(account, 'sdk-0.12', back.sandboxId);
  return { before, arrived, ofSnapshot, changed, returned };
});

/** The checks of a deployment with both runtimes. */
export const MIGRATION: Check[] = [
  {
    name: 'migration-files',
    assumption: 'A workspace that moves from `sdk-0.12` to `container` has its files.',
    expected: [],
    observe: async (account: Account) => {
      const { before, arrived } = await migrated(account);
      return differences(before, arrived);
    },
  },
  {
    name: 'migration-snapshots',
    assumption: 'A snapshot that was taken before the move restores in `container`.',
    expected: [],
    observe: async (account: Account) => {
      const { before, ofSnapshot } = await migrated(account);
      return differences(before, ofSnapshot);
    },
  },
  {
    name: 'migration-back',
    assumption: 'A workspace that moves back has its files, also those that changed in the meantime.',
    expected: [],
    observe: async (account: Account) => {
      const { changed, returned } = await migrated(account);
      return differences(changed, returned);
    },
  },
];
