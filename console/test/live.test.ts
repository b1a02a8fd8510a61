// Reading again what is shown.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';

import { page, pass, settled, win } from './page.ts';

const { Reader, refresh } = await import('../src/live.ts');
type Pace = ConstructorParameters<typeof Reader>[1];

/** Something that is read: each reading waits to be answered. */
class Source {
  readonly readings: (PromiseWithResolvers<unknown> & { signal: AbortSignal })[] = [];
  /** Whether a reading that is aborted goes on all the same. */
  isDeaf = false;

  read = (signal: AbortSignal) => {
    const reading = { ...Promise.withResolvers<unknown>(), signal };
    signal.addEventListener('abort', () => this.isDeaf || reading.reject(new Error('aborted')));
    this.readings.push(reading);
    return reading.promise;
  };

  /** Answers the last reading. */
  async answer(value: unknown) {
    this.readings.at(-1)?.resolve(value);
    await settled();
  }

  /** Lets the last reading fail. */
  async fail() {
    this.readings.at(-1)?.reject(new Error('no'));
    await settled();
  }
}

describe('a reader', () => {
  let source: Source;
  let reader: InstanceType<typeof Reader>;

  function begin(pace?: Pace) {
    source = new Source();
    reader = new Reader(source.read, pace);
    reader.start();
  }

  beforeEach(() => begin());
  afterEach(() => {
    reader.stop();
    page.show(true);
    mock.restoreAll();
  });

  test('reads at once, and again four seconds after it has read', async () => {
    await source.answer(1);
    assert.equal(reader.value.value, 1);
    await pass(3_999);
    assert.equal(source.readings.length, 1);
    await pass(1);
    assert.equal(source.readings.length, 2);
  });

  test('keeps its pace where it has one of its own', async () => {
    reader.stop();
    begin({ every: 30_000 });
    await source.answer(1);
    await pass(29_999);
    assert.equal(source.readings.length, 1);
    await pass(1);
    assert.equal(source.readings.length, 2);
  });

  test('spares what is slow to answer: there is a pause of five times as long', async () => {
    reader.stop();
    let clock = 0;
    mock.method(performance, 'now', () => clock);
    begin();
    clock = 2_000;
    await source.answer(1);
    await pass(9_999);
    assert.equal(source.readings.length, 1);
    await pass(1);
    assert.equal(source.readings.length, 2);
  });

  test('has the same object for as long as nothing differs', async () => {
    await source.answer({ is: 'same' });
    const before = reader.value.value;
    const readAt = reader.readAt.value ?? 0;
    await pass(4_000);
    await source.answer({ is: 'same' });
    assert.equal(reader.value.value, before);
    assert.equal(reader.readAt.value, readAt + 4_000);
    await pass(4_000);
    await source.answer({ is: 'another' });
    assert.deepEqual(reader.value.value, { is: 'another' });
  });

  test('keeps what it read where it fails, and waits twice as long each time, up to a minute', async () => {
    await source.answer(1);
    await pass(4_000);
    for (const wait of [8_000, 16_000, 32_000, 60_000, 60_000]) {
      const { length } = source.readings;
      await source.fail();
      assert.match(String(reader.failure.value), /no/);
      assert.equal(reader.value.value, 1);
      await pass(wait - 1);
      assert.equal(source.readings.length, length);
      await pass(1);
      assert.equal(source.readings.length, length + 1);
    }
    await source.answer(2);
    assert.equal(reader.failure.value, undefined);
    const { length } = source.readings;
    await pass(4_000);
    assert.equal(source.readings.length, length + 1);
  });

  for (const [what, end] of [
    ['answer', (early: PromiseWithResolvers<unknown>) => early.resolve('early')],
    ['failure', (early: PromiseWithResolvers<unknown>) => early.reject(new Error('early'))],
  ] as const)
    test(`takes no ${what} of a reading that another one followed`, async () => {
      source.isDeaf = true;
      void reader.refresh();
      const [early, late] = source.readings;
      assert.ok(early?.signal.aborted);
      late?.resolve('late');
      await settled();
      end(early);
      await settled();
      assert.deepEqual([reader.value.value, reader.failure.value], ['late', undefined]);
    });

  test('gives up a reading that nobody answers for a minute', async () => {
    await pass(59_999);
    assert.equal(reader.failure.value, undefined);
    await pass(1);
    assert.match(String(reader.failure.value), /aborted/);
    await pass(8_000);
    assert.equal(source.readings.length, 2);
  });

  test('reads nothing while nobody looks, and at once when somebody does', async () => {
    page.show(false);
    assert.ok(source.readings[0]?.signal.aborted);
    await pass(600_000);
    assert.equal(source.readings.length, 1);
    assert.equal(reader.failure.value, undefined);
    page.show(true);
    assert.equal(source.readings.length, 2);
  });

  test('reads at once when the network is there again', async () => {
    await source.fail();
    win.dispatchEvent(new Event('online'));
    assert.equal(source.readings.length, 2);
  });

  test('that is stopped reads no more, and leaves nobody waiting', async () => {
    await source.answer(1);
    const asked = reader.refresh();
    reader.stop();
    await asked;
    await pass(600_000);
    page.show(true);
    win.dispatchEvent(new Event('online'));
    await refresh();
    assert.equal(source.readings.length, 2);
  });
});

describe('a change that was made here', () => {
  test('is read by all that show something, and by none that it does not concern', async () => {
    const [shown, apart] = [new Source(), new Source()];
    const readers = [new Reader(shown.read), new Reader(apart.read, { apart: true })];
    for (const reader of readers) reader.start();
    let isRead = false;
    void refresh().then(() => (isRead = true));
    await settled();
    assert.deepEqual([shown.readings.length, apart.readings.length, isRead], [2, 1, false]);
    await shown.answer(1);
    assert.ok(isRead);
    for (const reader of readers) reader.stop();
  });
});
