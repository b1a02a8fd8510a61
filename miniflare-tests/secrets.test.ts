// Files with secrets: a real shell finds them, and a real archive leaves them out.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { PUBLISHED_CLASS, World } from './world.ts';

const KEY = '-----BEGIN OPENSSH PRIVATE KEY-----';

/** Files with secrets, and others. */
const SECRETS = ['.env', 'app/.env', 'deep/er/key.pem', 'src/config.js'];
const OTHERS = ['.env.example', 'app/index.js', 'src/main.js'];

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

async function createSandbox(id: string): Promise<void> {
  const make = [...SECRETS, ...OTHERS].map((file) => `mkdir -p "$(dirname ${file})"; echo x > ${file}`);
  await world.exec(id, [...make, `echo '${KEY}' >> src/config.js`, 'ln -s ../.env src/.env'].join('; '));
}

async function files(id: string): Promise<string[]> {
  const found = await world.exec(id, "find . ! -type d -printf '%P\\n'");
  return found.trim().split('\n').sort();
}

test('secrets are refused, kept or left out of the archive', async () => {
  await createSandbox('origin');
  const objects = await world.objects();
  const error = await world.failure(world.snapshot('origin', { secrets: 'refuse' }));
  assert.equal(error.code, 'SECRETS_FOUND');
  assert.ok(
    error.message.includes(': ".env", "app/.env", "deep/er/key.pem", "src/config.js".'),
    error.message,
  );
  assert.deepEqual(await world.objects(), objects);

  const kept = await world.snapshot('origin', { secrets: 'keep' });
  assert.deepEqual(kept.capture.secrets, { mode: 'keep', count: 4, paths: SECRETS, excluded: 0 });

  const taken = await world.snapshot('origin', { secrets: 'exclude' });
  // In the runtime of the SDK, the pattern for ".env" excludes the link, too. So it does for the one at the top elsewhere.
  const leftOut = [...SECRETS, 'src/.env'];
  assert.deepEqual(taken.capture.secrets, { mode: 'exclude', count: 4, paths: leftOut, excluded: 5 });
  const { ref, missing } = await world.restore(taken);
  assert.deepEqual(missing, leftOut);
  assert.deepEqual(await files(ref.sandboxId), OTHERS);
});

test('a file that only its content gives away is not left out together with others of its name', async () => {
  await world.exec('names', `mkdir a b; echo '${KEY}' > a/config; echo x > b/config`);
  if (PUBLISHED_CLASS) {
    const error = await world.failure(world.snapshot('names', { secrets: 'exclude' }));
    assert.equal(error.code, 'EXCLUDE_UNSUPPORTED');
    assert.ok(error.message.includes('"b/config"'), error.message);
  } else {
    const { ref } = await world.restore(await world.snapshot('names', { secrets: 'exclude' }));
    assert.deepEqual(await files(ref.sandboxId), ['b/config']);
  }
});
