// Reads archives in R2 with a WebAssembly module of its own, which is loaded at its first use.

/** The maximum number of archives that are read at the same time. Each takes up to 32 MB of the 128 MB of an isolate. */
const MAX_ARCHIVES = 3;

/** How long a download must not have been read before another request may end it, in milliseconds. */
const IDLE = 30_000;

let reader;
let archives = 0;

/** The downloads that are open. */
const downloads = new Set();

async function load() {
  const [loaded, { default: module }] = await Promise.all([
    import('../build/archive.js'),
    import('../build/archive_bg.wasm'),
  ]);
  loaded.initSync({ module });
  return loaded;
}

/**
 * Answers a request about the archives at some keys of a bucket: about one archive, or about two. The request and the
 * answer are JSON: `protocol.rs` of the crate `snapshot-archive` has their types. Returns the answer and the bytes of a
 * file; or the index of a key without an object.
 */
export async function readArchives(bucket, keys, request) {
  reserve(keys.length);
  try {
    const objects = await Promise.all(keys.map((key) => bucket.head(key)));
    const missing = objects.indexOf(null);
    if (missing !== -1) return missing;
    const sources = objects.map((object) => source(bucket, object));
    return await withReader((loaded) => loaded.call(sources, request));
  } finally {
    archives -= keys.length;
  }
}

/**
 * Opens a download from the archive at a key of a bucket. The request is JSON. Returns the download with the outcome as
 * JSON, or null if there is no such object.
 */
export async function openDownload(bucket, key, request) {
  reserve(1);
  let download;
  try {
    const object = await bucket.head(key);
    if (!object) return null;
    const open = (loaded) => loaded.openDownload(source(bucket, object), request);
    const [outcome, content] = await withReader(open);
    if (content) download = new Download(content);
    return {
      outcome,
      etag: object.etag,
      stream: (ctx, signal, start, end) => {
        // The event of a client that disconnects ends at once, unless something waits for it.
        ctx.waitUntil(download.closed);
        signal?.addEventListener('abort', () => download.close());
        return download.stream(start, end);
      },
      close: () => download?.close(),
    };
  } finally {
    if (!download) archives -= 1;
  }
}

/** A download, which reserves memory until it has been read, is cancelled, or is idle while another request needs it. */
class Download {
  /** Settles when the download is closed. */
  closed;
  #setClosed;
  #content;
  #readAt = Date.now();
  #isReading = false;

  constructor(content) {
    this.#content = content;
    this.closed = new Promise((resolve) => (this.#setClosed = resolve));
    downloads.add(this);
  }

  isIdle() {
    return !this.#isReading && Date.now() - this.#readAt > IDLE;
  }

  close() {
    if (!downloads.delete(this)) return;
    archives -= 1;
    this.#content = undefined;
    this.#setClosed();
  }

  /** Returns the bytes of a file from `start` to `end`; without them, all bytes of a tar. */
  stream(start, end) {
    if (end !== undefined) this.#content.setRange(start, end);
    const bytes = new ReadableStream({
      type: 'bytes',
      pull: (controller) => this.#pull(controller),
      cancel: () => this.close(),
    });
    if (end === undefined) return bytes;
    // Only a stream of a known length gives the response a `Content-Length`.
    const { readable, writable } = new FixedLengthStream(end - start);
    bytes.pipeTo(writable).catch(() => this.close());
    return readable;
  }

  async #pull(controller) {
    if (!this.#content) throw new Error('the download was not read for too long, and was ended');
    this.#isReading = true;
    try {
      const content = this.#content;
      const part = await withReader(() => content.next());
      if (part) controller.enqueue(part);
      else {
        controller.close();
        controller.byobRequest?.respond(0);
        this.close();
      }
    } catch (thrown) {
      this.close();
      throw thrown;
    } finally {
      this.#isReading = false;
      this.#readAt = Date.now();
    }
  }
}

/** Reserves memory for archives. */
function reserve(count) {
  for (const download of downloads)
    if (archives + count > MAX_ARCHIVES && download.isIdle()) download.close();
  if (archives + count > MAX_ARCHIVES)
    throw new Error(`${archives} archives are being read at the same time, of at most ${MAX_ARCHIVES}`);
  archives += count;
}

/** Calls the module. Resets it after a trap, so that later calls work. */
async function withReader(call) {
  // The module is shared, and not the promise: a request must not wait for another one.
  reader ??= await load();
  try {
    return await call(reader);
  } catch (thrown) {
    if (thrown instanceof WebAssembly.RuntimeError) reader.__wbg_reset_state();
    throw thrown;
  }
}

/** Returns an object as the module reads it: by range, and no other one that replaces it. */
function source(bucket, { key, size, etag }) {
  return {
    size,
    async read(offset, length) {
      const part = await bucket.get(key, { range: { offset, length }, onlyIf: { etagMatches: etag } });
      if (!part?.body) throw new Error('the archive was replaced or deleted while it was read');
      return new Uint8Array(await part.arrayBuffer());
    },
  };
}
