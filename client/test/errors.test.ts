// The snapshotter's errors, in every form that they arrive in.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { runInNewContext } from 'node:vm';

import * as client from '../src/index.ts';
import { KINDS } from '../src/codes.ts';
import type * as errors from '../src/errors.ts';
import { problem, thrown } from './fakes.ts';

const { asSnapshotterError, isSnapshotterError, SnapshotterError } = client;

const CLASSES = {
  transient: client.TransientError,
  permanent: client.PermanentError,
  conflict: client.ConflictError,
  not_found: client.NotFoundError,
  resource_exhausted: client.ResourceExhaustedError,
  unsupported: client.UnsupportedError,
  policy_denied: client.PolicyDeniedError,
};

/** What is known of an error. */
function members(error: client.SnapshotterError | undefined) {
  assert.ok(error);
  const { code, kind, detail, remediation, retryable } = error;
  return { code, kind, detail, remediation, retryable };
}

const WHOLE = {
  code: 'SNAPSHOT_HAS_DEPENDENTS',
  kind: 'conflict',
  detail: 'It went wrong.',
  remediation: 'Put it right.',
  retryable: false,
};

describe('an error of the snapshotter', () => {
  test('is known by its properties, as it comes over RPC', () => {
    const error = asSnapshotterError(thrown('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    assert.deepEqual(members(error), WHOLE);
    assert.equal(error?.message, 'SNAPSHOT_HAS_DEPENDENTS: It went wrong. Put it right.');
    assert.equal(error?.correlationId, 'c0ffee');
  });

  test('is known by its members, as it comes over HTTP', () => {
    const error = asSnapshotterError(problem('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    assert.deepEqual(members(error), WHOLE);
    assert.equal(error?.message, 'SNAPSHOT_HAS_DEPENDENTS: It went wrong. Put it right.');
  });

  const FORMS = {
    'by a message with its name before it, between Workers of an older date': new Error(
      'SnapshotterError: SNAPSHOT_HAS_DEPENDENTS: It went wrong. Put it right.',
    ),
    'by its name and its message': Object.assign(
      new Error('SNAPSHOT_HAS_DEPENDENTS: It went wrong. Put it right.'),
      {
        name: 'SnapshotterError',
      },
    ),
    'by a message that begins with a known code': new Error(
      'SNAPSHOT_HAS_DEPENDENTS: It went wrong. Put it right.',
    ),
  };
  for (const [how, error] of Object.entries(FORMS)) {
    test(`is known ${how}`, () => {
      const detail = 'It went wrong. Put it right.';
      const known = asSnapshotterError(error);
      assert.deepEqual(members(known), { ...WHOLE, detail, remediation: '' });
      assert.equal(known?.message, `SNAPSHOT_HAS_DEPENDENTS: ${detail}`);
    });
  }

  test('can be retried by its code, where nothing else is left', () => {
    assert.equal(asSnapshotterError(new Error('SnapshotterError: SANDBOX_BUSY: Wait.'))?.retryable, true);
  });

  test('of a kind that only a later snapshotter knows is known by its message', () => {
    const { code, kind } = asSnapshotterError(thrown('SNAPSHOT_HAS_DEPENDENTS', 'lunar')) ?? {};
    assert.deepEqual([code, kind], ['SNAPSHOT_HAS_DEPENDENTS', 'conflict']);
  });

  test('has the name by which it is known after RPC', () => {
    assert.equal(asSnapshotterError(thrown('SNAPSHOT_HAS_DEPENDENTS', 'conflict'))?.name, 'SnapshotterError');
  });

  test('keeps its lines', () => {
    const error = new Error('SnapshotterError: R2_BINDING_MISSING: Add:\n[[r2_buckets]]\nbinding = "X"');
    assert.equal(asSnapshotterError(error)?.detail, 'Add:\n[[r2_buckets]]\nbinding = "X"');
  });

  test('of a code that only a later snapshotter knows is known where it says whose it is', () => {
    const { code, kind } = asSnapshotterError(new Error('SnapshotterError: MOON_FULL: Wait.')) ?? {};
    assert.deepEqual([code, kind], ['MOON_FULL', 'permanent']);
    assert.equal(asSnapshotterError(new Error('MOON_FULL: Wait.')), undefined);
  });

  test('keeps what the platform threw as its cause', () => {
    const cause = { name: 'BackupCreateError', message: 'no space' };
    assert.deepEqual(asSnapshotterError({ ...problem('BACKUP_FAILED', 'permanent'), cause })?.cause, cause);
  });

  for (const [kind, Class] of Object.entries(CLASSES)) {
    test(`of the kind ${kind} is a ${Class.name}`, () => {
      const error = asSnapshotterError(thrown('SNAPSHOT_HAS_DEPENDENTS', kind));
      assert.ok(error instanceof Class && error instanceof SnapshotterError && error instanceof Error);
      assert.equal(Object.values(CLASSES).filter((other) => error instanceof other).length, 1);
    });
  }

  test('is passed on as it is', () => {
    const error = asSnapshotterError(thrown('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    assert.equal(asSnapshotterError(error), error);
  });

  test('is the same again after JSON', () => {
    const error = asSnapshotterError(thrown('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    const again = asSnapshotterError(JSON.parse(JSON.stringify(error)));
    assert.deepEqual(members(again), members(error));
    assert.equal(again?.message, error?.message);
  });
});

describe('whatever else is thrown', () => {
  const OTHERS = {
    'a TypeError': new TypeError('x is not a function'),
    'an error with a code of another world': Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    'an error whose message looks like a code': new Error('ENOENT: no such file'),
    'an error of another class with the name before it': new Error('TypeError: SNAPSHOT_HAS_DEPENDENTS: no'),
    'a text': 'SNAPSHOT_HAS_DEPENDENTS: no',
    nothing: undefined,
    null: null,
  };
  for (const [what, value] of Object.entries(OTHERS)) {
    test(`${what} is not the snapshotter's`, () => {
      assert.equal(asSnapshotterError(value), undefined);
      assert.equal(isSnapshotterError(value), false);
    });
  }
});

describe('the guard', () => {
  test('knows errors of this package, and those that came over RPC', () => {
    const raw = thrown('SNAPSHOT_HAS_DEPENDENTS', 'conflict');
    assert.ok(isSnapshotterError(raw));
    assert.ok(isSnapshotterError(asSnapshotterError(raw)));
  });

  test('knows errors of another copy of this package', async () => {
    const copy: typeof errors = await import('../src/errors.ts?copy' as string);
    const copied = copy.errorOf({ ...WHOLE, kind: 'conflict', message: WHOLE.detail });
    assert.ok(!(copied instanceof SnapshotterError));
    assert.ok(isSnapshotterError(copied));
    assert.deepEqual(members(asSnapshotterError(copied)), WHOLE);
  });

  test('knows errors of another realm', () => {
    const properties = { ...thrown('SNAPSHOT_HAS_DEPENDENTS', 'conflict') };
    const error: unknown = runInNewContext(
      'Object.assign(new Error("SNAPSHOT_HAS_DEPENDENTS: It went wrong. Put it right."), properties)',
      { properties },
    );
    assert.ok(!(error instanceof Error) && isSnapshotterError(error));
    assert.deepEqual(members(asSnapshotterError(error)), WHOLE);
  });
});

describe('the table of kinds', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

  test('is that of the snapshotter', () => {
    const declared = read('../../src/model/code.rs').matchAll(/= "([A-Z0-9_]+)", ([A-Z]\w+);/g);
    const snake = (kind: string) => kind.replace(/\B[A-Z]/g, '_$&').toLowerCase();
    const kinds = [...declared].map(([, code = '', kind = '']): [string, string] => [code, snake(kind)]);
    assert.ok(kinds.length > 50);
    assert.deepEqual({ ...KINDS }, Object.fromEntries(kinds));
  });

  test('has the codes of the schema', () => {
    const schema = JSON.parse(read('../schema.json'));
    assert.deepEqual(Object.keys(KINDS).sort(), schema.$defs.Code.enum.sort());
  });
});
