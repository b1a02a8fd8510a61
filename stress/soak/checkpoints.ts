// The operations on checkpoints.

import type { Actor } from './actor.ts';
import { PRUNE } from '../tree.ts';
import type { CheckpointPage } from '../../client/src/index.ts';

/** Creates a checkpoint, changes files, and restores it. */
export async function checkpoint(actor: Actor) {
  const { root, random } = actor;
  const options = { sandboxId: root.id, name: `point-${random.below(5)}` };
  await actor.environment.world.exec(root.id, PRUNE);
  root.tree = root.tree.pruned;
  const before = root.tree;
  await actor.call('checkpoints/create', options);
  const { checkpoints }: CheckpointPage = await actor.call('checkpoints/list', { sandboxId: root.id });
  if (!checkpoints.some(({ name }) => name === options.name))
    actor.violation(`${options.name} is not listed`);
  await actor.write(root);
  const { diff } = await actor.call('checkpoints/diff', options);
  actor.equal(diff.includes('state'), true, 'whether the diff contains a changed file');
  if (random.chance(0.3)) return;
  await actor.call('checkpoints/restore', options);
  await actor.environment.world.exec(root.id, PRUNE);
  root.tree = before;
  await actor.compare(root, 'a sandbox after the restore of a checkpoint');
}
