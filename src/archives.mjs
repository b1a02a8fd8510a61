// Reads archives in R2 with a WebAssembly module of its own, which is loaded at its first use.

/** The maximum number of snapshots that are read at the same time. Each takes up to 32 MB of the 128 MB of an isolate. */
const MAX_SNAPSHOTS = 3;

/** How long a download must not have been read before another request may end it, in milliseconds. */
const IDLE = 30_000;

let reader;
let open = 0;

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
 * Answers a request about one snapshot, or about two, or about one and the listing of a container. `snapshots` is JSON: the keys of the archives of each in a bucket, and
 * the hash that its carrier must have, if it is a delta. The request and the answer are JSON, too: `protocol.rs` of the crate
 * `snapshot-archive` has their types. Returns the answer and the bytes of a file; or a key without an object.
 */
export async function readArchives(bucket, snapshots, request, listing) {
  snapshots = JSON.parse(snapshots);
  reserve(snapshots.length);
  try {
    const { missing, objects } = await findObjects(bucket, snapshots);
    if (missing) return missing;
    const sources = objects.map((object) => source(bucket, object));
    return await withReader((loaded) => loaded.call(sources, heads(snapshots), request, listing));
  } finally {
    open -= snapshots.length;
  }
}

/**
 * Opens a download from a snapshot, which is given as to `readArchives`. Returns the download with the outcome as JSON, or a
 * key without an object.
 */
export async function openDownload(bucket, snapshots, request) {
  snapshots = JSON.parse(snapshots);
  reserve(1);
  let download;
  try {
    const { missing, objects } = await findObjects(bucket, snapshots);
    if (missing) return missing;
    const sources = objects.map((object) => source(bucket, object));
    const [outcome, content] = await withReader((loaded) =>
      loaded.openDownload(sources, heads(snapshots), request),
    );
    if (content) download = new Download(content);
    return {
      outcome,
      etag: objects.map((object) => object.etag).join('-'),
      stream: (ctx, signal, start, end) => {
        // The event of a client that disconnects ends at once, unless something waits for it.
        ctx.waitUntil(download.closed);
        signal?.addEventListener('abort', () => download.close());
        return download.stream(start, end);
      },
      close: () => download?.close(),
    };
  } finally {
    if (!download) open -= 1;
  }
}

/** Returns the objects of all archives, or a key without an object. */
async function findObjects(bucket, snapshots) {
  const keys = snapshots.flatMap((snapshot) => snapshot.keys);
  const objects = await Promise.all(keys.map((key) => bucket.head(key)));
  return { missing: keys[objects.indexOf(null)], objects };
}

/** Returns the hashes of the heads of carriers, as the module takes them. */
const heads = (snapshots) => snapshots.map((snapshot) => snapshot.head ?? '');

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
    open -= 1;
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

/** Reserves memory for snapshots. */
function reserve(count) {
  for (const download of downloads) if (open + count > MAX_SNAPSHOTS && download.isIdle()) download.close();
  if (open + count > MAX_SNAPSHOTS)
    throw new Error(`${open} snapshots are being read at the same time, of at most ${MAX_SNAPSHOTS}`);
  open += count;
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
