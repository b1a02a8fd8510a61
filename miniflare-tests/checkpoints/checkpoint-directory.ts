// A fixture: a directory of a sandbox with checkpoints, its operations, and the contents that tests compare.

import assert from 'node:assert/strict';

import type {
  Checkpoint,
  CheckpointDiff,
  CreatedCheckpoint,
  RestoredCheckpoint,
} from '../../client/src/index.ts';
import type { World } from '../world.ts';

/** Prints every file except those of git: its kind, whether it is executable, and the hash of its content. */
const FILES = String.raw`find . -name .git -prune -o \( -type f -o -type l \) -print0 | LC_ALL=C sort -z |
  while IFS= read -r -d '' path; do
    if [ -L "$path" ]; then printf '%q -> %q\n' "$path" "$(readlink "$path")"
    else printf '%q %s %s\n' "$path" "$([ -x "$path" ] && echo x || echo -)" "$(sha256sum <"$path")"; fi
  done`;

/** Prints the state of a repository: the user's view of it, and its internal files. */
const REPOSITORY = String.raw`
  export GIT_OPTIONAL_LOCKS=0; git status --porcelain; git stash list; git reflog --all; git rev-parse HEAD; git symbolic-ref HEAD
  git for-each-ref | grep -v refs/sandbox/; git ls-files --stage
  cd "$(git rev-parse --absolute-git-dir)"
  sha256sum index config HEAD info/exclude; find hooks ! -name '*.sample' -type f -exec sha256sum {} +; ls -A . logs; find . -name '*.lock'`;

/** Returns a command that lists the files of a commit. */
const lsTree = (commit: string) => `git ls-tree -r --format='%(objectmode) %(path)' ${commit}`;

/** A directory of a sandbox with checkpoints. */
export class CheckpointDirectory {
  readonly #world: World;
  readonly id: string;
  readonly dir: string;

  constructor(world: World, id: string, dir = '/workspace') {
    this.#world = world;
    this.id = id;
    this.dir = dir;
  }

  /** Calls an operation on checkpoints. */
  call(operation: 'create' | 'list' | 'restore' | 'delete' | 'diff', options: object = {}): Promise<any> {
    return this.#world.rpc(`checkpoints/${operation}`, { sandboxId: this.id, dir: this.dir, ...options });
  }

  create(name: string, options: object = {}): Promise<CreatedCheckpoint> {
    return this.call('create', { name, ...options });
  }

  /** Returns the checkpoints of all pages of the list. */
  async list(options: object = {}): Promise<Checkpoint[]> {
    const { checkpoints, cursor } = await this.call('list', options);
    return cursor === undefined
      ? checkpoints
      : [...checkpoints, ...(await this.list({ ...options, cursor }))];
  }

  /** Returns the names of the checkpoints, the newest first. */
  async names(): Promise<string[]> {
    return (await this.list()).map(({ name }) => name);
  }

  restore(name: string, options: object = {}): Promise<RestoredCheckpoint> {
    return this.call('restore', { name, ...options });
  }

  diff(name: string, options: object = {}): Promise<CheckpointDiff> {
    return this.call('diff', { name, ...options });
  }

  /** Runs commands in the directory, in a new shell, and returns their output. */
  exec(commands: string): Promise<string> {
    const script = `cd ${this.dir} || exit\n${commands}`;
    return this.#world.exec(this.id, `bash -c ${quoted(script)}`);
  }

  /** Returns a listing of every file with the hash of its content. */
  files(): Promise<string> {
    return this.exec(FILES);
  }

  /** Returns the state of the repository in a directory, including its internal files. */
  repository(dir = '.'): Promise<string> {
    return this.exec(`cd ${dir} || exit\n${REPOSITORY}\ntrue`);
  }

  /** Returns the modes and paths of the files in a commit. */
  async listTree(commit: string): Promise<string[]> {
    return (await this.exec(lsTree(commit))).split('\n').slice(0, -1);
  }

  /** Returns the error code of a call, which must fail. */
  async errorCode(call: Promise<unknown>): Promise<string | undefined> {
    return (await this.#world.failure(call)).code;
  }

  /** Asserts that operations, by default all of them, fail with `code`. */
  async assertRefused(code: string, ...operations: ('create' | 'list' | 'restore' | 'diff')[]) {
    const all = operations.length > 0 ? operations : (['create', 'list', 'restore', 'diff'] as const);
    for (const operation of all) {
      const options = operation === 'list' ? {} : { name: 's1' };
      assert.equal(await this.errorCode(this.call(operation, options)), code, operation);
    }
  }
}

/** Quotes a text as one word for the shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
