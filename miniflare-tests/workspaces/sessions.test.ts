// An application uses its sandbox during a start. The next snapshot contains the files that it wrote in any session.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Thrown } from '../caller/steps.ts';
import { World } from '../world.ts';
import type { NamedWorkspace } from './named.ts';

/** The number of stops and starts of each workspace. */
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
  'a separate session': (id, command) => world.execIn(id, 'own', command),
};

/** The number of commands that succeeded during a start. */
let answered = 0;

/** Runs commands one after the other until `work` is done. A command may fail while a container ends. */
async function runDuring<T>(work: Promise<T>, run: () => Promise<unknown>): Promise<T> {
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

/** Starts a workspace while commands run in it. Commands before the container is ready may make the start fail; it is retried. */
async function start(workspace: NamedWorkspace, run: () => Promise<unknown>): Promise<void> {
  const started = workspace.start({ onDiverged: 'discard' });
  await runDuring(started, run).catch(async (error: Thrown) => {
    assert.ok(error.retryable, error.message);
    await start(workspace, run);
  });
}

/** Returns the output of a command. If its session was opened before the files arrived, the first call fails and is repeated. */
async function execWithRetry(run: Run, id: string, command: string): Promise<string> {
  return run(id, command).catch((error: Thrown) => {
    assert.match(error.name, /^Session/, error.message);
    return run(id, command);
  });
}

describe('files that are written after a start', () => {
  for (const [name, run] of Object.entries(sessions)) {
    test(`in ${name}, which was used during the start, are in the next snapshot`, async () => {
      const workspace = world.workspace(name.replaceAll(' ', '-'));
      await workspace.create({ env: { KEY: 'sesame' } });
      const id = await workspace.sandboxId();
      let files = '';
      answered = 0;
      for (let round = 100; round < 100 + ROUNDS; round++) {
        assert.equal(
          await execWithRetry(run, id, `ls; echo "$KEY" > file-${round}`),
          files,
          `round ${round}`,
        );
        files += `file-${round}\n`;
        await workspace.stop();
        await start(workspace, () => run(id, 'ls'));
      }
      assert.ok(answered > 0, 'at least one command must run during a start');
      assert.equal(await execWithRetry(run, id, 'ls'), files);
      assert.equal(await execWithRetry(run, id, 'cat file-* | sort -u'), 'sesame\n');
    });
  }
});
