// An application uses its sandbox while that is started: whatever session it works in then, its work is in the next snapshot.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Thrown } from '../caller/steps.ts';
import { World } from '../world.ts';
import type { Named } from './named.ts';

/** How often each workspace is stopped and started. */
const ROUNDS = Number(process.env['ROUNDS'] ?? 3);

let world: World;

before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** Runs a command in a session. */
type Run = (id: string, command: string) => Promise<string>;

const sessions: Record<string, Run> = {
  'the default session': (id, command) => world.exec(id, command),
  'a session of its own': (id, command) => world.execIn(id, 'own', command),
};

/** How many commands were answered while their workspace was started. */
let answered = 0;

/** Runs commands one after the other, until the work is done. Those that come while a container ends fail. */
async function during<T>(work: Promise<T>, run: () => Promise<unknown>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  done.catch(() => {});
  while (!isDone) {
    await run().then(
      () => (answered += 1),
      () => {},
    );
  }
  return done;
}

/** Starts a workspace. Whoever works in a sandbox that is not there yet may disturb that. */
async function start(workspace: Named, run: () => Promise<unknown>): Promise<void> {
  const started = workspace.start({ onDiverged: 'discard' });
  await during(started, run).catch(async (error: Thrown) => {
    assert.ok(error.retryable, error.message);
    await start(workspace, run);
  });
}

/** What a command prints. A session that was opened before the files were there has ended, and the first call says so. */
async function prints(run: Run, id: string, command: string): Promise<string> {
  return run(id, command).catch((error: Thrown) => {
    assert.match(error.name, /^Session/, error.message);
    return run(id, command);
  });
}

describe('work that is done after a start', () => {
  for (const [name, run] of Object.entries(sessions)) {
    test(`in ${name}, which was used all through the start, is in the next snapshot`, async () => {
      const workspace = world.workspace(name.replaceAll(' ', '-'));
      await workspace.create({ env: { KEY: 'sesame' } });
      const id = await workspace.sandboxId();
      let files = '';
      answered = 0;
      for (let round = 100; round < 100 + ROUNDS; round++) {
        assert.equal(await prints(run, id, `ls; echo "$KEY" > file-${round}`), files, `round ${round}`);
        files += `file-${round}\n`;
        await workspace.stop();
        await start(workspace, () => run(id, 'ls'));
      }
      assert.ok(answered > 0, 'no command was carried out during a start');
      assert.equal(await prints(run, id, 'ls'), files);
      assert.equal(await prints(run, id, 'cat file-* | sort -u'), 'sesame\n');
    });
  }
});
