// The search of the pages.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { excerptOf } from '../src/browser/excerpt.ts';
import { Finder } from '../src/browser/find.ts';
import { noteOf } from '../src/browser/results.ts';
import { codesOf } from '../src/document.ts';
import { compactIndex, expandIndex } from '../src/search-index.ts';
import { DOCUMENT } from './document.ts';
import { API_FINDER, FINDER, NAMES } from './finder.ts';

const names = (query: string, count = 5) =>
  API_FINDER.find(query)
    .results.slice(0, count)
    .map(({ kind, name }) => `${kind} ${name}`);

describe('the search finds', () => {
  test('every operation and every error code first by its name', () => {
    for (const { kind, name } of NAMES.filter(({ kind }) => kind === 'operation'))
      assert.deepEqual(names(name, 1), [`${kind} ${name}`]);
    for (const { code } of codesOf(DOCUMENT))
      assert.deepEqual(names(code.toLowerCase(), 1), [`error ${code}`]);
  });

  test('a field in every operation and type that has it', () => {
    const results = API_FINDER.find('idempotencyKey').results.filter(({ kind }) => kind === 'field');
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

  test('the error codes of an HTTP status first', () => {
    for (const status of ['403', '404', '409']) {
      const ofStatus = codesOf(DOCUMENT).filter((code) => code.status === status);
      const expected = new Set(ofStatus.map(({ code }) => `error ${code}`));
      const found = FINDER.find(status).results.slice(0, 4);
      for (const { kind, name } of found) assert.ok(expected.has(`${kind} ${name}`), `${status}: ${name}`);
      assert.equal(found.length, 4);
    }
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
    for (const query of ['', '   ', 'xyzzy', '(((', '\\', '[xyzzy'])
      assert.deepEqual(names(query), [], query);
  });
});

test('the targets of the script are those of the index', () => {
  assert.deepEqual(expandIndex(compactIndex(NAMES)), NAMES);
});

describe('a word', () => {
  test('that no page has is reported, and the results have the others', () => {
    assert.deepEqual(FINDER.find('gpu'), {
      results: [],
      terms: new Set(),
      missing: ['gpu'],
      corrected: new Map(),
    });
    assert.equal(noteOf(FINDER.find('gpu'), true), 'No page has “gpu”.');
    assert.equal(noteOf(FINDER.find('blockchain Wallet'), true), 'No page has “blockchain” or “Wallet”.');
    assert.equal(
      noteOf(FINDER.find('kubernetes deploy'), true),
      'No page has “kubernetes”. These have the other words:',
    );
    assert.match(FINDER.find('kubernetes deploy').results[0]?.name ?? '', /deploy/i);
  });

  test('that is corrected is reported with the word that is used', () => {
    assert.equal(noteOf(FINDER.find('rollbakc'), true), 'No page has “rollbakc”. These have “rollback”:');
    assert.equal(noteOf(FINDER.find('rollback'), true), '');
  });

  test('of no page is not corrected to one that only resembles it', () => {
    for (const query of ['helm', 'saml', 'graphql', 'terraform', 'postgres'])
      assert.deepEqual(FINDER.find(query).results, [], query);
  });

  test('does not stand for others that begin like its stem', () => {
    for (const query of ['redis', 'canvas']) assert.deepEqual(FINDER.find(query).results, [], query);
    const { results } = FINDER.find('CORS');
    assert.deepEqual(
      results.filter(({ name }) => name === 'LEDGER_CORRUPT'),
      [],
    );
  });

  test('is found in its other forms, and by the words that begin with it', () => {
    const hasTerm = (query: string, term: string) => FINDER.find(query).terms.has(term);
    assert.ok(hasTerm('expires', 'expiration'));
    assert.ok(hasTerm('expiring', 'expired'));
    assert.ok(hasTerm('snapshots', 'snapshotter'));
  });

  test('of an error code that only guides explain comes after the headings with it', () => {
    const names = FINDER.find('lost').results.map(({ name }) => name);
    assert.ok(names.indexOf('ANSWER_LOST') >= 4, names.slice(0, 6).join());
  });

  test('that is incomplete is found if it is the last one', () => {
    assert.equal(FINDER.find('sn').results[0]?.name, 'snapshot');
    assert.equal(FINDER.find('restore fi').results[0]?.name, 'files/restore');
  });

  test('that only the texts have is not corrected before they are loaded', () => {
    assert.deepEqual(Finder.of(NAMES).find('sleep').results, []);
  });

  test('that a guide has is not corrected to a similar one', () => {
    const { results, corrected } = FINDER.find('sleep');
    assert.ok(results.length > 0);
    assert.equal(corrected.size, 0);
    assert.deepEqual(
      results.filter(({ name }) => /sweep/i.test(name)),
      [],
    );
  });

  test('of a name is found in each notation', () => {
    for (const query of [
      'getOrCreate',
      'get_or_create',
      'GET_OR_CREATE',
      'get-or-create',
      'workspaces getOrCreate',
    ])
      assert.equal(FINDER.find(query).results[0]?.name, 'workspaces/getOrCreate', query);
    for (const query of ['IDEMPOTENCY_CONFLICT', 'idempotencyConflict', 'idempotency conflict'])
      assert.equal(FINDER.find(query).results[0]?.name, 'IDEMPOTENCY_CONFLICT', query);
  });

  test('of code is found', () => {
    const { results } = FINDER.find('squashfs-tools');
    assert.ok(results.some(({ kind }) => kind === 'guide'));
  });
});

describe('the excerpt', () => {
  const marked = (text: string, ...terms: string[]) =>
    excerptOf(text, new Set(terms))
      .map(({ text, isMatch }) => (isMatch ? `[${text}]` : text))
      .join('');

  test('is the line that has most of the terms, with each marked', () => {
    assert.equal(
      marked('One file.\nA file in a `Folder`.\nOther', 'file', 'folder'),
      'A [file] in a [Folder].',
    );
    assert.equal(marked('profile, file', 'file'), 'profile, [file]');
    assert.equal(marked('Set `maxBytes`.', 'bytes'), 'Set [maxBytes].');
  });

  test('is the first line if none has a term', () => {
    assert.equal(marked('One.\nTwo.', 'three'), 'One.');
    assert.equal(marked('', 'three'), '');
  });

  test('of a long line begins shortly before the first term', () => {
    const line = `${'before '.repeat(30)}the file ${'after '.repeat(40)}`.trim();
    const excerpt = marked(line, 'file');
    assert.match(excerpt, /^… (before )+the \[file\] (after )+…$/);
    assert.ok(excerpt.indexOf('[') < 30 && excerpt.length < 200, excerpt);
  });
});
