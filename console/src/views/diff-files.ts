// Splits a unified diff into its files, and the files into blocks of lines of the same kind.

/** The kind of a line. */
export type Kind = 'added' | 'removed' | 'hunk' | 'head' | 'same';

/** Consecutive lines of the same kind. */
export interface Block {
  kind: Kind;
  text: string;
}

/** The changes of one file. */
export interface FileDiff {
  path: string;
  /** The number of added and of removed lines. */
  added: number;
  removed: number;
  blocks: Block[];
}

/** Returns the files of a diff, in its order. */
export function filesOf(diff: string): FileDiff[] {
  return diff
    .split(/^(?=diff )/m)
    .filter((text) => text !== '')
    .map(fileOf);
}

function fileOf(text: string): FileDiff {
  const file: FileDiff = { path: pathOf(text), added: 0, removed: 0, blocks: [] };
  let isInHunk = false;
  for (const line of text.split(/(?<=\n)/)) {
    if (line.startsWith('@@')) isInHunk = true;
    const kind = kindOf(line, isInHunk);
    if (kind === 'added' || kind === 'removed') file[kind] += 1;
    const last = file.blocks.at(-1);
    if (last?.kind === kind) last.text += line;
    else file.blocks.push({ kind, text: line });
  }
  return file;
}

/** Where the head of a file has its path: the new one, the old one of a removed file, and that of a file without hunks. */
const PATHS = [
  /^\+\+\+ "?b\/(.*?)"?\t?$/m,
  /^--- "?a\/(.*?)"?\t?$/m,
  /^rename to (.*)$/m,
  /^diff --git .*? "?b\/(.*?)"?$/m,
];

function pathOf(text: string): string {
  const [head = ''] = text.split(/^@@/m);
  return PATHS.flatMap((pattern) => pattern.exec(head)?.[1] ?? [])[0] ?? 'the diff';
}

/** Returns the kind of a line. `---` and `+++` are file names before the first hunk, and changed lines in a hunk. */
function kindOf(line: string, isInHunk: boolean): Kind {
  if (!isInHunk) return 'head';
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
}
