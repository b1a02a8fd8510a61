// Tests of the reader that keeps a value up to date.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';

import { advance, flush, page, win } from './page.ts';

const { Reader, refresh } = await import('../src/live.ts');
type Schedule = ConstructorParameters<typeof Reader>[1];

/** A source whose reads stay pending until the test answers them. */
class FakeSource {
  readonly reads: (PromiseWithResolvers<unknown> & { signal: AbortSignal })[] = [];
  /** Whether an aborted read stays pending. */
  ignoresAbort = false;

  read = ({ signal }: { signal: AbortSignal }) => {
    const pending = { ...Promise.withResolvers<unknown>(), signal };
    signal.addEventListener('abort', () => this.ignoresAbort || pending.reject(new Error('aborted')));
    this.reads.push(pending);
    return pending.promise;
  };

  /** Answers the last read. */
  async answer(value: unknown) {
    this.reads.at(-1)?.resolve(value);
    await flush();
  }

  /** Fails the last read. */
  async fail() {
    this.reads.at(-1)?.reject(new Error('failed'));
    await flush();
  }
}

describe('the reader', () => {
  let source: FakeSource;
  let reader: InstanceType<typeof Reader>;

  function begin(schedule?: Schedule) {
    source = new FakeSource();
    reader = new Reader(source.read, schedule);
    reader.start();
  }

  beforeEach(() => begin());
  afterEach(() => {
    reader.stop();
    page.setVisible(true);
    mock.restoreAll();
  });

  test('reads at once, and again 4 seconds after a read', async () => {
    await source.answer(1);
    assert.equal(reader.value.value, 1);
    await advance(3_999);
    assert.equal(source.reads.length, 1);
    await advance(1);
    assert.equal(source.reads.length, 2);
  });

  test('uses the interval of its schedule', async () => {
    reader.stop();
    begin({ interval: 30_000 });
    await source.answer(1);
    await advance(29_999);
    assert.equal(source.reads.length, 1);
    await advance(1);
    assert.equal(source.reads.length, 2);
  });

  test('pauses for five times the duration of a slow read', async () => {
    reader.stop();
    let clock = 0;
    mock.method(performance, 'now', () => clock);
    begin();
    clock = 2_000;
    await source.answer(1);
    await advance(9_999);
    assert.equal(source.reads.length, 1);
    await advance(1);
    assert.equal(source.reads.length, 2);
  });

  test('keeps the same object while the content does not change', async () => {
    await source.answer({ is: 'same' });
    const before = reader.value.value;
    const readAt = reader.readAt.value ?? 0;
    await advance(4_000);
    await source.answer({ is: 'same' });
    assert.equal(reader.value.value, before);
    assert.equal(reader.readAt.value, readAt + 4_000);
    await advance(4_000);
    await source.answer({ is: 'another' });
    assert.deepEqual(reader.value.value, { is: 'another' });
  });

  test('keeps its value after failures, and doubles the interval with each, up to 60 seconds', async () => {
    await source.answer(1);
    await advance(4_000);
    for (const wait of [8_000, 16_000, 32_000, 60_000, 60_000]) {
      const { length } = source.reads;
      await source.fail();
      assert.match(String(reader.failure.value), /failed/);
      assert.equal(reader.value.value, 1);
      await advance(wait - 1);
      assert.equal(source.reads.length, length);
      await advance(1);
      assert.equal(source.reads.length, length + 1);
    }
    await source.answer(2);
    assert.equal(reader.failure.value, undefined);
    const { length } = source.reads;
    await advance(4_000);
    assert.equal(source.reads.length, length + 1);
  });

  for (const [what, end] of [
    ['answer', (early: PromiseWithResolvers<unknown>) => early.resolve('early')],
    ['failure', (early: PromiseWithResolvers<unknown>) => early.reject(new Error('early'))],
  ] as const)
    test(`ignores the ${what} of a read that a newer read replaced`, async () => {
      source.ignoresAbort = true;
      void reader.refresh();
      const [early, late] = source.reads;
      assert.ok(early?.signal.aborted);
      late?.resolve('late');
      await flush();
      end(early);
      await flush();
      assert.deepEqual([reader.value.value, reader.failure.value], ['late', undefined]);
    });

  test('aborts a read without an answer after 60 seconds', async () => {
    await advance(59_999);
    assert.equal(reader.failure.value, undefined);
    await advance(1);
    assert.match(String(reader.failure.value), /aborted/);
    await advance(8_000);
    assert.equal(source.reads.length, 2);
  });

  test('stops reading while the page is hidden, and reads at once when the page is visible again', async () => {
    page.setVisible(false);
    assert.ok(source.reads[0]?.signal.aborted);
    await advance(600_000);
    assert.equal(source.reads.length, 1);
    assert.equal(reader.failure.value, undefined);
    page.setVisible(true);
    assert.equal(source.reads.length, 2);
  });

  test('reads at once when the browser is online again', async () => {
    await source.fail();
    win.dispatchEvent(new Event('online'));
    assert.equal(source.reads.length, 2);
  });

  test('stops reading after stop(), which resolves a pending refresh', async () => {
    await source.answer(1);
    const refreshed = reader.refresh();
    reader.stop();
    await refreshed;
    await advance(600_000);
    page.setVisible(true);
    win.dispatchEvent(new Event('online'));
    await refresh();
    assert.equal(source.reads.length, 2);
  });
});

describe('refresh', () => {
  test('reads all values on the page except independent ones', async () => {
    const [dependent, independent] = [new FakeSource(), new FakeSource()];
    const readers = [new Reader(dependent.read), new Reader(independent.read, { isIndependent: true })];
    for (const reader of readers) reader.start();
    let isDone = false;
    void refresh().then(() => (isDone = true));
    await flush();
    assert.deepEqual([dependent.reads.length, independent.reads.length, isDone], [2, 1, false]);
    await dependent.answer(1);
    assert.ok(isDone);
    for (const reader of readers) reader.stop();
  });
});
