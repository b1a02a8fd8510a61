// The events of a command that runs, and how its caller ends it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ExecStream } from '../src/exec-stream.ts';

/** Returns a body with one event, which then stays open, and whether it was cancelled. */
function openBody() {
  const state = { isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      controller.enqueue(new TextEncoder().encode('event: stdout\ndata: {"data":"begun\\n"}\n\n')),
    cancel: () => void (state.isCancelled = true),
  });
  return { body, state };
}

/** Reads all events. Calls `meanwhile` after the first one. */
async function readAll(stream: ExecStream, meanwhile: () => unknown): Promise<void> {
  for await (const event of stream) {
    assert.equal(event.type, 'stdout');
    void meanwhile();
  }
}

test('cancel() ends an iteration that waits with ABORTED', async () => {
  const { body, state } = openBody();
  const stream = new ExecStream(body);
  await assert.rejects(
    readAll(stream, () => stream.cancel()),
    { code: 'ABORTED', detail: 'The stream was ended by `cancel()`.' },
  );
  assert.ok(state.isCancelled);
});

test('cancel() before the iteration cancels the body', async () => {
  const { body, state } = openBody();
  await new ExecStream(body).cancel();
  assert.ok(state.isCancelled);
});

test('a signal that fires ends the iteration with ABORTED', async () => {
  const signalled = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('event: stdout\ndata: {"data":"begun\\n"}\n\n'));
      signalled.signal.addEventListener('abort', () => controller.error(signalled.signal.reason));
    },
  });
  await assert.rejects(
    readAll(new ExecStream(body, signalled.signal), () => signalled.abort()),
    { code: 'ABORTED', detail: "The caller's AbortSignal fired." },
  );
});

test('a stream that is cut off is a lost answer', async () => {
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  await assert.rejects(
    readAll(new ExecStream(body), () => {}),
    { code: 'ANSWER_LOST' },
  );
});
