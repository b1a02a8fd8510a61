// Random edits: a restore gives back exactly the files that there were, and leaves those that are ignored.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';
import { Place } from './place.ts';

const NAMES = ['a', 'b', 'c', 'd e', 'x.ign', 'y.ign'];
const isIgnored = (path: string) => path.split('/').some((name) => name.endsWith('.ign'));

/** Whether one path is a directory of the other. */
const collide = (one: string, other: string) => one.startsWith(`${other}/`) || other.startsWith(`${one}/`);

/** Numbers below a limit, the same for the same seed (mulberry32). */
function randomness(seed: number): (limit: number) => number {
  return (limit) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

/** Shell commands that make, change, replace and remove files. Some of them come to nothing. */
function edits(below: (limit: number) => number): string {
  const name = () => NAMES[below(NAMES.length)]!;
  const edit = () => {
    const path = `'${Array.from({ length: 1 + below(3) }, name).join('/')}'`;
    const anew = `{ mkdir -p "$(dirname ${path})" && rm -rf ${path}; } 2>/dev/null &&`;
    switch (below(6)) {
      case 0:
        return `rm -rf ${path}`;
      case 1:
        return `${anew} ln -s '${name()}' ${path}`;
      case 2:
        return `${anew} install -m 755 /dev/null ${path}`;
      default:
        return `${anew} echo ${below(4)} > ${path}`;
    }
  };
  return [...Array.from({ length: 1 + below(25) }, edit), 'true'].join('\n');
}

describe('whatever is done to the files, a restore gives back those of the checkpoint', () => {
  let world: World;
  before(async () => {
    world = await World.start();
  });
  after(() => world[Symbol.asyncDispose]());

  /** What each file is, by its path. */
  async function read(place: Place): Promise<Map<string, string>> {
    const lines = (await place.files()).split('\n').slice(0, -1);
    return new Map(
      lines.map((line) => /^\.\/((?:\\ |[^ ])+) (.*)$/.exec(line)!.slice(1) as [string, string]),
    );
  }

  for (let seed = 1; seed <= 25; seed += 1) {
    test(`seed ${seed}`, async () => {
      const below = randomness(seed);
      const place = new Place(world, `random-${seed}`);
      await place.exec(`echo '*.ign' > .gitignore\n${edits(below)}`);
      const there = [...(await read(place))].filter(([path]) => !isIgnored(path));
      await place.create('s1');
      await place.exec(`${edits(below)}\n${below(2) === 0 ? 'rm .gitignore' : ''}`);
      const found = await read(place);
      const ignored = [...found].filter(([path]) => isIgnored(path));
      const inTheWay = ignored.filter(([path]) => there.some(([other]) => collide(path, other)));
      const isKept = !found.has('.gitignore');
      if (inTheWay.length > 0 && !isKept) {
        assert.equal(await place.code(place.restore('s1')), 'CHECKPOINT_FAILED');
        assert.deepEqual(await read(place), found);
        return;
      }
      const { changed } = await place.restore('s1');
      const expected = [...there, ...ignored.filter((file) => !inTheWay.includes(file))];
      assert.deepEqual([...(await read(place))].sort(), expected.sort());
      const differs = ([path, is]: [string, string]) => found.get(path) !== is;
      const gone = [...found.keys()].filter((path) => !expected.some(([other]) => other === path));
      const told = [...expected.filter(differs).map(([path]) => path), ...gone];
      assert.deepEqual(changed, told.map((path) => path.replaceAll('\\ ', ' ')).sort());
    });
  }
});
