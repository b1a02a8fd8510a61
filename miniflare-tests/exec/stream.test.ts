// Commands whose output is read while they run, over HTTP and over RPC.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';

import { http, SnapshotterClient, type ExecEvent } from '../../client/src/index.ts';
import { TOKEN, until, World } from '../world.ts';

const MIB = 1024 * 1024;

let world: World;
let client: SnapshotterClient;

before(async () => {
  world = await World.start({ snapshotter: { port: 0 } });
  client = new SnapshotterClient(http({ url: (await world.url('/')).href, token: TOKEN }));
  await world.exec('box', 'echo x > file');
});
after(() => world[Symbol.asyncDispose]());

const gone = (file: string) =>
  until(
    async () => (await world.exec('box', `kill -0 "$(cat ${file})" 2>/dev/null || echo gone`)) === 'gone\n',
  );

/** Returns `count` MiB of parts that differ, and their hash. */
function parts(count: number): { hash: string; stream: ReadableStream<Uint8Array> } {
  const hash = createHash('sha256');
  const all = Array.from({ length: count }, (_, index) => Buffer.alloc(MIB, `${index} \xff\0`, 'latin1'));
  for (const part of all) hash.update(part);
  return { hash: hash.digest('hex'), stream: ReadableStream.from(all) as ReadableStream<Uint8Array> };
}

test('the output arrives while the command runs', async () => {
  const command = 'echo first; until [ -e next ]; do sleep 0.05; done; printf second >&2; exit 3';
  const events: [string, unknown][] = [];
  for await (const event of await client.execStream({ sandboxId: 'box', command })) {
    events.push([event.type, event.type === 'exit' ? event.exitCode : Buffer.from(event.data).toString()]);
    if (events.length === 1) await world.exec('box', 'touch next');
  }
  assert.deepEqual(events, [
    ['stdout', 'first\n'],
    ['stderr', 'second'],
    ['exit', 3],
  ]);
});

test('the events arrive over RPC', async () => {
  const events = await world.execStream({ sandboxId: 'box', command: 'cat; exit 3', stdin: 'input\n' });
  const [output, { durationMs, ...exit }] = events;
  assert.deepEqual([output.type, output.data], ['stdout', 'input\n']);
  assert.deepEqual(exit, { type: 'exit', sandboxId: 'box', exitCode: 3 });
  assert.ok(durationMs >= 0);
});

test('an input of 100 MB arrives completely', async () => {
  const { hash, stream } = parts(100);
  const argv = ['sha256sum'];
  let output = '';
  for await (const event of await client.execStream({
    sandboxId: 'box',
    argv,
    stdin: stream,
    timeoutSeconds: 600,
  }))
    if (event.type === 'stdout') output += Buffer.from(event.data).toString();
  assert.equal(output, `${hash}  -\n`);
  assert.equal(await world.exec('box', 'ls /run | grep -c sandbox-snapshotter.input || true'), '0\n');
});

test('an output of 100 MB arrives completely', async () => {
  const command = `head -c ${100 * MIB} /dev/urandom | tee >(sha256sum > sum)`;
  const hash = createHash('sha256');
  let [bytes, exit]: [number, ExecEvent | undefined] = [0, undefined];
  for await (const event of await client.execStream({ sandboxId: 'box', command, timeoutSeconds: 600 })) {
    if (event.type === 'exit') exit = event;
    else {
      hash.update(event.data);
      bytes += event.data.length;
    }
  }
  assert.equal(bytes, 100 * MIB);
  assert.equal(exit?.type === 'exit' && exit.exitCode, 0);
  assert.equal(await world.exec('box', 'cat sum'), `${hash.digest('hex')}  -\n`);
});

test('a command whose client disconnects is killed', async () => {
  const command = 'echo $$ > pid.disconnected; echo begun; exec sleep 600';
  const controller = new AbortController();
  const stream = await client.execStream({ sandboxId: 'box', command, signal: controller.signal });
  await assert.rejects(
    async () => {
      for await (const event of stream) if (event.type === 'stdout') controller.abort();
    },
    { code: 'ABORTED' },
  );
  await gone('pid.disconnected');
});

test('a command is killed where the iteration ends', async () => {
  const command = 'echo $$ > pid.cancelled; echo begun; exec sleep 600';
  for await (const event of await client.execStream({ sandboxId: 'box', command }))
    if (event.type === 'stdout') break;
  await gone('pid.cancelled');
});

test('a command whose stream is cancelled over RPC is killed', async () => {
  const command = 'echo $$ > pid.rpc; echo begun; exec sleep 600';
  assert.equal((await world.execStream({ sandboxId: 'box', command }, true)).length, 1);
  await gone('pid.rpc');
});

test('a container that is killed ends the stream with an error', async () => {
  const stream = await client.execStream({ sandboxId: 'killed', command: 'true' }).catch((error) => error);
  assert.equal(stream.code, 'SANDBOX_NOT_RUNNING');
  await world.exec('killed', 'echo x > file');
  const running = await client.execStream({ sandboxId: 'killed', command: 'echo begun; sleep 600' });
  await assert.rejects(
    async () => {
      for await (const event of running) if (event.type === 'stdout') await world.kill('killed');
    },
    { code: 'OPERATION_INTERRUPTED' },
  );
});

test('a container that ends in the middle of an input is reported, and no other one is started', async () => {
  await world.exec('half', 'echo x > file');
  const container = `ls /run/sandbox-snapshotter.input.* 2>/dev/null | wc -l`;
  const input = (async function* () {
    yield Buffer.alloc(3 * MIB);
    await until(async () => (await world.exec('half', container)) === '1\n');
    await world.kill('half');
    yield Buffer.alloc(3 * MIB);
  })();
  const stdin = ReadableStream.from(input) as ReadableStream<Uint8Array>;
  await assert.rejects(client.execStream({ sandboxId: 'half', argv: ['wc', '-c'], stdin }), {
    code: 'OPERATION_INTERRUPTED',
    message: /The container ended before the input did/,
  });
  const stream = await client.execStream({ sandboxId: 'half', command: 'true' }).catch((error) => error);
  assert.equal(stream.code, 'SANDBOX_NOT_RUNNING');
});

test('options in the URL are checked', async () => {
  const post = async (query: string) => {
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      accept: 'text/event-stream',
      'content-type': 'application/octet-stream',
    };
    const response = await fetch(await world.url(`/v1/exec${query}`), { method: 'POST', headers, body: 'x' });
    return ((await response.json()) as { code: string }).code;
  };
  assert.equal(await post(''), 'INVALID_ARGUMENT');
  assert.equal(await post('?options=7'), 'INVALID_ARGUMENT');
  const options = JSON.stringify({ sandboxId: 'box', command: 'cat', stdin: 'twice' });
  assert.equal(await post(`?${new URLSearchParams({ options })}`), 'INVALID_ARGUMENT');
});

test('a stream needs the token', async () => {
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json' };
  const body = JSON.stringify({ sandboxId: 'box', command: 'touch intruder' });
  const response = await fetch(await world.url('/v1/exec'), { method: 'POST', headers, body });
  assert.equal(response.status, 401);
  assert.equal(await world.exec('box', 'ls intruder 2>/dev/null || echo none'), 'none\n');
});
