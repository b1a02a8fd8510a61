// Failures during operations: the error names the cause, and nothing remains.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import { PUBLISHED_CLASS, isArchiving, isUnpacking, isUploading, World } from './world.ts';
import type { SnapshotRef } from '../client/src/index.ts';
import type { Thrown } from './caller/steps.ts';

interface Call {
  sandboxId: string;
  method: string;
  command?: string;
}

let world: World;
let onCall: ((call: Call) => Promise<void>) | undefined;
let origins = 0;
let origin: string;
let initial: { objects: string[]; running: string[] };

before(async () => {
  world = await World.start({ onCall: (call) => onCall?.(call) });
});
after(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  origin = `origin-${++origins}`;
  await world.exec(origin, 'head -c 100000 /dev/urandom > file');
});
afterEach(() => {
  onCall = undefined;
});

/** Records the objects and running sandboxes, which must be the same after a failure. */
async function recordState() {
  initial = { objects: await world.objects(), running: world.running() };
}

/** Asserts that a call fails, and leaves no new object and no new running sandbox. */
async function assertFailsWithoutEffects(call: Promise<unknown>): Promise<Thrown> {
  const error = await world.failure(call);
  assert.deepEqual(await world.objects(), initial.objects);
  assert.deepEqual(
    world.running().filter((id) => !initial.running.includes(id)),
    [],
  );
  return error;
}

/** Kills the container before each call that matches. */
function killAt(matches: (call: Call) => boolean, times = Infinity) {
  onCall = async (call) => {
    if (matches(call) && times-- > 0) await world.killByObjectId(call.sandboxId);
  };
}

describe('a snapshot', () => {
  beforeEach(recordState);

  test('of a stopped sandbox is refused, and the sandbox stays stopped', async () => {
    await world.sandbox(origin, 'destroy');
    const error = await assertFailsWithoutEffects(world.snapshot(origin));
    assert.equal(error.code, 'SANDBOX_NOT_RUNNING');
    assert.ok(!world.running().includes(await world.objectId(origin)));
  });

  test('of a stopped sandbox is taken with wake', async () => {
    await world.sandbox(origin, 'destroy');
    const ref = await world.snapshot(origin, { wake: true });
    const workspace = await world.restore(ref);
    assert.equal(await world.exec(workspace.ref.sandboxId, 'ls -A'), '');
  });

  test('of a sandbox whose container was just killed is refused', async () => {
    await world.kill(origin);
    const error = await assertFailsWithoutEffects(world.snapshot(origin));
    assert.ok(['SANDBOX_NOT_RUNNING', 'SANDBOX_REPLACED'].includes(error.code ?? ''), error.message);
  });

  for (const [at, matches] of Object.entries({
    'while it creates the archive': isArchiving,
    'while it uploads the archive': isUploading,
  })) {
    test(`whose container is killed ${at} is refused`, async () => {
      killAt(matches);
      const error = await assertFailsWithoutEffects(world.snapshot(origin));
      assert.equal(error.code, 'SANDBOX_REPLACED', error.message);
      assert.ok(error.cause, 'the error has its cause');
    });
  }

  test('whose container is killed at its start is refused', async () => {
    killAt(({ method }) => method === (PUBLISHED_CLASS ? 'utils.createSession' : 'container.exec'), 1);
    const error = await assertFailsWithoutEffects(world.snapshot(origin));
    assert.ok(['SANDBOX_REPLACED', 'BACKUP_INTERRUPTED'].includes(error.code ?? ''), error.message);
    assert.equal(error.retryable, false, 'a retry could capture an empty sandbox');
  });

  test('of a sandbox whose container ended without a report is refused without wake', async () => {
    const persist = await mkdtemp(join(tmpdir(), 'world-'));
    try {
      {
        await using first = await World.start({ persist });
        await first.exec('agent', 'echo work > file');
      }
      await using second = await World.start({ persist });
      const { status } = await second.sandbox('agent', 'getState');
      // The published class still reports the sandbox as running.
      assert.equal(status, PUBLISHED_CLASS ? 'healthy' : 'stopped');
      for (const call of ['first', 'second']) {
        const error = await second.failure(second.snapshot('agent'));
        const expected = PUBLISHED_CLASS ? 'SANDBOX_REPLACED' : 'SANDBOX_NOT_RUNNING';
        assert.equal(error.code, expected, `${call} call: ${error.message}`);
      }
      assert.deepEqual(await second.objects(), []);
      await second.snapshot('agent', { wake: true });
      await second.snapshot('agent');
    } finally {
      await rm(persist, { recursive: true });
    }
  });

  for (const [what, make] of Object.entries({
    'that is missing': 'true',
    'that is a file': 'touch dir',
    'that is a symbolic link': 'mkdir real && echo x > real/file && ln -s real dir',
    'behind a symbolic link': 'ln -s / up && ln -s up/etc dir',
  })) {
    test(`of a directory ${what} is refused`, async () => {
      await world.exec(origin, make);
      const error = await assertFailsWithoutEffects(world.snapshot(origin, { dir: '/workspace/dir' }));
      assert.equal(error.code, 'INVALID_DIRECTORY');
    });
  }

  test('that fails in the sandbox reports the cause', async () => {
    onCall = async (call) => {
      if (isArchiving(call)) throw new Error('the disk is full');
    };
    const error = await assertFailsWithoutEffects(world.snapshot(origin));
    assert.equal(error.code, 'BACKUP_FAILED');
    assert.match(error.cause?.message ?? '', /the disk is full/);
  });
});

describe('a restore', () => {
  let ref: SnapshotRef;
  const archive = () => `backups/${ref.ref.backup.id}/data.sqsh`;
  const metadata = () => `backups/${ref.ref.backup.id}/meta.json`;

  beforeEach(async () => {
    ref = await world.snapshot(origin);
    await recordState();
  });

  test('whose container is killed once succeeds', async () => {
    killAt(isUnpacking, 1);
    const workspace = await world.restore(ref);
    assert.equal(
      await world.exec(workspace.ref.sandboxId, 'sha256sum file'),
      await world.exec(origin, 'sha256sum file'),
    );
  });

  test('whose container is killed each time fails, and leaves no sandbox', async () => {
    killAt(isUnpacking);
    const error = await assertFailsWithoutEffects(world.restore(ref));
    assert.equal(error.code, 'OPERATION_INTERRUPTED', error.message);
    assert.match(error.message, /The new sandbox "origin-\d+-restored-[a-z0-9]{8}" was destroyed/);
    assert.equal(error.retryable, true);
  });

  test('of a small snapshot whose container is killed at its end has the files', async () => {
    await world.exec('small', 'echo x > file');
    const small = await world.snapshot('small');
    let unpacked = false;
    killAt((call) => {
      if (PUBLISHED_CLASS) return call.method === 'utils.deleteSession';
      if (unpacked) return true;
      unpacked = isUnpacking(call);
      return false;
    }, 1);
    const workspace = await world.restore(small);
    assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'x\n');
  });

  // The other class unpacks and deletes an archive in one command.
  if (PUBLISHED_CLASS)
    test("of a small snapshot whose container is killed during the SDK's cleanup has the files", async () => {
      await world.exec('small', 'echo x > file');
      const small = await world.snapshot('small');
      killAt(({ command }) => command?.startsWith("rm -f '/var/backups/") ?? false, 1);
      const workspace = await world.restore(small);
      assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'x\n');
    });

  test('from a deleted backup fails with BACKUP_NOT_FOUND', async () => {
    await world.delete(archive());
    await world.delete(metadata());
    await recordState();
    const error = await assertFailsWithoutEffects(world.restore(ref));
    assert.deepEqual([error.code, error.kind], ['BACKUP_NOT_FOUND', 'not_found']);
  });

  for (const [what, key] of [
    ['archive', archive],
    ['metadata', metadata],
  ] as const) {
    test(`from a backup whose ${what} was deleted is refused`, async () => {
      await world.delete(key());
      await recordState();
      const error = await assertFailsWithoutEffects(world.restore(ref));
      assert.equal(error.code, 'BACKUP_INCOMPLETE');
      assert.ok(error.message.includes(`its ${what} is missing`), error.message);
    });
  }

  test('from an archive of another size is refused', async () => {
    await world.write(archive(), 'short');
    const error = await assertFailsWithoutEffects(world.restore(ref));
    assert.equal(error.code, 'BACKUP_INCOMPLETE');
  });

  test('from an archive that was overwritten is refused', async () => {
    const { sizeBytes } = JSON.parse((await world.read(metadata())) ?? '');
    await world.write(archive(), 'x'.repeat(sizeBytes));
    const error = await assertFailsWithoutEffects(world.restore(ref));
    assert.equal(error.code, 'BACKUP_INCOMPLETE');
    assert.match(error.message, /checksum/);
  });

  test('from an invalid archive fails, and leaves no sandbox', async () => {
    const backup = await world.backUp(origin);
    const { sizeBytes } = JSON.parse((await world.read(`backups/${backup.id}/meta.json`)) ?? '');
    await world.write(`backups/${backup.id}/data.sqsh`, 'x'.repeat(sizeBytes));
    const broken = await world.rpc('import', { sandboxId: origin, backup });
    await recordState();
    const error = await assertFailsWithoutEffects(world.restore(broken));
    // The class of the client compares the SHA-256 of the archive.
    assert.equal(error.code, PUBLISHED_CLASS ? 'RESTORE_FAILED' : 'BACKUP_INCOMPLETE');
  });

  test('from an expired backup is refused', async () => {
    const recorded = JSON.parse((await world.read(metadata())) ?? '');
    await world.write(metadata(), JSON.stringify({ ...recorded, ttl: 30 }));
    const error = await assertFailsWithoutEffects(world.restore(ref));
    assert.deepEqual([error.code, error.kind], ['BACKUP_EXPIRED', 'not_found']);
  });

  test('does not need the origin', async () => {
    await world.sandbox(origin, 'destroy');
    const workspace = await world.restore(ref);
    assert.equal(await world.exec(workspace.ref.sandboxId, 'wc -c < file'), '100000\n');
  });
});

describe('an error of the SDK', () => {
  const DATES = {
    'of the present compatibility date': '2026-10-01',
    'of an older compatibility date': '2026-01-01',
  };
  for (const [sandboxDate, sandboxCompatibility] of Object.entries(DATES)) {
    for (const [snapshotterDate, snapshotterCompatibility] of Object.entries(DATES)) {
      test(`has the same code with a sandbox Worker ${sandboxDate} and a snapshotter ${snapshotterDate}`, async () => {
        await using world = await World.start({
          mode: 'local', // The environment has no credentials.
          sandboxesOf: 'application',
          caller: { compatibilityDate: sandboxCompatibility },
          snapshotter: { compatibilityDate: snapshotterCompatibility, vars: { LOCAL_BUCKET: 'false' } },
        });
        await world.exec('origin', 'echo x > file');
        const { status, body } = await world.fetch('/v1/snapshot', { body: '{"sandboxId":"origin"}' });
        assert.deepEqual([status, body.code], [500, 'BACKUP_CONFIG_INVALID'], body.message);
      });
    }
  }
});
