// The search of the pages.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { find } from '../src/browser/find.ts';
import { descriptionsOf } from '../src/descriptions.ts';
import { codesOf } from '../src/document.ts';
import { searchIndex } from '../src/search-index.ts';
import { DOCUMENT } from './document.ts';

const INDEX = searchIndex(DOCUMENT);
const DESCRIPTIONS = descriptionsOf(DOCUMENT);
const names = (query: string, count = 5) =>
  find(INDEX, query, DESCRIPTIONS)
    .slice(0, count)
    .map(({ kind, name }) => `${kind} ${name}`);

describe('the search finds', () => {
  test('every operation and every error code first by its name', () => {
    for (const { kind, name } of INDEX.filter(({ kind }) => kind === 'operation'))
      assert.deepEqual(names(name, 1), [`${kind} ${name}`]);
    for (const { code } of codesOf(DOCUMENT))
      assert.deepEqual(names(code.toLowerCase(), 1), [`error ${code}`]);
  });

  test('a field in every operation and type that has it', () => {
    const results = find(INDEX, 'idempotencyKey').filter(({ kind }) => kind === 'field');
    assert.ok(results.some(({ url }) => url === '/docs/snapshots#v1-snapshot.idempotencyKey'));
    assert.ok(results.some(({ url }) => url === '/docs/workspaces#v1-workspaces-fork.idempotencyKey'));
  });

  test('an operation by a part of its name', () => {
    assert.deepEqual(names('fork', 1), ['operation workspaces/fork']);
    assert.deepEqual(names('get or create', 1), ['operation workspaces/getOrCreate']);
    assert.deepEqual(names('snap', 1), ['operation snapshot']);
  });

  test('an operation by other words for what it does', () => {
    assert.deepEqual(names('upload', 1), ['operation files/write']);
    assert.deepEqual(names('terminal', 1), ['operation exec']);
    assert.ok(names('undo').includes('operation checkpoints/restore'));
    assert.deepEqual(names('rollback', 1), ['operation workspaces/update']);
    assert.deepEqual(names('withhold', 1), ['operation tools/list']);
  });

  test('an operation by the command that calls it', () => {
    assert.deepEqual(names('snapshotter workspace start', 1), ['operation workspaces/start']);
    assert.deepEqual(names('snapshotter ls', 1), ['operation files/list']);
    assert.deepEqual(names('workspace turn-ended', 1), ['operation workspaces/turnEnded']);
    assert.deepEqual(names('workspace rollback', 1), ['operation workspaces/update']);
    assert.deepEqual(names('doctor', 1), ['operation health']);
  });

  test('an error code by words of its meaning or with spaces', () => {
    assert.ok(names('name taken').includes('error NAME_TAKEN'));
    assert.ok(names('idempotency different call').includes('error IDEMPOTENCY_CONFLICT'));
  });

  test('operations and fields by words of their descriptions, after those with the words in their names', () => {
    const found = names('secret', 30);
    assert.ok(found.includes('field env'), found.join());
    assert.ok(found.indexOf('field env') > found.indexOf('operation tokens/list'), found.join());
  });

  test('a word of 4 or more letters with a missing, further, other or exchanged letter', () => {
    for (const query of ['rollbck', 'rollbback', 'rolback', 'rollbakc', 'rollbacc'])
      assert.deepEqual(names(query, 1), ['operation workspaces/update'], query);
    assert.deepEqual(names('snapshto', 1), ['operation snapshot']);
    assert.deepEqual(names('labl', 1), ['operation label']);
    assert.deepEqual(names('workspaces frok', 1), ['operation workspaces/fork']);
    assert.deepEqual(names('frk'), [], 'a word of 3 letters');
  });

  test('without an error what has the name of a member of every object', () => {
    for (const query of ['constructor', '__proto__', 'snapshot constructor'])
      assert.doesNotThrow(() => names(query), query);
  });

  test('nothing for an empty query, for other words, and for characters of regular expressions', () => {
    for (const query of ['', '   ', 'xyzzy', '(((', '\\', '[a']) assert.deepEqual(names(query), [], query);
  });
});
