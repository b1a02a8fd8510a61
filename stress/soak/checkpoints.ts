// What is done with checkpoints: made, gone back to, carried along by snapshots.

import type { Actor } from './actor.ts';
import { PRUNE } from '../tree.ts';
import type { Checkpoints } from '../../client/src/index.ts';

/** Makes a checkpoint, changes files, and goes back. */
export async function checkpoint(actor: Actor) {
  const { home, random } = actor;
  const options = { sandboxId: home.id, name: `point-${random.below(5)}` };
  await actor.stage.world.exec(home.id, PRUNE);
  home.tree = home.tree.pruned;
  const before = home.tree;
  await actor.call('checkpoints/create', options);
  const { checkpoints }: Checkpoints = await actor.call('checkpoints/list', { sandboxId: home.id });
  if (!checkpoints.some(({ name }) => name === options.name))
    actor.violation(`${options.name} is not listed`);
  await actor.write(home);
  const { diff } = await actor.call('checkpoints/diff', options);
  actor.same(diff.includes('state'), true, 'that the diff tells of a file that was changed');
  if (random.chance(0.3)) return;
  await actor.call('checkpoints/restore', options);
  await actor.stage.world.exec(home.id, PRUNE);
  home.tree = before;
  await actor.compare(home, 'a sandbox that went back to a checkpoint');
}
