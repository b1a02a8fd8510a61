// Recognition of errors of the snapshotter, over HTTP and RPC.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { runInNewContext } from 'node:vm';

import * as client from '../src/index.ts';
import { KINDS } from '../src/codes.ts';
import type * as errors from '../src/errors.ts';
import { problem, rpcError } from './fakes.ts';

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

/** Returns the fields of an error. */
function fieldsOf(error: client.SnapshotterError | undefined) {
  assert.ok(error);
  const { code, kind, detail, remediation, retryable } = error;
  return { code, kind, detail, remediation, retryable };
}

const WHOLE = {
  code: 'SNAPSHOT_HAS_DEPENDENTS',
  kind: 'conflict',
  detail: 'The call failed.',
  remediation: 'Change the call.',
  retryable: false,
};

describe('an error of the snapshotter', () => {
  test('is recognized by its properties, over RPC', () => {
    const error = asSnapshotterError(rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    assert.deepEqual(fieldsOf(error), WHOLE);
    assert.equal(error?.message, 'SNAPSHOT_HAS_DEPENDENTS: The call failed. → Change the call.');
    assert.equal(error?.correlationId, 'c0ffee');
  });

  test('is recognized by its members, over HTTP', () => {
    const error = asSnapshotterError(problem('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    assert.deepEqual(fieldsOf(error), WHOLE);
    assert.equal(error?.message, 'SNAPSHOT_HAS_DEPENDENTS: The call failed. → Change the call.');
  });

  test('has a remediation that names operations as this client does', () => {
    const error = asSnapshotterError(
      new Error('WORKSPACE_NOT_FOUND: None. → Create it with `workspaces/create` in `a/b.txt`.'),
    );
    assert.equal(error?.remediation, 'Create it with `workspaces.create` in `a/b.txt`.');
  });

  const FORMS = {
    'by a message with a name prefix, from a Worker with an older compatibility date': new Error(
      'SnapshotterError: SNAPSHOT_HAS_DEPENDENTS: The call failed. → Change the call.',
    ),
    'by its name and message': Object.assign(
      new Error('SNAPSHOT_HAS_DEPENDENTS: The call failed. → Change the call.'),
      {
        name: 'SnapshotterError',
      },
    ),
    'by a message that begins with a defined code': new Error(
      'SNAPSHOT_HAS_DEPENDENTS: The call failed. → Change the call.',
    ),
  };
  for (const [how, error] of Object.entries(FORMS)) {
    test(`is recognized ${how}`, () => {
      const recognized = asSnapshotterError(error);
      assert.deepEqual(fieldsOf(recognized), WHOLE);
      assert.equal(recognized?.message, 'SNAPSHOT_HAS_DEPENDENTS: The call failed. → Change the call.');
    });
  }

  test('has no remediation if its message has none, and one behind a text with an arrow', () => {
    const [none, last] = ['Wait.', 'a → b → Wait.'].map((text) =>
      asSnapshotterError(new Error(`SANDBOX_BUSY: ${text}`)),
    );
    assert.deepEqual([none?.detail, none?.remediation], ['Wait.', '']);
    assert.deepEqual([last?.detail, last?.remediation], ['a → b', 'Wait.']);
  });

  test('is retryable by its code, if it lost its other properties', () => {
    assert.equal(asSnapshotterError(new Error('SnapshotterError: SANDBOX_BUSY: Wait.'))?.retryable, true);
  });

  test('of an undefined kind is recognized by its message', () => {
    const { code, kind } = asSnapshotterError(rpcError('SNAPSHOT_HAS_DEPENDENTS', 'later_kind')) ?? {};
    assert.deepEqual([code, kind], ['SNAPSHOT_HAS_DEPENDENTS', 'conflict']);
  });

  test('has the name by which it is recognized after RPC', () => {
    assert.equal(
      asSnapshotterError(rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict'))?.name,
      'SnapshotterError',
    );
  });

  test('preserves line breaks in its message', () => {
    const error = new Error('SnapshotterError: R2_BINDING_MISSING: Add:\n[[r2_buckets]]\nbinding = "X"');
    assert.equal(asSnapshotterError(error)?.detail, 'Add:\n[[r2_buckets]]\nbinding = "X"');
  });

  test('of an undefined code is recognized by its name', () => {
    const { code, kind } = asSnapshotterError(new Error('SnapshotterError: LATER_CODE: Wait.')) ?? {};
    assert.deepEqual([code, kind], ['LATER_CODE', 'permanent']);
    assert.equal(asSnapshotterError(new Error('LATER_CODE: Wait.')), undefined);
  });

  test('preserves the exception of the platform as its cause', () => {
    const cause = { name: 'BackupCreateError', message: 'no space' };
    assert.deepEqual(asSnapshotterError({ ...problem('BACKUP_FAILED', 'permanent'), cause })?.cause, cause);
  });

  test('preserves how the workspace was started for the call, over RPC and HTTP', () => {
    const started = { how: 'restored', mayHaveLost: true };
    for (const error of [rpcError, problem]) {
      const recognized = asSnapshotterError(Object.assign(error('FILE_NOT_FOUND', 'not_found'), { started }));
      assert.deepEqual(recognized?.started, started);
      assert.deepEqual(recognized?.toJSON().started, started);
    }
  });

  for (const [kind, Class] of Object.entries(CLASSES)) {
    test(`of the kind ${kind} is a ${Class.name}`, () => {
      const error = asSnapshotterError(rpcError('SNAPSHOT_HAS_DEPENDENTS', kind));
      assert.ok(error instanceof Class && error instanceof SnapshotterError && error instanceof Error);
      assert.equal(Object.values(CLASSES).filter((other) => error instanceof other).length, 1);
    });
  }

  test('is returned unchanged if it is an instance', () => {
    const error = asSnapshotterError(rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    assert.equal(asSnapshotterError(error), error);
  });

  test('is equal after a JSON round trip', () => {
    const error = asSnapshotterError(rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict'));
    const again = asSnapshotterError(JSON.parse(JSON.stringify(error)));
    assert.deepEqual(fieldsOf(again), fieldsOf(error));
    assert.equal(again?.message, error?.message);
  });
});

describe('an error of another source', () => {
  const OTHERS = {
    'a TypeError': new TypeError('x is not a function'),
    'an error with a foreign code': Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    'an error whose message looks like a code': new Error('ENOENT: no such file'),
    'an error with the name of another class': new Error('TypeError: SNAPSHOT_HAS_DEPENDENTS: no'),
    'a string': 'SNAPSHOT_HAS_DEPENDENTS: no',
    undefined: undefined,
    null: null,
  };
  for (const [what, value] of Object.entries(OTHERS)) {
    test(`is not recognized: ${what}`, () => {
      assert.equal(asSnapshotterError(value), undefined);
      assert.equal(isSnapshotterError(value), false);
    });
  }
});

describe('isSnapshotterError', () => {
  test('accepts errors of this package, and errors that arrived over RPC', () => {
    const raw = rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict');
    assert.ok(isSnapshotterError(raw));
    assert.ok(isSnapshotterError(asSnapshotterError(raw)));
  });

  test('accepts errors of another copy of this package', async () => {
    const copy: typeof errors = await import('../src/errors.ts?copy' as string);
    const copied = copy.errorOf({ ...WHOLE, kind: 'conflict', message: WHOLE.detail });
    assert.ok(!(copied instanceof SnapshotterError));
    assert.ok(isSnapshotterError(copied));
    assert.deepEqual(fieldsOf(asSnapshotterError(copied)), WHOLE);
  });

  test('accepts errors of another realm', () => {
    const properties = { ...rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict') };
    const error: unknown = runInNewContext(
      'Object.assign(new Error("SNAPSHOT_HAS_DEPENDENTS: The call failed. → Change the call."), properties)',
      { properties },
    );
    assert.ok(!(error instanceof Error) && isSnapshotterError(error));
    assert.deepEqual(fieldsOf(asSnapshotterError(error)), WHOLE);
  });
});

describe('the table of kinds', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

  test('equals the table of the snapshotter', () => {
    const declared = read('../../clients/rust/src/model/code.rs').matchAll(/= "([A-Z0-9_]+)", ([A-Z]\w+);/g);
    const snake = (kind: string) => kind.replace(/\B[A-Z]/g, '_$&').toLowerCase();
    const kinds = [...declared].map(([, code = '', kind = '']): [string, string] => [code, snake(kind)]);
    assert.ok(kinds.length > 50);
    assert.deepEqual({ ...KINDS }, Object.fromEntries(kinds));
  });

  test('contains the codes of the schema', () => {
    const schema = JSON.parse(read('../schema.json'));
    assert.deepEqual(Object.keys(KINDS).sort(), schema.$defs.Code.enum.sort());
  });
});
