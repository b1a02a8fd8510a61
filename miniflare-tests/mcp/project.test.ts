// A model that works on a small project over MCP alone, with the official client: it builds and tests the project, breaks it,
// goes back, tries three ways in parallel, and keeps the best. The model is a script: each step sees only the tools of the
// server and the results of earlier steps.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { Tool } from '@modelcontextprotocol/client';

import { World } from '../world.ts';
import { McpClient } from './mcp-client.ts';

let world: World;
before(async () => {
  world = await World.start({ snapshotter: { port: 0 } });
});
after(() => world[Symbol.asyncDispose]());

/** The result of a command, as a model reads it. */
interface CommandResult {
  exitCode: number;
  stdout: string;
  started?: object;
}

/** A workspace or a snapshot, which a model passes back unchanged. */
type Ref = object;

/** A model that has the tools of one workspace, and no other access to it. */
class ScriptedModel {
  readonly #mcp: McpClient;
  readonly #tools: Map<string, Tool>;
  /** The operations of the calls, in their order. */
  readonly calls: string[] = [];

  private constructor(mcp: McpClient, tools: Tool[]) {
    this.#mcp = mcp;
    this.#tools = new Map(tools.map((tool) => [tool.name.split('__').at(-1) ?? '', tool]));
  }

  static async connect(mcp: McpClient): Promise<ScriptedModel> {
    return new ScriptedModel(mcp, (await mcp.client.listTools()).tools);
  }

  /** Calls a tool by its operation. In another workspace than its own, if there is one. */
  async use(operation: string, args: Record<string, unknown> = {}, workspace?: Ref): Promise<any> {
    const tool = this.#tools.get(operation);
    assert.ok(tool, `the server offers the tool ${operation}`);
    this.calls.push(operation);
    return this.#mcp.data(tool.name, { ...args, ...(workspace && { workspace }) });
  }

  run(command: string, workspace?: Ref): Promise<CommandResult> {
    return this.use('exec', { command }, workspace);
  }

  write(path: string, content: string, workspace?: Ref): Promise<unknown> {
    return this.use('write_file', { path, content }, workspace);
  }
}

/** The test of the project: `sum` adds the numbers from 1 to its argument. It prints how many steps that took. */
const TEST = `
. src/sum.sh
steps=0
sum 10
[ "$result" = 55 ] || { echo "sum 10 is $result, expected 55"; exit 1; }
echo "ok in $steps steps"
`;

const sum = (body: string) => `sum() {\n${body}\n}\n`;

const WRONG = sum('  result=$(($1 * $1 / 2)) steps=1');
const LOOP = sum(
  '  result=0 i=1; while [ $i -le $1 ]; do result=$((result + i)) i=$((i + 1)) steps=$((steps + 1)); done',
);

/** Three ways to make the function faster. The second one is fast and wrong. */
const WAYS = [
  sum(
    '  result=0 i=$1; while [ $i -gt 0 ]; do result=$((result + i + i - 1)) i=$((i - 2)) steps=$((steps + 1)); done',
  ),
  sum('  result=$(($1 * $1)) steps=1'),
  sum('  result=$(($1 * ($1 + 1) / 2)) steps=1'),
];

test('a model builds, breaks and repairs a project, and keeps the best of three ways, over MCP alone', async () => {
  const name = 'project';
  await world.workspace(name).create();
  await using mcp = await McpClient.connect(await world.url(`/mcp?workspace=${name}&work=true`));
  const model = await ScriptedModel.connect(mcp);

  // It builds the project, and the test finds its mistake.
  await model.write('test.sh', TEST);
  await model.write('src/sum.sh', WRONG);
  const first = await model.run('sh test.sh');
  assert.deepEqual([first.exitCode, first.stdout.trim()], [1, 'sum 10 is 50, expected 55']);
  await model.write('src/sum.sh', LOOP);
  assert.equal((await model.run('sh test.sh')).stdout.trim(), 'ok in 10 steps');

  // It records the state, breaks the project, and goes back in place.
  await model.use('snapshot_create', { name: 'green', description: 'the test passes' });
  await model.run('rm -r src && echo "exit 3" > test.sh');
  assert.equal((await model.run('sh test.sh')).exitCode, 3);
  const { diff } = await model.use('snapshot_diff', { name: 'green' });
  assert.match(diff, /^deleted file mode/m);
  const { changed } = await model.use('snapshot_restore', { name: 'green' });
  assert.deepEqual(changed, ['src/sum.sh', 'test.sh']);
  assert.equal((await model.run('sh test.sh')).exitCode, 0);

  // It tries three ways at once, each in a branch of one snapshot.
  const green = await model.use('snapshot', { label: 'green' });
  const attempts = await Promise.all(
    WAYS.map(async (way, index) => {
      // A model may pass either form back.
      const { ref } = await model.use('branch', { ref: index === 0 ? green.ref : green.shortRef });
      await model.write('src/sum.sh', way, ref);
      const { exitCode, stdout } = await model.run('sh test.sh', ref);
      const steps = /^ok in (\d+) steps/.exec(stdout)?.[1];
      return { ref, exitCode, steps: steps === undefined ? Infinity : Number(steps) };
    }),
  );
  assert.deepEqual(
    attempts.map(({ exitCode, steps }) => [exitCode, steps]),
    [
      [0, 5],
      [1, Infinity],
      [0, 1],
    ],
  );

  // It keeps the best in a snapshot, and continues there. The snapshot alone is enough to have the files again.
  const best = attempts.toSorted((one, other) => one.steps - other.steps)[0];
  assert.ok(best);
  const kept = await model.use('snapshot', { label: 'fastest' }, best.ref);
  const { snapshots } = await model.use('list', {}, best.ref);
  assert.deepEqual(
    snapshots.map(({ label, restorable }: { label: string; restorable: string }) => [label, restorable]),
    [['fastest', 'yes']],
  );
  const again = await model.use('restore', { ref: kept.shortRef });
  assert.equal((await model.run('sh test.sh', again.ref)).stdout.trim(), 'ok in 1 steps');

  // Its own workspace is as it was before the attempts, also after it was stopped: the next command starts it.
  assert.equal((await model.run('sh test.sh')).stdout.trim(), 'ok in 10 steps');
  await world.workspace(name).stop();
  const resumed = await model.run('sh test.sh');
  assert.deepEqual([resumed.exitCode, resumed.stdout.trim()], [0, 'ok in 10 steps']);
  assert.ok(resumed.started, 'the answer says that the workspace was started');
  assert.equal(model.calls.length, 27);
});
