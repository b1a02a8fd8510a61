// The example of the start page.

import type { Example } from './examples.ts';

/** The first call, and what precedes it. */
export const FIRST_CALL: Example[] = [
  {
    language: 'curl',
    title: 'curl',
    code: `export SNAPSHOTTER=https://sandbox-snapshotter.example.workers.dev
export API_TOKEN=…

curl "$SNAPSHOTTER/v1/snapshot" \\
  -H "Authorization: Bearer $API_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{ "sandboxId": "agent-42" }'`,
  },
  {
    language: 'typescript',
    title: 'TypeScript',
    code: `import { http, SnapshotterClient } from 'sandbox-snapshotter-client';

const url = 'https://sandbox-snapshotter.example.workers.dev';
const token = process.env['API_TOKEN'] ?? '';
const snapshotter = new SnapshotterClient(http({ url, token }));

const ref = await snapshotter.snapshot({ sandboxId: 'agent-42' });
const workspace = await snapshotter.restore({ ref });`,
  },
  {
    language: 'cli',
    title: 'Command line',
    code: `export SNAPSHOTTER_ADDRESS=https://sandbox-snapshotter.example.workers.dev
export SNAPSHOTTER_TOKEN=…

snapshotter snapshot create agent-42 --label before-upgrade
snapshotter restore agent-42 before-upgrade`,
  },
];
