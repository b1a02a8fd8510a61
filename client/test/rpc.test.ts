// The transports over a service binding: RPC and fetch.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { rpc, service, type ServiceOptions } from '../src/index.ts';
import { clientOver, failure, inSequence, problem, rpcError } from './fakes.ts';

type Method = (options: Record<string, unknown>) => Promise<unknown>;

/** Creates a fake binding whose RPC methods call `method`. Records its calls over RPC and over fetch. */
function fakeBinding(method: Method | undefined, ...overFetch: unknown[]) {
  const called: [string, unknown][] = [];
  const fetched: { url: string; init: RequestInit }[] = [];
  const as = (name: string) =>
    method &&
    ((options: Record<string, unknown>) => {
      called.push([name, options]);
      return method(options);
    });
  const next = inSequence(overFetch);
  const binding = {
    list: as('list'),
    snapshot: as('snapshot'),
    rotateKey: as('rotateKey'),
    execStream: as('execStream'),
    'workspaces/create': as('workspaces/create'),
    fetch: async (url: string, init: RequestInit = {}) => {
      fetched.push({ url, init });
      return (await next(undefined)) as Response;
    },
  };
  return { binding, called, fetched };
}

const uncloneable = (message: string) => new DOMException(message, 'DataCloneError');
const missing = Object.assign(new TypeError('The RPC receiver does not implement the method "list".'), {
  remote: true,
});
const throwing = (error: Error) => async () => {
  throw error;
};

describe('over RPC', () => {
  test('an operation is the method of its name', async () => {
    const { binding, called } = fakeBinding(async () => 'answer');
    const { client } = clientOver(rpc(binding));
    assert.equal(await client.list({ sandboxId: 'x' }), 'answer');
    await client.workspaces.create({ name: 'n', idempotencyKey: 'k' });
    assert.deepEqual(called, [
      ['list', { sandboxId: 'x' }],
      ['workspaces/create', { name: 'n', idempotencyKey: 'k' }],
    ]);
  });

  test('a signal is passed', async () => {
    const { binding, called } = fakeBinding(async () => 'answer');
    const { signal } = new AbortController();
    await clientOver(rpc(binding)).client.list({ sandboxId: 'x', signal });
    assert.deepEqual(called, [['list', { sandboxId: 'x', signal }]]);
  });

  const refusal = 'AbortSignal serialization is not enabled.';
  for (const [who, refused] of Object.entries({
    'the platform': uncloneable(refusal),
    'the proxy of `wrangler dev`': Object.assign(new Error(refusal), { remote: true }),
  })) {
    test(`calls are sent without a signal after ${who} has refused one`, async () => {
      const { binding, called } = fakeBinding(async ({ signal }) => {
        if (signal) throw refused;
        return 'answer';
      });
      const { client } = clientOver(rpc(binding), { retry: false });
      const { signal } = new AbortController();
      assert.equal(await client.list({ sandboxId: 'x', signal }), 'answer');
      assert.equal(await client.list({ sandboxId: 'y', signal }), 'answer');
      assert.deepEqual(
        called.map(([, options]) => options),
        [{ sandboxId: 'x', signal }, { sandboxId: 'x' }, { sandboxId: 'y' }],
      );
    });

    test(`a command with a stream starts without a signal after ${who} has refused one`, async () => {
      const { binding, called } = fakeBinding(async ({ signal }) => {
        if (signal) throw refused;
        return new Response('').body;
      });
      const { signal } = new AbortController();
      await clientOver(rpc(binding)).client.execStream({ sandboxId: 'x', command: 'ls', signal });
      assert.deepEqual(
        called.map(([, options]) => 'signal' in (options as object)),
        [true, false],
      );
    });
  }

  test('a missing binding is refused before the first call, with what to add', () => {
    const env = {} as { SNAPSHOTTER: ReturnType<typeof fakeBinding>['binding'] };
    for (const transport of [rpc, service])
      assert.throws(() => transport(env.SNAPSHOTTER), {
        name: 'SnapshotterError',
        code: 'INVALID_ARGUMENT',
        message: /binding is missing.*\[\[services\]\].*sandbox-snapshotter/,
      });
  });

  test('a Worker that does not run on this machine is unreachable: nothing was sent', async () => {
    const text = 'Worker "sandbox-snapshotter" not found. Make sure it is running locally.';
    const { binding } = fakeBinding(throwing(new Error(text)));
    const { client } = clientOver(rpc(binding), { retry: false });
    const { code, message } = await failure(client.snapshot({ sandboxId: 'x' }));
    assert.equal(code, 'SERVICE_UNREACHABLE');
    assert.ok(message.includes('Worker "sandbox-snapshotter" not found'), message);
  });

  test('options that cannot be serialized are INVALID_ARGUMENT', async () => {
    const { binding, called } = fakeBinding(throwing(uncloneable('Symbol(x) could not be cloned.')));
    const { signal } = new AbortController();
    const { code, kind } = await failure(clientOver(rpc(binding)).client.list({ sandboxId: 'x', signal }));
    assert.deepEqual([code, kind, called.length], ['INVALID_ARGUMENT', 'permanent', 1]);
  });

  const CASES: Record<string, [Method | undefined, string]> = {
    'a Worker with a compatibility date before RPC': [undefined, 'RPC_UNSUPPORTED'],
    'another Worker': [throwing(missing), 'RPC_UNSUPPORTED'],
    'a lost connection': [throwing(new Error('Network connection lost.')), 'ANSWER_LOST'],
    'a crash of the platform': [throwing(new Error('internal error; reference = abc')), 'ANSWER_LOST'],
    'an error of the Worker outside of an operation': [
      throwing(Object.assign(new Error('boom'), { remote: true })),
      'ANSWER_LOST',
    ],
    'an error of the snapshotter': [
      throwing(rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict')),
      'SNAPSHOT_HAS_DEPENDENTS',
    ],
  };
  for (const [what, [method, code]] of Object.entries(CASES)) {
    test(`${what} is ${code}`, async () => {
      const { client } = clientOver(rpc(fakeBinding(method).binding), { retry: false });
      assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, code);
    });
  }
});

describe('over a service binding', () => {
  const answer = () => Response.json('over fetch');

  function over(method: Method | undefined, options: ServiceOptions = {}, ...overFetch: unknown[]) {
    const parts = fakeBinding(method, ...(overFetch.length > 0 ? overFetch : [answer]));
    const transport = () => service(parts.binding, { token: 'secret', ...options });
    const { client } = clientOver(transport(), { retry: false });
    return { ...parts, client, transport };
  }

  test('RPC is used if it works', async () => {
    const { client, fetched } = over(async () => 'over RPC');
    assert.equal(await client.list({ sandboxId: 'x' }), 'over RPC');
    assert.deepEqual(fetched, []);
  });

  for (const [what, method] of Object.entries({
    'RPC is not available': undefined,
    'the RPC method is missing': throwing(missing),
    'RPC loses the answer': throwing(new Error('internal error; reference = abc')),
  })) {
    test(`fetch is used with the token if ${what}`, async () => {
      const { client, fetched } = over(method);
      assert.equal(await client.list({ sandboxId: 'x' }), 'over fetch');
      assert.equal(fetched[0]?.url, 'https://snapshotter/v1/list');
      assert.equal(new Headers(fetched[0]?.init.headers).get('authorization'), 'Bearer secret');
    });
  }

  test('an error of the snapshotter over RPC is not repeated over fetch', async () => {
    const { client, fetched } = over(throwing(rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict')));
    assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'SNAPSHOT_HAS_DEPENDENTS');
    assert.deepEqual(fetched, []);
  });

  test('a call with a key is repeated over fetch with the same key after a lost answer', async () => {
    const { client, called, fetched } = over(throwing(new Error('Network connection lost.')));
    await client.snapshot({ sandboxId: 'x' });
    assert.deepEqual(called, [['snapshot', { sandboxId: 'x', idempotencyKey: 'key-1' }]]);
    assert.equal(fetched[0]?.init.body, '{"sandboxId":"x","idempotencyKey":"key-1"}');
  });

  test('a call that is not repeatable is not repeated after a lost answer, and the next call uses fetch', async () => {
    const { client, called, fetched } = over(throwing(new Error('Network connection lost.')));
    assert.equal((await failure(client.rotateKey({ sandboxId: 'x' }))).code, 'ANSWER_LOST');
    assert.deepEqual(fetched, []);
    await client.rotateKey({ sandboxId: 'x' });
    assert.deepEqual([called.length, fetched.length], [1, 1]);
  });

  test('a call that had no effect is always repeated over fetch', async () => {
    const { client, fetched } = over(throwing(missing));
    await client.rotateKey({ sandboxId: 'x' });
    assert.equal(fetched.length, 1);
  });

  test('all clients of the binding avoid RPC for a time after it failed', async () => {
    let time = 0;
    const { client, called, transport } = over(throwing(missing), { avoidMs: 1000, now: () => time });
    const calls = async (by = client) => {
      await by.list({ sandboxId: 'x' });
      return called.length;
    };
    assert.equal(await calls(), 1);
    time = 999;
    assert.equal(await calls(), 1);
    assert.equal(await calls(clientOver(transport()).client), 1);
    time = 1000;
    assert.equal(await calls(), 2);
  });

  test('an aborted call is not repeated over fetch', async () => {
    const controller = new AbortController();
    const lost = async () => {
      controller.abort();
      throw new Error('Network connection lost.');
    };
    const { transport, fetched } = over(lost);
    const call = { operation: 'list', options: {}, signal: controller.signal, repeatable: true } as const;
    await failure(transport().send(call));
    assert.deepEqual(fetched, []);
  });

  test('an error over fetch is the error of the call', async () => {
    const failed = () => Response.json(problem('UNAUTHORIZED', 'policy_denied'), { status: 401 });
    const { client } = over(undefined, {}, failed);
    assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'UNAUTHORIZED');
  });

  test('only RPC is used without a token, and the error names the option', async () => {
    const { binding, fetched } = fakeBinding(throwing(missing));
    const error = await failure(clientOver(service(binding)).client.list({ sandboxId: 'x' }));
    assert.equal(error.code, 'RPC_UNSUPPORTED');
    assert.match(error.remediation, /`token`/);
    assert.deepEqual(fetched, []);
  });
});
