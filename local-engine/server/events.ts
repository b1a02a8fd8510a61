/** Server-sent events, in which the SDK expects streams of output and of files. */

/** Encodes one event. */
export function encodeEvent(event: object): Uint8Array {
  return Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
}

/** Returns a stream of the events that `produce` sends. It ends when `produce` ends. */
export function eventStream(
  produce: (send: (event: object) => void) => Promise<void>,
): ReadableStream<Uint8Array> {
  let open = true;
  return new ReadableStream({
    start(controller) {
      const send = (event: object) => {
        if (open) controller.enqueue(encodeEvent({ timestamp: new Date().toISOString(), ...event }));
      };
      void produce(send)
        .catch((error: Error) => send({ type: 'error', error: error.message, data: error.message }))
        .finally(() => open && controller.close());
    },
    cancel() {
      open = false;
    },
  });
}
