// The freeze of a program that writes two files one after the other all the time, as a database does: they are equal only while
// it does not write.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { CallInterceptor, isArchiving } from './workspaces/calls.ts';
import { World } from './world.ts';

/** The program. It confirms with a file that it has stopped to write. */
const PROGRAM = `n=0; while :; do
  if [ -e /tmp/freeze ]; then : >/tmp/frozen; else rm -f /tmp/frozen; n=$((n + 1)); echo $n >table; sleep 0.02; echo $n >index; fi
done`;
const FREEZE = 'touch /tmp/freeze; until [ -e /tmp/frozen ]; do sleep 0.02; done';
const THAW = 'rm /tmp/freeze; echo "$USER_NAME" >>/tmp/thaws';

const calls = new CallInterceptor();
let world: World;
let count = 0;
let id: string;

before(async () => {
  world = await World.start({ onCall: calls.onCall });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  calls.reset();
  id = `database-${++count}`;
  await world.sandbox(id, 'setEnvVars', { USER_NAME: 'ann' });
  await world.exec(
    id,
    `setsid bash -c '${PROGRAM}' >/dev/null 2>&1 & until [ -e index ]; do sleep 0.02; done`,
  );
});

const snapshot = (freeze: object) =>
  world.rpc('snapshot', { sandboxId: id, freeze: { freeze: FREEZE, thaw: THAW, ...freeze } });

const thaws = () => world.exec(id, 'cat /tmp/thaws');

/** Waits until the program writes again. */
const awaitWrites = () =>
  world.exec(id, 'touch /tmp/now; until [ index -nt /tmp/now ]; do sleep 0.02; done; echo writes');

describe('a snapshot of a frozen program', () => {
  test('is consistent, and the program writes again', async () => {
    const { providerId, ref, capture } = await snapshot({});
    assert.deepEqual(capture.freeze, { consistent: true, thawed: true });
    assert.equal(capture.changedDuringCapture, false);
    await world.assertRestores({ providerId, ref }, 'cmp table index && echo equal', 'equal\n');
    assert.deepEqual([await awaitWrites(), await thaws()], ['writes\n', 'ann\n']);
  });

  test('is not consistent if the container thawed the files before its end', async () => {
    const { promise: thawed, resolve } = Promise.withResolvers<void>();
    calls.intercept(isArchiving, () => thawed, 1);
    const taking = snapshot({ timeoutSeconds: 5 });
    await world.exec(id, 'until [ -e /tmp/thaws ]; do sleep 0.02; done');
    resolve();
    assert.deepEqual((await taking).capture.freeze, { consistent: false, thawed: true });
    assert.equal(await thaws(), 'ann\n');
  });

  test('fails without a snapshot if the command fails or hangs', async () => {
    const failure = await world.failure(snapshot({ freeze: `${FREEZE}; echo broken; exit 3` }));
    assert.equal(failure.code, 'HOOK_FAILED');
    assert.match(failure.message, /exit code 3[^]*broken/);
    const hanging = await world.failure(snapshot({ freeze: `${FREEZE}; sleep 60`, timeoutSeconds: 2 }));
    assert.match(hanging.message, /`freeze`.* exceeded its time limit/);
    assert.deepEqual([await awaitWrites(), await thaws()], ['writes\n', 'ann\nann\n']);
    assert.deepEqual((await world.list(id)).snapshots, []);
  });
});
