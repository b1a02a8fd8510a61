// `node --import` of this makes starts of Miniflare fast.
//
// Miniflare writes the configuration of workerd into one buffer, which grows by 4 KB: it copies the WebAssembly in it for most of
// the modules that follow. Here the buffer grows so much that it is copied a few times only, and the memory of the process, which
// each start of a program copies the page tables of, stays small.

import { registerHooks } from 'node:module';

const GROWTH = /(MIN_SINGLE_SEGMENT_GROWTH = )4096;/;

registerHooks({
  load(url, context, nextLoad) {
    if (!url.endsWith('/node_modules/miniflare/dist/src/index.js')) return nextLoad(url, context);
    // Its package does not state the format, and to find it out, Node would compile these 5 MB once more.
    const loaded = nextLoad(url, { ...context, format: 'commonjs' });
    const source = String(loaded.source);
    if (!GROWTH.test(source))
      throw new Error(`${url} does not contain ${GROWTH}: adapt or delete this hook.`);
    return { ...loaded, source: source.replace(GROWTH, '$1 8388608;') };
  },
});
