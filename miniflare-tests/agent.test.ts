// The example agents of the demo, one for each runtime of sandboxes.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { startLocal, type Local } from '../scripts/local.ts';
import { exampleOf, RUNTIMES, type Runtime } from '../scripts/runtimes.ts';
import type { StoppedWorkspace } from '../client/src/index.ts';
import type { Attempt, Best, Change, Output } from '../examples/shared/answers.ts';

const TOKEN = 'the token of the agent';
const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

/** Starts the example agent of a runtime. */
function startExample(
  runtime: Runtime,
  vars: Record<string, string> = { AGENT_TOKEN: TOKEN },
): Promise<Local> {
  const { agent, snapshotter, mode } = exampleOf(runtime);
  return startLocal({ workers: [{ ...agent, vars }, snapshotter], mode });
}

describe('a request', () => {
  let local: Local;
  before(async () => {
    local = await startExample('sdk-0.12');
  });
  after(() => local.close());

  /** Returns the status of a response. The request must not start a sandbox. */
  async function sendRefused(
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

  test('of a web page of another origin runs no command', async () => {
    const run = 'http://127.0.0.1:8788/victim/run';
    // Requests that a page can send without a preflight request: they have no `Authorization` header.
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const headers = { origin: 'https://attacker.example', 'content-type': type };
      assert.equal(await sendRefused(run, { method: 'POST', headers, body }), 401, type);
    }
    // Other requests need a preflight request, which is refused.
    const headers = {
      origin: 'https://attacker.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type',
    };
    assert.equal(await sendRefused(run, { method: 'OPTIONS', headers }), 401);
  });

  test('of a web page whose host name resolves to this machine runs no command, and receives no sandbox id', async () => {
    const host = 'http://attacker.example:8788';
    const headers = { origin: host, 'content-type': 'application/json' };
    assert.equal(await sendRefused(`${host}/victim/run`, { method: 'POST', headers, body }), 401);
    assert.equal(await sendRefused(`${host}/victim`, {}), 401);
  });

  test('with a wrong token is refused', async () => {
    for (const authorization of [`Bearer ${TOKEN}x`, 'Bearer ', `Basic ${TOKEN}`, TOKEN]) {
      const headers = { ...HEADERS, authorization };
      assert.equal(
        await sendRefused('http://agent/victim/run', { method: 'POST', headers, body }),
        401,
        authorization,
      );
    }
  });

  test('with an invalid body, method or route is refused', async () => {
    const run = 'http://agent/victim/run';
    const text = { ...HEADERS, 'content-type': 'text/plain' };
    assert.equal(await sendRefused(run, { method: 'POST', headers: text, body }), 415);
    for (const body of ['', '{', '"ls"', '{"command": "ls"}'])
      assert.equal(await sendRefused(run, { method: 'POST', headers: HEADERS, body }), 400, body);
    assert.equal(await sendRefused(run, { headers: HEADERS }), 405);
    assert.equal(
      await sendRefused('http://agent/victim/unknown', { method: 'POST', headers: HEADERS, body }),
      404,
    );
  });

  test('is refused by an agent without a configured token', async () => {
    await using closed = await startExample('sdk-0.12', {});
    for (const headers of [HEADERS, { ...HEADERS, authorization: 'Bearer ' }]) {
      const init = { method: 'POST', headers, body };
      const response = await closed.miniflare.dispatchFetch('http://agent/victim/run', init);
      assert.equal(response.status, 503);
      assert.match(await response.text(), /AGENT_TOKEN/);
    }
    assert.deepEqual(closed.engine.running(), []);
  });
});

for (const runtime of RUNTIMES) {
  describe(`an agent with sandboxes of the runtime ${runtime}`, () => {
    let local: Local;
    before(async () => {
      local = await startExample(runtime);
    });
    after(() => local.close());

    async function call<T>(agent: string, method: string, ...list: unknown[]): Promise<T> {
      const init = { method: 'POST', headers: HEADERS, body: JSON.stringify(list) };
      const response = await local.miniflare.dispatchFetch(`http://agent/${agent}/${method}`, init);
      return (await response.json()) as T;
    }

    /** Runs a command, and returns its output without the last newline, which the SDK 0.12 removes. */
    async function run(agent: string, command: string): Promise<string> {
      return (await call<Output>(agent, 'run', command)).stdout.trimEnd();
    }

    test('whose risky command fails continues in a new sandbox with the previous files', async () => {
      await run('risky', 'echo good > file');
      const { restoredSandboxId } = await call<Attempt>('risky', 'attempt', 'echo bad > file; false');
      const { sandboxId, stdout } = await call<Output>('risky', 'run', 'cat file');
      assert.match(sandboxId, /^agent-risky-restored-[a-z0-9]{8}$/);
      assert.deepEqual([sandboxId, stdout.trimEnd()], [restoredSandboxId, 'good']);
      assert.equal(local.engine.running().length, 1, 'its former sandbox has ended');
    });

    test('whose risky command ends its session continues in a new sandbox', async () => {
      await run('exits', 'echo good > file');
      const { restoredSandboxId } = await call<Attempt>('exits', 'attempt', 'rm file; exit 1');
      assert.match(restoredSandboxId ?? '', /^agent-exits-restored-/);
    });

    test('can restore its files repeatedly', async () => {
      await run('persistent', 'echo good > file');
      for (const attempt of ['first', 'second']) {
        const { restoredSandboxId } = await call<Attempt>('persistent', 'attempt', 'echo bad > file; false');
        assert.ok(restoredSandboxId, attempt);
      }
      assert.equal(await run('persistent', 'cat file'), 'good');
      assert.equal(
        (await call<Attempt>('persistent', 'attempt', 'echo better > file')).restoredSandboxId,
        undefined,
      );
      assert.equal(
        (await call<Attempt>('persistent', 'attempt', 'echo best > file')).restoredSandboxId,
        undefined,
      );
    });

    test('whose risky command succeeds stays in its sandbox', async () => {
      await run('lucky', 'echo good > file');
      assert.equal(
        (await call<Attempt>('lucky', 'attempt', 'echo better > file')).restoredSandboxId,
        undefined,
      );
      assert.equal(await run('lucky', 'cat file'), 'better');
    });

    test('whose small change fails reverts it in its sandbox', async () => {
      await run('tidy', 'echo good > file');
      const { revertedDiff } = await call<Change>(
        'tidy',
        'change',
        'echo bad > file; echo more > another; false',
      );
      assert.match(revertedDiff ?? '', /^-good$/m);
      const { sandboxId, stdout } = await call<Output>('tidy', 'run', 'cat *');
      assert.deepEqual([sandboxId, stdout.trimEnd()], ['agent-tidy', 'good']);
    });

    test('whose small change succeeds keeps it', async () => {
      await run('proud', 'echo good > file');
      assert.equal((await call<Change>('proud', 'change', 'echo better > file')).revertedDiff, undefined);
      assert.equal(await run('proud', 'cat file'), 'better');
    });

    test('explores several commands from one state, each in its own sandbox', async () => {
      await run('curious', 'echo start > file');
      const outputs = await call<Output[]>('curious', 'explore', [
        'echo one >> file; cat file',
        'echo two >> file; cat file',
      ]);
      assert.deepEqual(
        outputs.map(({ stdout }) => stdout.trimEnd()),
        ['start\none', 'start\ntwo'],
      );
      assert.equal(await run('curious', 'cat file'), 'start');
    });

    test('keeps the best of three attempts in a named workspace', async () => {
      await call('selective', 'runInWorkspace', 'draft', 'echo start > file');
      const { outputs, kept } = await call<Best>('selective', 'keepBest', 'draft', [
        'echo one >> file; false',
        'echo two >> file',
        'echo three >> file',
      ]);
      assert.deepEqual([outputs.map(({ exitCode }) => exitCode), kept], [[1, 0, 0], 1]);
      const { stdout } = await call<Output>('selective', 'runInWorkspace', 'draft', 'cat file');
      assert.equal(stdout.trimEnd(), 'start\ntwo');
    });

    test('continues a named workspace from the snapshot before a command that failed', async () => {
      await call('careful', 'runInWorkspace', 'book', 'echo good > file');
      const attempt = await call<Attempt>('careful', 'attemptInWorkspace', 'book', 'echo bad > file; false');
      assert.equal(attempt.output.exitCode, 1);
      const { stdout, sandboxId } = await call<Output>('careful', 'runInWorkspace', 'book', 'cat file');
      assert.deepEqual([stdout.trimEnd(), sandboxId], ['good', attempt.restoredSandboxId]);
      assert.notEqual(sandboxId, attempt.output.sandboxId);
    });

    test('keeps the files of a named workspace while it is stopped', async () => {
      await call('resting', 'runInWorkspace', 'notebook', 'echo idea > file');
      const { lastSnapshot } = await call<StoppedWorkspace>('resting', 'stopWorkspace', 'notebook');
      assert.ok(lastSnapshot);
      const { stdout } = await call<Output>('resting', 'runInWorkspace', 'notebook', 'cat file');
      assert.equal(stdout.trimEnd(), 'idea');
    });
  });
}
