// A model at work: it sees the tools, and what they answer, and nothing else. A script stands in for it, which picks refs
// out of earlier answers as a model does: out of the data, or out of the text where a program shows its model only that.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

/** What a tool answers. */
interface Result {
  content: { type: 'text'; text: string }[];
  structuredContent?: any;
  isError?: boolean;
}

/** How a model finds what it needs in an answer. */
interface Reading {
  /** The ref of a snapshot or a workspace that was made. */
  ref(result: Result): any;
  /** The refs of the snapshots in a list, by their labels. */
  listed(result: Result): Record<string, any>;
}

const textOf = ({ content }: Result) => content.map(({ text }) => text).join('\n');

/** The lines of a text that are JSON. */
const lines = (result: Result) =>
  textOf(result)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

const byLabel = (snapshots: { label: string; ref: any }[]) =>
  Object.fromEntries(snapshots.map(({ label, ref }) => [label, ref]));

const READINGS: Record<string, Reading> = {
  data: {
    ref: ({ structuredContent }) => structuredContent.ref,
    listed: ({ structuredContent }) => byLabel(structuredContent.snapshots),
  },
  // Here refs are passed on as text too, as models do that write their arguments themselves.
  text: {
    ref: (result) => JSON.stringify(lines(result).at(-1)),
    listed: (result) => byLabel(lines(result)),
  },
};

/** The application around a model: it offers the tools, and one of its own that runs a command in a workspace. */
class Harness {
  readonly #world: World;
  readonly #declared: object;
  readonly #sandboxId: string;

  constructor(world: World, sandboxId: string) {
    this.#world = world;
    this.#sandboxId = sandboxId;
    this.#declared = { workspaces: [{ name: 'work', snapshot: true, sandboxId }], style: 'flat' };
  }

  /** The names of the tools. */
  async offered(): Promise<string[]> {
    const { tools } = await this.#world.rpc('tools/list', this.#declared);
    return tools.map(({ name }: { name: string }) => name);
  }

  call(name: string, args: object = {}): Promise<Result> {
    return this.#world.rpc('tools/call', { ...this.#declared, name, arguments: args });
  }

  /** Runs a command in the workspace that a ref says, or else in the first one. */
  exec(command: string, workspace?: any): Promise<string> {
    const ref = typeof workspace === 'string' ? JSON.parse(workspace) : workspace;
    return this.#world.exec(ref?.ref.sandboxId ?? this.#sandboxId, command);
  }
}

/** A model with a way to read. It notes which tools it has used. */
class Model {
  readonly #harness: Harness;
  readonly #reading: Reading;
  readonly used = new Set<string>();

  constructor(harness: Harness, reading: Reading) {
    this.#harness = harness;
    this.#reading = reading;
  }

  run = (command: string, workspace?: any) => this.#harness.exec(command, workspace);

  /** Calls a tool that must succeed. */
  async use(name: string, args: object = {}): Promise<Result> {
    this.used.add(name);
    const result = await this.#harness.call(name, args);
    assert.ok(!result.isError, textOf(result));
    return result;
  }

  /** What it reads of a tool's answer. */
  async read(name: string, args: object = {}): Promise<string> {
    return textOf(await this.use(name, args));
  }

  /** The ref that a tool answers. */
  async make(name: string, args: object = {}): Promise<any> {
    return this.#reading.ref(await this.use(name, args));
  }

  async list(args: object = {}): Promise<Record<string, any>> {
    return this.#reading.listed(await this.use('workspace_list', args));
  }

  /** What a tool that fails tells it. */
  async fails(name: string, args: object = {}): Promise<string> {
    const result = await this.#harness.call(name, args);
    assert.equal(result.isError, true);
    return textOf(result);
  }
}

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

for (const [what, reading] of Object.entries(READINGS)) {
  describe(`a model that reads the ${what}`, () => {
    test('goes back, goes on, tries another way and tidies up, with the tools alone', async () => {
      const harness = new Harness(world, `agent-${what}`);
      const model = new Model(harness, reading);

      // It makes something, keeps it, and breaks it.
      await model.run('mkdir src; echo good > src/app; echo notes > notes');
      const good = await model.make('workspace_snapshot', { label: 'good' });
      await model.run('rm -r src; echo broken > notes');

      // It goes back, and goes on in the new workspace. What it broke is still there, and still broken.
      const second = await model.make('workspace_restore', { ref: good });
      assert.equal(await model.run('cat src/app notes', second), 'good\nnotes\n');
      assert.equal(await model.run('ls; cat notes'), 'notes\nbroken\n');

      // It tries something risky there, sees what that has changed, and takes it back in place.
      const inSecond = { workspace: second };
      const made = await model.read('snapshot_create', {
        ...inSecond,
        name: 'before',
        description: 'all fine',
      });
      assert.match(made, /^snapshot before created: [0-9a-f]{40}$/);
      await model.run('echo worse > src/app; echo new > src/extra; rm notes', second);
      const diff = await model.read('snapshot_diff', { ...inSecond, name: 'before' });
      assert.match(diff, /^-good\n\+worse$/m);
      assert.match(diff, /^\+new$/m);
      assert.equal(
        await model.read('snapshot_restore', { ...inSecond, name: 'before' }),
        'restored snapshot before (3 file(s) changed):\nnotes\nsrc/app\nsrc/extra',
      );
      assert.equal(await model.run('find * -type f | sort; cat src/app', second), 'notes\nsrc/app\ngood\n');
      assert.match(
        await model.read('snapshot_list', inSecond),
        /^before\t[0-9a-f]{12}\t\S+\+00:00\tall fine$/,
      );

      // It goes on, keeps that, and finds both snapshots: each by the workspace that it is of.
      await model.run('echo better > src/app', second);
      await model.use('workspace_snapshot', { ...inSecond, label: 'better' });
      const { better } = await model.list(inSecond);
      assert.deepEqual(Object.keys(await model.list()), ['good']);

      // It tries two ways from there. None knows of the other.
      const [left, right] = [
        await model.make('workspace_branch', { ref: better }),
        await model.make('workspace_branch', { ref: better }),
      ];
      await model.run('echo left >> src/app', left);
      await model.run('echo right >> src/app', right);
      assert.equal(await model.run('cat src/app', left), 'better\nleft\n');
      assert.equal(await model.run('cat src/app', right), 'better\nright\n');
      assert.equal(await model.run('cat src/app', second), 'better\n');

      // It wants to tidy up, is told what still needs the snapshot, sees to that, and can't go back to it from now on.
      assert.match(await model.fails('workspace_delete', { ref: better }), /SNAPSHOT_HAS_DEPENDENTS/);
      for (const workspace of [left, right]) await model.use('workspace_snapshot', { workspace });
      assert.match(await model.read('workspace_delete', { ref: better }), /^Deleted the snapshot snap-/);
      assert.match(await model.fails('workspace_restore', { ref: better }), /SNAPSHOT_NOT_FOUND/);
      assert.match(await model.read('workspace_delete', { ref: better }), /gone already/);

      assert.deepEqual([...model.used].sort(), (await harness.offered()).sort());
    });

    test('is told what it did wrong, and does it right', async () => {
      const model = new Model(new Harness(world, `confused-${what}`), reading);
      await model.run('echo x > file');
      assert.match(await model.fails('workspace_restore'), /`ref` is missing/);
      assert.match(await model.fails('workspace_restore', { ref: 'the one before' }), /INVALID_REF/);
      assert.match(await model.fails('snapshot_restore', { name: 'before' }), /"before".*not found/);
      const ref = await model.make('workspace_snapshot');
      const workspace = await model.make('workspace_restore', { ref });
      assert.match(await model.fails('workspace_restore', { ref: workspace }), /INVALID_REF/);
      assert.equal(await model.run('cat file', workspace), 'x\n');
    });
  });
}
