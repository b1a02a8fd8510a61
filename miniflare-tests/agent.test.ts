// The example agent, as the demo runs it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { AGENT, SNAPSHOTTER, startLocal, type Local } from '../scripts/local.ts';
import type { Attempt, Change, Output } from '../examples/agent/src/answers.ts';

const TOKEN = 'the token of the agent';
const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

let local: Local;
before(async () => {
  local = await startLocal({
    workers: [{ config: AGENT, vars: { AGENT_TOKEN: TOKEN } }, { config: SNAPSHOTTER }],
  });
});
after(() => local.close());

async function ask<T>(agent: string, method: string, ...list: unknown[]): Promise<T> {
  const init = { method: 'POST', headers: HEADERS, body: JSON.stringify(list) };
  const response = await local.miniflare.dispatchFetch(`http://agent/${agent}/${method}`, init);
  return (await response.json()) as T;
}

/** The status of the answer to a request, which must start no sandbox. */
async function refused(
  url: string,
  init: { method?: string; headers?: Record<string, string>; body?: string },
) {
  const running = local.engine.running();
  const response = await local.miniflare.dispatchFetch(url, init);
  await response.text();
  assert.deepEqual(local.engine.running(), running, 'no sandbox starts');
  return response.status;
}

const body = '["touch /workspace/was-here"]';

test('a web page of another origin runs no command', async () => {
  const run = 'http://127.0.0.1:8788/victim/run';
  // What a page can send without asking first: it carries no `Authorization`.
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const headers = { origin: 'https://attacker.example', 'content-type': type };
    assert.equal(await refused(run, { method: 'POST', headers, body }), 401, type);
  }
  // For more it has to ask, and is not allowed.
  const headers = {
    origin: 'https://attacker.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, content-type',
  };
  assert.equal(await refused(run, { method: 'OPTIONS', headers }), 401);
});

test('a web page whose name is resolved to this machine runs no command, and learns no sandbox', async () => {
  const host = 'http://attacker.example:8788';
  const headers = { origin: host, 'content-type': 'application/json' };
  assert.equal(await refused(`${host}/victim/run`, { method: 'POST', headers, body }), 401);
  assert.equal(await refused(`${host}/victim`, {}), 401);
});

test('a wrong token opens nothing', async () => {
  for (const authorization of [`Bearer ${TOKEN}x`, 'Bearer ', `Basic ${TOKEN}`, TOKEN]) {
    const headers = { ...HEADERS, authorization };
    assert.equal(
      await refused('http://agent/victim/run', { method: 'POST', headers, body }),
      401,
      authorization,
    );
  }
});

test('what is no list in JSON, for no method or by another one, is refused', async () => {
  const run = 'http://agent/victim/run';
  const text = { ...HEADERS, 'content-type': 'text/plain' };
  assert.equal(await refused(run, { method: 'POST', headers: text, body }), 415);
  for (const body of ['', '{', '"ls"', '{"command": "ls"}'])
    assert.equal(await refused(run, { method: 'POST', headers: HEADERS, body }), 400, body);
  assert.equal(await refused(run, { headers: HEADERS }), 405);
  assert.equal(await refused('http://agent/victim/stroll', { method: 'POST', headers: HEADERS, body }), 404);
});

test('an agent without a token is closed', async () => {
  await using closed = await startLocal({ workers: [{ config: AGENT }, { config: SNAPSHOTTER }] });
  for (const headers of [HEADERS, { ...HEADERS, authorization: 'Bearer ' }]) {
    const init = { method: 'POST', headers, body };
    const response = await closed.miniflare.dispatchFetch('http://agent/victim/run', init);
    assert.equal(response.status, 503);
    assert.match(await response.text(), /AGENT_TOKEN/);
  }
  assert.deepEqual(closed.engine.running(), []);
});

test('an agent whose risky command fails goes on in a new sandbox with the files from before', async () => {
  await ask('risky', 'run', 'echo good > file');
  const { wentBackTo } = await ask<Attempt>('risky', 'attempt', 'echo bad > file; false');
  const { sandboxId, stdout } = await ask<Output>('risky', 'run', 'cat file');
  assert.match(sandboxId, /^agent-risky-restored-[a-z0-9]{8}$/);
  assert.deepEqual([sandboxId, stdout], [wentBackTo, 'good']);
  assert.equal(local.engine.running().length, 1, 'the sandbox that it left is ended');
});

test('an agent whose risky command ends its session goes back too', async () => {
  await ask('exits', 'run', 'echo good > file');
  const { wentBackTo } = await ask<Attempt>('exits', 'attempt', 'rm file; exit 1');
  assert.match(wentBackTo ?? '', /^agent-exits-restored-/);
});

test('an agent goes back as often as it has to', async () => {
  await ask('persistent', 'run', 'echo good > file');
  for (const attempt of ['first', 'second']) {
    const { wentBackTo } = await ask<Attempt>('persistent', 'attempt', 'echo bad > file; false');
    assert.ok(wentBackTo, attempt);
  }
  assert.equal((await ask<Output>('persistent', 'run', 'cat file')).stdout, 'good');
  assert.equal((await ask<Attempt>('persistent', 'attempt', 'echo better > file')).wentBackTo, undefined);
  assert.equal((await ask<Attempt>('persistent', 'attempt', 'echo best > file')).wentBackTo, undefined);
});

test('an agent whose risky command succeeds stays where it is', async () => {
  await ask('lucky', 'run', 'echo good > file');
  assert.equal((await ask<Attempt>('lucky', 'attempt', 'echo better > file')).wentBackTo, undefined);
  assert.equal((await ask<Output>('lucky', 'run', 'cat file')).stdout, 'better');
});

test('an agent whose small change fails undoes it where it is', async () => {
  await ask('tidy', 'run', 'echo good > file');
  const { undone } = await ask<Change>('tidy', 'change', 'echo bad > file; echo more > another; false');
  assert.match(undone ?? '', /^-good$/m);
  const { sandboxId, stdout } = await ask<Output>('tidy', 'run', 'cat *');
  assert.deepEqual([sandboxId, stdout], ['agent-tidy', 'good']);
});

test('an agent whose small change succeeds keeps it', async () => {
  await ask('proud', 'run', 'echo good > file');
  assert.equal((await ask<Change>('proud', 'change', 'echo better > file')).undone, undefined);
  assert.equal((await ask<Output>('proud', 'run', 'cat file')).stdout, 'better');
});

test('an agent explores several ways from one state, each in a sandbox of its own', async () => {
  await ask('curious', 'run', 'echo start > file');
  const ways = await ask<Output[]>('curious', 'explore', [
    'echo one >> file; cat file',
    'echo two >> file; cat file',
  ]);
  assert.deepEqual(
    ways.map(({ stdout }) => stdout),
    ['start\none', 'start\ntwo'],
  );
  assert.equal((await ask<Output>('curious', 'run', 'cat file')).stdout, 'start');
});
