// The addresses in examples, which the script of the page replaces by that of the Worker.

/** The address of a Worker in examples. */
export const EXAMPLE_ADDRESS = 'https://sandbox-snapshotter.example.workers.dev';

/** The address of the Worker in examples that run on the reader's machine. */
export const LOCAL_ADDRESS = 'http://127.0.0.1:8787';

/** The address of the agent beside {@link LOCAL_ADDRESS}: the next port. */
const LOCAL_AGENT = 'http://127.0.0.1:8788';

const ADDRESSES = new RegExp(
  [EXAMPLE_ADDRESS, LOCAL_ADDRESS, LOCAL_AGENT].map((text) => `${text}\\b`).join('|'),
  'g',
);

/**
 * Returns an example with the addresses of a Worker that runs at `origin`. Those of a local Worker and its agent are replaced only by
 * local ones: a deployed Worker does not run on the reader's machine.
 */
export function withAddress(example: string, origin: string): string {
  const { protocol, hostname, port } = new URL(origin);
  const isLocal = protocol === 'http:' && /^(127\.|localhost$|\[::1\]$)/.test(hostname);
  const agent = `${protocol}//${hostname}:${Number(port || 80) + 1}`;
  return example.replaceAll(ADDRESSES, (address) => {
    if (address !== EXAMPLE_ADDRESS && !isLocal) return address;
    return address === LOCAL_AGENT ? agent : origin;
  });
}
