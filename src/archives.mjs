// Reads archives in R2 with a WebAssembly module of its own, which is loaded at its first use.

/** The maximum number of requests at the same time. Each takes up to 32 MB of the 128 MB that an isolate has. */
const MAX_REQUESTS = 3;

let reader;
let requests = 0;

async function load() {
  const [loaded, { default: module }] = await Promise.all([
    import('../build/archive.js'),
    import('../build/archive_bg.wasm'),
  ]);
  loaded.initSync({ module });
  return loaded;
}

/**
 * Answers a request about the archive at a key of a bucket. The request and the answer are JSON: `protocol.rs` of the crate
 * `snapshot-archive` has their types. Returns the answer and the bytes of a file, or null if there is no such object.
 */
export async function readArchive(bucket, key, request) {
  if (requests === MAX_REQUESTS) throw new Error(`${MAX_REQUESTS} archives are being read at the same time`);
  requests += 1;
  try {
    // The module is shared, and not the promise: a request must not wait for another one.
    reader ??= await load();
    const object = await bucket.head(key);
    return object && (await reader.call(source(bucket, object), request));
  } catch (thrown) {
    if (thrown instanceof WebAssembly.RuntimeError) reader.__wbg_reset_state();
    throw thrown;
  } finally {
    requests -= 1;
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
