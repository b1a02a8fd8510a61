// A world with something of everything that the console shows.

import { until, type World } from '../world.ts';

/** What is in it, by its role. */
export interface Showcase {
  /** The sandbox that all of it grew from. */
  origin: string;
  /** A sandbox that was restored, and has a snapshot of its own. */
  restored: string;
  /** A sandbox that was branched, and runs. */
  branch: string;
}

/** Fills a world: a lineage with a named workspace at its root, and some workspaces beside it. */
export async function fill(world: World): Promise<Showcase> {
  const { sandboxId: origin } = await world.workspace('checkout-agent').create();
  const write = (id: string, kB: number) => world.exec(id, `head -c ${kB}000 /dev/urandom >data; date >>log`);
  await write(origin, 90);
  const base = await world.snapshot(origin, { label: 'base image' });
  await world.rpc('pin', { ref: base });
  await write(origin, 240);
  const tried = await world.snapshot(origin, { label: 'before the upgrade' });
  const restored = (await world.restore(tried)).ref.sandboxId;
  await write(restored, 310);
  const second = await world.snapshot(restored, { label: 'tests are green' });
  const branch = (await world.branch(second)).ref.sandboxId;
  const other = (await world.branch(second)).ref.sandboxId;
  await write(other, 150);
  await world.snapshot(other, { label: 'httpx instead', expirationSeconds: 3 * 86_400 });
  await world.sandbox(other, 'destroy');
  const gone = await world.snapshot(origin, { label: 'wrong turn' });
  const rescued = (await world.restore(gone)).ref.sandboxId;
  await world.snapshot(rescued, { label: 'rescued' });
  await world.sandbox(rescued, 'destroy');
  await world.rpc('delete', { ref: gone, force: true });
  await write(origin, 260);
  await world.snapshot(origin, { label: 'nightly', expirationSeconds: 7 * 86_400 });

  await world.workspace('notebook').create();
  await world.workspace('notebook').exec('echo ideas >ideas.txt');
  await world.workspace('notebook').stop();
  await world.workspace('docs-bot').create();
  await until(async () => (await world.rpc('workspaces/list', {})).workspaces.length === 3);
  return { origin, restored, branch };
}
