// The text of the differences of a file, and which files belong to git.

import type { FileChange } from '../../../client/src/index.ts';

/** Returns whether a changed path is below a `.git` directory: a commit or a checkpoint changes many files there. */
export const isOfGit = ({ path }: Pick<FileChange, 'path'>): boolean => /(^|\/)\.git\//.test(path);
