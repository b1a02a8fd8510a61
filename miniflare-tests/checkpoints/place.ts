// A directory of a sandbox with checkpoints: the usual calls, and what a test reads of it.

import assert from 'node:assert/strict';

import type {
  Checkpoint,
  CheckpointDiff,
  CreatedCheckpoint,
  RestoredCheckpoint,
} from '../../client/src/index.ts';
import type { World } from '../world.ts';

/** Prints every file but those of git: its kind, whether it can be run, and its content. */
const FILES = String.raw`find . -name .git -prune -o \( -type f -o -type l \) -print0 | LC_ALL=C sort -z |
  while IFS= read -r -d '' path; do
    if [ -L "$path" ]; then printf '%q -> %q\n' "$path" "$(readlink "$path")"
    else printf '%q %s %s\n' "$path" "$([ -x "$path" ] && echo x || echo -)" "$(sha256sum <"$path")"; fi
  done`;

/** Prints what a user has of a repository, and what can't be seen from outside of it. */
const REPOSITORY = String.raw`
  export GIT_OPTIONAL_LOCKS=0; git status --porcelain; git stash list; git reflog --all; git rev-parse HEAD; git symbolic-ref HEAD
  git for-each-ref | grep -v refs/sandbox/; git ls-files --stage
  cd "$(git rev-parse --absolute-git-dir)"
  sha256sum index config HEAD info/exclude; find hooks ! -name '*.sample' -type f -exec sha256sum {} +; ls -A . logs; find . -name '*.lock'`;

/** What a commit has, as `git ls-tree` prints it. */
const tree = (commit: string) => `git ls-tree -r --format='%(objectmode) %(path)' ${commit}`;

/** A directory of a sandbox. */
export class Place {
  readonly #world: World;
  readonly id: string;
  readonly dir: string;

  constructor(world: World, id: string, dir = '/workspace') {
    this.#world = world;
    this.id = id;
    this.dir = dir;
  }

  /** Calls an operation on checkpoints. */
  call(operation: 'create' | 'list' | 'restore' | 'diff', options: object = {}): Promise<any> {
    return this.#world.rpc(`checkpoints/${operation}`, { sandboxId: this.id, dir: this.dir, ...options });
  }

  create(name: string, options: object = {}): Promise<CreatedCheckpoint> {
    return this.call('create', { name, ...options });
  }

  /** The checkpoints on all pages of a list. */
  async list(options: object = {}): Promise<Checkpoint[]> {
    const { checkpoints, cursor } = await this.call('list', options);
    return cursor === undefined
      ? checkpoints
      : [...checkpoints, ...(await this.list({ ...options, cursor }))];
  }

  /** The names of the checkpoints, the newest first. */
  async names(): Promise<string[]> {
    return (await this.list()).map(({ name }) => name);
  }

  restore(name: string): Promise<RestoredCheckpoint> {
    return this.call('restore', { name });
  }

  diff(name: string, options: object = {}): Promise<CheckpointDiff> {
    return this.call('diff', { name, ...options });
  }

  /** Runs commands in the directory, in a shell of their own, and answers what they printed. */
  exec(commands: string): Promise<string> {
    const script = `cd ${this.dir} || exit\n${commands}`;
    return this.#world.exec(this.id, `bash -c ${quoted(script)}`);
  }

  /** Every file, and what is in it. */
  files(): Promise<string> {
    return this.exec(FILES);
  }

  /** All that a user has of the repository in a directory, and every byte that matters to git. */
  repository(dir = '.'): Promise<string> {
    return this.exec(`cd ${dir} || exit\n${REPOSITORY}\ntrue`);
  }

  /** The modes and paths that a commit has. */
  async holds(commit: string): Promise<string[]> {
    return (await this.exec(tree(commit))).split('\n').slice(0, -1);
  }

  /** The code of the error that a call ends with. */
  async code(call: Promise<unknown>): Promise<string | undefined> {
    return (await this.#world.failure(call)).code;
  }

  /** Every operation, of which none may change anything. They are refused for the same reason. */
  async refused(code: string, ...operations: ('create' | 'list' | 'restore' | 'diff')[]) {
    const all = operations.length > 0 ? operations : (['create', 'list', 'restore', 'diff'] as const);
    for (const operation of all) {
      const options = operation === 'list' ? {} : { name: 's1' };
      assert.equal(await this.code(this.call(operation, options)), code, operation);
    }
  }
}

/** A text as one word of the shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
