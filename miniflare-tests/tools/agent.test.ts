// A workflow of a model that has the tools and their results only. A script replaces the model: it takes refs from the
// structured content of earlier results, or from their text, because some clients show their model the text only.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

/** The result of a tool. */
interface Result {
  content: { type: 'text'; text: string }[];
  structuredContent?: any;
  isError?: boolean;
}

/** How a model reads refs from a result. */
interface Format {
  /** Returns the ref of a created snapshot or workspace. */
  ref(result: Result): any;
  /** Returns the refs of the snapshots in a list, by their labels. */
  refsByLabel(result: Result): Record<string, any>;
}

const textOf = ({ content }: Result) => content.map(({ text }) => text).join('\n');

/** Returns the lines of a text that are JSON. */
const lines = (result: Result) =>
  textOf(result)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

const byLabel = (snapshots: { label: string; ref: any }[]) =>
  Object.fromEntries(snapshots.map(({ label, ref }) => [label, ref]));

const FORMATS: Record<string, Format> = {
  data: {
    ref: ({ structuredContent }) => structuredContent.ref,
    refsByLabel: ({ structuredContent }) => byLabel(structuredContent.snapshots),
  },
  // This format also passes refs as strings, as some models do.
  text: {
    ref: (result) => JSON.stringify(lines(result).at(-1)),
    refsByLabel: (result) => byLabel(lines(result)),
  },
};

/** An application with a model: it has the tools, and its own function that runs a command in a workspace. */
class Harness {
  readonly #world: World;
  readonly #declared: object;
  readonly #sandboxId: string;

  constructor(world: World, sandboxId: string) {
    this.#world = world;
    this.#sandboxId = sandboxId;
    this.#declared = { workspaces: [{ name: 'work', snapshot: true, sandboxId }], style: 'flat' };
  }

  /** Returns the names of the tools. */
  async toolNames(): Promise<string[]> {
    const { tools } = await this.#world.rpc('tools/list', this.#declared);
    return tools.map(({ name }: { name: string }) => name);
  }

  call(name: string, args: object = {}): Promise<Result> {
    return this.#world.rpc('tools/call', { ...this.#declared, name, arguments: args });
  }

  /** Runs a command in the workspace of a ref, or in the first workspace. */
  exec(command: string, workspace?: any): Promise<string> {
    const ref = typeof workspace === 'string' ? JSON.parse(workspace) : workspace;
    return this.#world.exec(ref?.ref.sandboxId ?? this.#sandboxId, command);
  }
}

/** A model with a format. It records the names of the tools that it called. */
class Model {
  readonly #harness: Harness;
  readonly #format: Format;
  readonly usedTools = new Set<string>();

  constructor(harness: Harness, format: Format) {
    this.#harness = harness;
    this.#format = format;
  }

  run = (command: string, workspace?: any) => this.#harness.exec(command, workspace);

  /** Calls a tool that must succeed. */
  async callTool(name: string, args: object = {}): Promise<Result> {
    this.usedTools.add(name);
    const result = await this.#harness.call(name, args);
    assert.ok(!result.isError, textOf(result));
    return result;
  }

  /** Calls a tool, and returns the text of the result. */
  async readText(name: string, args: object = {}): Promise<string> {
    return textOf(await this.callTool(name, args));
  }

  /** Calls a tool, and returns the ref in the result. */
  async callForRef(name: string, args: object = {}): Promise<any> {
    return this.#format.ref(await this.callTool(name, args));
  }

  async list(args: object = {}): Promise<Record<string, any>> {
    return this.#format.refsByLabel(await this.callTool('workspace_list', args));
  }

  /** Calls a tool that must fail, and returns the text of the error. */
  async callRefused(name: string, args: object = {}): Promise<string> {
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

for (const [what, format] of Object.entries(FORMATS)) {
  describe(`a model that reads results as ${what}`, () => {
    test('can restore, continue, branch and delete with the tools alone', async () => {
      const harness = new Harness(world, `agent-${what}`);
      const model = new Model(harness, format);

      // The model creates files, takes a snapshot, and breaks the files.
      await model.run('mkdir src; echo good > src/app; echo notes > notes');
      const good = await model.callForRef('workspace_snapshot', { label: 'good' });
      await model.run('rm -r src; echo broken > notes');

      // It restores the snapshot, and continues in the new workspace. The first workspace is unchanged.
      const second = await model.callForRef('workspace_restore', { ref: good });
      assert.equal(await model.run('cat src/app notes', second), 'good\nnotes\n');
      assert.equal(await model.run('ls; cat notes'), 'notes\nbroken\n');

      // It makes a risky change there, reads the difference, and reverts it in place.
      const inSecond = { workspace: second };
      const created = await model.readText('snapshot_create', {
        ...inSecond,
        name: 'before',
        description: 'good state',
      });
      assert.match(created, /^checkpoint before created: [0-9a-f]{40}$/);
      await model.run('echo worse > src/app; echo new > src/extra; rm notes', second);
      const diff = await model.readText('snapshot_diff', { ...inSecond, name: 'before' });
      assert.match(diff, /^-good\n\+worse$/m);
      assert.match(diff, /^\+new$/m);
      assert.equal(
        await model.readText('snapshot_restore', { ...inSecond, name: 'before' }),
        'restored checkpoint before (3 file(s) changed):\nnotes\nsrc/app\nsrc/extra',
      );
      assert.equal(await model.run('find * -type f | sort; cat src/app', second), 'notes\nsrc/app\ngood\n');
      assert.match(
        await model.readText('snapshot_list', inSecond),
        /^before\t[0-9a-f]{12}\t\S+\+00:00\tgood state$/,
      );

      // It continues, takes a snapshot, and lists both snapshots, each in its workspace.
      await model.run('echo better > src/app', second);
      await model.callTool('workspace_snapshot', { ...inSecond, label: 'better' });
      const { better } = await model.list(inSecond);
      assert.deepEqual(Object.keys(await model.list()), ['good']);

      // It creates two branches, which are independent.
      const [left, right] = [
        await model.callForRef('workspace_branch', { ref: better }),
        await model.callForRef('workspace_branch', { ref: better }),
      ];
      await model.run('echo left >> src/app', left);
      await model.run('echo right >> src/app', right);
      assert.equal(await model.run('cat src/app', left), 'better\nleft\n');
      assert.equal(await model.run('cat src/app', right), 'better\nright\n');
      assert.equal(await model.run('cat src/app', second), 'better\n');

      // The deletion of a snapshot with dependents is refused. After their own snapshots it succeeds, and the snapshot cannot
      // be restored.
      assert.match(await model.callRefused('workspace_delete', { ref: better }), /SNAPSHOT_HAS_DEPENDENTS/);
      for (const workspace of [left, right]) await model.callTool('workspace_snapshot', { workspace });
      assert.match(await model.readText('workspace_delete', { ref: better }), /^Deleted the snapshot snap-/);
      assert.match(await model.callRefused('workspace_restore', { ref: better }), /SNAPSHOT_NOT_FOUND/);
      assert.match(await model.readText('workspace_delete', { ref: better }), /was deleted before/);

      assert.deepEqual([...model.usedTools].sort(), (await harness.toolNames()).sort());
    });

    test('can correct a refused call', async () => {
      const model = new Model(new Harness(world, `corrected-${what}`), format);
      await model.run('echo x > file');
      assert.match(await model.callRefused('workspace_restore'), /`ref` is missing/);
      assert.match(
        await model.callRefused('workspace_restore', { ref: 'the previous one' }),
        /SNAPSHOT_NOT_FOUND/,
      );
      assert.match(await model.callRefused('snapshot_restore', { name: 'before' }), /"before".*not found/);
      const ref = await model.callForRef('workspace_snapshot');
      const workspace = await model.callForRef('workspace_restore', { ref });
      assert.match(await model.callRefused('workspace_restore', { ref: workspace }), /INVALID_REF/);
      assert.equal(await model.run('cat file', workspace), 'x\n');
    });
  });
}
