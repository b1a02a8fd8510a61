// The text of the differences of a file, and which files belong to git.

import type { FileChange } from '../../../client/src/index.ts';
import { displayable } from '../terminal-text.ts';

/** Returns whether a changed path is below a `.git` directory: a commit or a checkpoint changes many files there. */
export const isOfGit = ({ path }: Pick<FileChange, 'path'>): boolean => /(^|\/)\.git\//.test(path);

/** Returns an attribute that differs, with its values where they are short: `mode 0644 → 0755`, `target a → b`. */
export function attributeOf(name: string, { from, to }: Pick<FileChange, 'from' | 'to'>): string {
  if (name !== 'mode' && name !== 'target') return name;
  return `${name} ${displayable(from?.[name] ?? 'none')} → ${displayable(to?.[name] ?? 'none')}`;
}
