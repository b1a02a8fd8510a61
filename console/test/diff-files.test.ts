// Tests of a diff's division into files.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { filesOf } from '../src/views/diff-files.ts';

const CHANGED = `diff --git a/file b/file
index 1..2 100644
--- a/file
+++ b/file
@@ -1,3 +1,3 @@
 one
--- two
+++ 2
 three
`;
const REMOVED = `diff --git a/old name b/old name
deleted file mode 100644
--- a/old name\t
+++ /dev/null
@@ -1 +0,0 @@
-x
`;
const RENAMED = `diff --git a/from b/to
similarity index 100%
rename from from
rename to to
`;
const BINARY = `diff --git a/data b/data
Binary files a/data and b/data differ
`;

describe('a diff', () => {
  test('is divided into files, with the numbers of their changed lines', () => {
    const files = filesOf(CHANGED + REMOVED + RENAMED + BINARY);
    assert.deepEqual(
      files.map(({ path, added, removed }) => [path, added, removed]),
      [
        ['file', 1, 1],
        ['old name', 0, 1],
        ['to', 0, 0],
        ['data', 0, 0],
      ],
    );
    assert.deepEqual(filesOf(''), []);
  });

  test('has blocks of lines of the same kind, and changed lines that look like file names', () => {
    const [file] = filesOf(CHANGED);
    assert.deepEqual(
      file?.blocks.map(({ kind }) => kind),
      ['head', 'hunk', 'same', 'removed', 'added', 'same'],
    );
    assert.equal(file?.blocks.map(({ text }) => text).join(''), CHANGED);
  });

  test('is divided only where a line begins a file', () => {
    const [file, ...others] = filesOf(`${CHANGED}+diff of two\n diff of three\n`);
    assert.deepEqual([file?.added, others.length], [2, 0]);
  });
});
