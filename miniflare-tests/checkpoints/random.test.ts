// Random edits: a restore recovers exactly the files of the checkpoint, and leaves ignored files unchanged.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';
import { CheckpointDirectory } from './checkpoint-directory.ts';

const NAMES = ['a', 'b', 'c', 'd e', 'x.ign', 'y.ign'];
const isIgnored = (path: string) => path.split('/').some((name) => name.endsWith('.ign'));

/** Returns whether one path is a parent directory of the other. */
const collide = (one: string, other: string) => one.startsWith(`${other}/`) || other.startsWith(`${one}/`);

/** Returns a generator of pseudorandom numbers below a limit (mulberry32). */
function generator(seed: number): (limit: number) => number {
  return (limit) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/** Returns shell commands that create, change, replace and remove files. Some of them fail. */
function edits(below: (limit: number) => number): string {
  const name = () => NAMES[below(NAMES.length)]!;
  const edit = () => {
    const path = `'${Array.from({ length: 1 + below(3) }, name).join('/')}'`;
    const prepare = `{ mkdir -p "$(dirname ${path})" && rm -rf ${path}; } 2>/dev/null &&`;
    switch (below(6)) {
      case 0:
        return `rm -rf ${path}`;
      case 1:
        return `${prepare} ln -s '${name()}' ${path}`;
      case 2:
        return `${prepare} install -m 755 /dev/null ${path}`;
      default:
        return `${prepare} echo ${below(4)} > ${path}`;
    }
  };
  return [...Array.from({ length: 1 + below(25) }, edit), 'true'].join('\n');
}

describe('a checkpoint restore after random edits', () => {
  let world: World;
  before(async () => {
    world = await World.start();
  });
  after(() => world[Symbol.asyncDispose]());

  /** Returns the kind and content of each file, by its path. */
  async function read(directory: CheckpointDirectory): Promise<Map<string, string>> {
    const lines = (await directory.files()).split('\n').slice(0, -1);
    return new Map(
      lines.map((line) => /^\.\/((?:\\ |[^ ])+) (.*)$/.exec(line)!.slice(1) as [string, string]),
    );
  }

  for (let seed = 1; seed <= 25; seed += 1) {
    test(`recovers the files of the checkpoint, seed ${seed}`, async () => {
      const below = generator(seed);
      const directory = new CheckpointDirectory(world, `random-${seed}`);
      await directory.exec(`echo '*.ign' > .gitignore\n${edits(below)}`);
      const checkpointed = [...(await read(directory))].filter(([path]) => !isIgnored(path));
      await directory.create('s1');
      await directory.exec(`${edits(below)}\n${below(2) === 0 ? 'rm .gitignore' : ''}`);
      const found = await read(directory);
      const ignored = [...found].filter(([path]) => isIgnored(path));
      const conflicting = ignored.filter(([path]) => checkpointed.some(([other]) => collide(path, other)));
      const hasNoRules = !found.has('.gitignore');
      if (conflicting.length > 0 && !hasNoRules) {
        assert.equal(await directory.errorCode(directory.restore('s1')), 'CHECKPOINT_FAILED');
        assert.deepEqual(await read(directory), found);
        return;
      }
      const { changed } = await directory.restore('s1');
      const expected = [...checkpointed, ...ignored.filter((file) => !conflicting.includes(file))];
      assert.deepEqual([...(await read(directory))].sort(), expected.sort());
      const differs = ([path, content]: [string, string]) => found.get(path) !== content;
      const gone = [...found.keys()].filter((path) => !expected.some(([other]) => other === path));
      const reported = [...expected.filter(differs).map(([path]) => path), ...gone];
      assert.deepEqual(changed, reported.map((path) => path.replaceAll('\\ ', ' ')).sort());
    });
  }
});
