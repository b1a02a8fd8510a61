// Checkpoints of a real repository, compared with plain git commands in the same sandbox.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { against, alternate, type Task } from '../measure.ts';
import { compare, type Outcome } from '../results.ts';
import type { World } from '../world.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The content of the repository: the sources of this project, and those of a package. */
const CONTENT = ['src', 'tests', 'docs', 'client', 'console', 'miniflare-tests', 'node_modules/openai'];
const FEW = ['docs'];

/** The size of a chunk that is sent to the sandbox, in base64 characters. */
const CHUNK = 1_000_000;

/** Changes some files after the checkpoint. */
const EDIT = `cd /workspace && find . -name '*.ts' -not -path './.git/*' | LC_ALL=C sort | awk 'NR % 50 == 1' |
  while read -r file; do echo "// $RANDOM" >>"$file"; done; echo new >new-file; rm -f "$(find docs -name '*.md' | LC_ALL=C sort | head -n 1)"`;

/** The git commands of each operation. They use their own index, and store the current files before they overwrite them. */
const PLAIN = {
  create: `cd /workspace; export GIT_INDEX_FILE=/tmp/plain.index; rm -f "$GIT_INDEX_FILE"
    git add -A && commit=$(git commit-tree -m plain "$(git write-tree)") && git update-ref refs/plain/bench "$commit"`,
  diff: `cd /workspace; export GIT_INDEX_FILE=/tmp/plain.index; rm -f "$GIT_INDEX_FILE"
    git add -A && git diff --no-renames refs/plain/bench "$(git write-tree)"`,
  restore: `cd /workspace; export GIT_INDEX_FILE=/tmp/plain.index; rm -f "$GIT_INDEX_FILE"
    git add -A && before=$(git commit-tree -m before "$(git write-tree)") && git update-ref refs/plain/before "$before" &&
    git diff-tree -r --name-only "$before" refs/plain/bench && git read-tree --reset -u refs/plain/bench`,
};

type What = keyof typeof PLAIN;

/** Creates a checkpoint, diffs changes against it, and restores it. */
export async function checkpoints(task: Task): Promise<Outcome> {
  const { runs, quick } = task;
  const world = await task.world('plain');
  const files = await repository(world, quick ? FEW : CONTENT);
  const sides = ['ours', 'plain'] as const;
  const identity = `export GIT_AUTHOR_NAME=b GIT_AUTHOR_EMAIL=b@b GIT_COMMITTER_NAME=b GIT_COMMITTER_EMAIL=b@b; `;
  const time = async (side: (typeof sides)[number], what: What) => {
    const options = { sandboxId: 'repository', name: 'bench' };
    const step =
      side === 'ours'
        ? ({ do: 'call', method: `checkpoints/${what}`, options } as const)
        : ({ do: 'exec', id: 'repository', command: identity + PLAIN[what] } as const);
    const { value, millis } = await world.run(step);
    if (side === 'plain' && value.exitCode !== 0) throw new Error(value.stderr);
    return millis;
  };
  const samples = await alternate(sides, runs, async (side, round) => {
    const create = await time(side, 'create');
    await world.exec('repository', EDIT);
    const diff = await time(side, 'diff');
    const restore = await time(side, 'restore');
    if (round === 0 && (await gitStatus(world)) !== '')
      throw new Error(`${side} did not restore the files: ${await gitStatus(world)}`);
    return { create, diff, restore };
  });
  const rows = (['create', 'diff', 'restore'] as const).map((what) => {
    const about = {
      measure: 'checkpoints',
      name: `${what}, ${files} files`,
      unit: 'ms',
      against: 'plain git',
    };
    return compare({ ...about, target: 1.2 }, against(samples[what]!, 'ours', 'plain'));
  });
  return { rows };
}

/** Returns the changes since the commit, as `git status` prints them. */
async function gitStatus(world: World): Promise<string> {
  return world.exec('repository', 'cd /workspace && git status --porcelain');
}

/** Creates the repository in the sandbox with one commit, and returns its number of files. */
async function repository(world: World, content: string[]): Promise<number> {
  const { stdout } = spawnSync('tar', ['-C', ROOT, '-czf', '-', ...content], { maxBuffer: 2 ** 30 });
  const text = stdout.toString('base64');
  for (let from = 0; from < text.length; from += CHUNK) {
    const args = [`/tmp/part-${String(from).padStart(12, '0')}`, text.slice(from, from + CHUNK)];
    await world.run({ do: 'sandbox', id: 'repository', method: 'writeFile', args });
  }
  const printed = await world.exec(
    'repository',
    `cd /workspace && cat /tmp/part-* | base64 -d | tar -xzf - && rm /tmp/part-* && git init -q -b main . &&
     git add -A && git -c user.name=b -c user.email=b@b commit -q -m all && git ls-files | wc -l`,
  );
  return Number(printed);
}
