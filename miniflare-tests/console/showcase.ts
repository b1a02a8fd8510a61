// A world with an example of everything that the console shows.

import { until, type World } from '../world.ts';

/** The ids of its sandboxes. */
export interface Showcase {
  /** The root of the lineage. */
  origin: string;
  /** A restored sandbox with a snapshot of its own. */
  restored: string;
  /** A running sandbox that was branched. */
  branch: string;
}

/** Fills a world with a lineage whose root belongs to a named workspace, and with more workspaces. */
export async function fillShowcase(world: World): Promise<Showcase> {
  const { sandboxId: origin } = await world.workspace('checkout-agent').create();
  const write = (id: string, kB: number) => world.exec(id, `head -c ${kB}000 /dev/urandom >data; date >>log`);
  await write(origin, 90);
  const base = await world.snapshot(origin, { label: 'base image' });
  await world.rpc('pin', { ref: base });
  await write(origin, 240);
  const upgrade = await world.snapshot(origin, { label: 'before the upgrade' });
  const restored = (await world.restore(upgrade)).ref.sandboxId;
  await write(restored, 310);
  const green = await world.snapshot(restored, { label: 'tests are green' });
  const branch = (await world.branch(green)).ref.sandboxId;
  const other = (await world.branch(green)).ref.sandboxId;
  await write(other, 150);
  await world.snapshot(other, { label: 'httpx instead', expirationSeconds: 3 * 86_400 });
  await world.sandbox(other, 'destroy');
  const deleted = await world.snapshot(origin, { label: 'wrong turn' });
  const orphan = (await world.restore(deleted)).ref.sandboxId;
  await world.snapshot(orphan, { label: 'recovered' });
  await world.sandbox(orphan, 'destroy');
  await world.rpc('delete', { ref: deleted, force: true });
  await write(origin, 260);
  await world.snapshot(origin, { label: 'nightly', expirationSeconds: 7 * 86_400 });

  await world.workspace('notebook').create();
  await world.workspace('notebook').exec('echo ideas >ideas.txt');
  await world.workspace('notebook').stop();
  await world.workspace('docs-bot').create();
  await until(async () => (await world.rpc('workspaces/list', {})).workspaces.length === 3);
  return { origin, restored, branch };
}
