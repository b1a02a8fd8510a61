// The files of the model. The tests compare them with those of a sandbox by kind, mode, name and content.

import { createHash } from 'node:crypto';

import type { Random } from './random.ts';
import { SECRETS } from './secrets.ts';

type Entry =
  | { kind: 'file'; content: string; executable: boolean }
  | { kind: 'link'; target: string }
  | { kind: 'directory' };

/** A shell command that prints {@link Tree.listing} of the current files. It skips the repository of checkpoints. */
export const LISTING = `
  find . -mindepth 1 -name .git -prune -o -printf '%y %m %P %l\\n' | LC_ALL=C sort
  find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum`;

/** A shell command that removes directories without a file or a link. */
export const PRUNE = `find . -depth -mindepth 1 -not -path './.git*' -type d -empty -delete`;

const DIRECTORIES = ['src', 'src/deep', 'logs', 'a b', 'ä'];
const NAMES = ['main.py', 'notes', 'x', 'with space', SECRETS.name, 'é', '-dash'];

/** The files of a directory. A tree is immutable; {@link Tree.changed} returns another one. */
export class Tree {
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(entries: Iterable<[string, Entry]> = []) {
    this.#entries = new Map(entries);
  }

  /** Returns a changed tree with at least one file, and the shell command that makes the same changes. */
  changed(random: Random): { tree: Tree; command: string } {
    const entries = new Map(this.#entries);
    const commands = ['set -e'];
    const remove = (path: string) => {
      commands.push(`rm -rf ${here(path)}`);
      for (const other of entries.keys())
        if (other === path || other.startsWith(`${path}/`)) entries.delete(other);
    };
    const put = (path: string, entry: Entry) => {
      const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      const parents = folder.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
      for (const parent of parents) if (parent !== '') entries.set(parent, { kind: 'directory' });
      if (folder !== '') commands.push(`mkdir -p ${here(folder)}`);
      entries.set(path, entry);
      commands.push(command(path, entry));
    };
    for (let times = random.below(3); times > 0 && entries.size > 4; times -= 1)
      remove(random.of([...entries.keys()]));
    for (let times = 1 + random.below(4); times > 0; times -= 1) {
      const folder = random.chance(0.4) ? '' : `${random.of(DIRECTORIES)}/`;
      if (random.chance(0.1)) put(`${folder}empty`, { kind: 'directory' });
      else if (random.chance(0.1)) put(`${folder}link`, { kind: 'link', target: random.of(NAMES) });
      else put(folder + random.of(NAMES), file(random));
    }
    // This file makes every state unique.
    put('state', file(random));
    return { tree: new Tree(entries), command: `(${commands.join('\n')})` };
  }

  /** Returns a tree without this path and the paths below it. */
  without(path: string): Tree {
    return new Tree([...this.#entries].filter(([other]) => other !== path && !other.startsWith(`${path}/`)));
  }

  /** The output of {@link LISTING} in a sandbox with these files. */
  get listing(): string {
    const lines = [...this.#entries].map(([path, entry]) =>
      bytes(`${shape(entry)} ${path} ${target(entry)}\n`),
    );
    const sums = [...this.#entries].flatMap(([path, entry]) =>
      entry.kind === 'file' ? [[bytes(path), entry.content] as const] : [],
    );
    const sum = ([path, content]: readonly [Buffer, string]) =>
      `${createHash('sha256').update(content).digest('hex')}  ./${path.toString()}\n`;
    return (
      Buffer.concat(lines.sort(Buffer.compare)).toString() +
      sums
        .sort(([a], [b]) => Buffer.compare(a, b))
        .map(sum)
        .join('')
    );
  }

  /** The tree without directories that have neither a file nor a link, which git does not store. {@link PRUNE} does the same. */
  get pruned(): Tree {
    const others = [...this.#entries].filter(([, { kind }]) => kind !== 'directory').map(([path]) => path);
    const isNeeded = (path: string) => others.some((other) => other.startsWith(`${path}/`));
    return new Tree([...this.#entries].filter(([path, { kind }]) => kind !== 'directory' || isNeeded(path)));
  }
}

const bytes = (text: string) => Buffer.from(text);

function file(random: Random): Entry {
  const line = `${SECRETS.content} ${random.word(12)}\n`;
  return {
    kind: 'file',
    content: line.repeat(1 + random.below(random.chance(0.1) ? 400 : 8)),
    executable: random.chance(0.2),
  };
}

function command(path: string, entry: Entry): string {
  const quoted = here(path);
  if (entry.kind === 'directory') return `mkdir -p ${quoted}`;
  if (entry.kind === 'link') return `ln -sfnT -- ${quote(entry.target)} ${quoted}`;
  // A repeated line keeps the command short. The file is replaced atomically.
  const line = entry.content.slice(0, entry.content.indexOf('\n'));
  const count = entry.content.length / (line.length + 1);
  const mode = entry.executable ? 755 : 644;
  return `yes ${quote(line)} | head -n ${count} > .new; chmod ${mode} .new; mv -fT .new ${quoted}`;
}

const quote = (text: string) => `'${text}'`; // No text contains a quote.
const here = (path: string) => quote(`./${path}`);

function shape(entry: Entry): string {
  if (entry.kind === 'directory') return 'd 755';
  if (entry.kind === 'link') return 'l 777';
  return entry.executable ? 'f 755' : 'f 644';
}

const target = (entry: Entry) => (entry.kind === 'link' ? entry.target : '');
