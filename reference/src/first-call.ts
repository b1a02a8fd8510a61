// The example of the start page. It needs no sandbox: the first call creates one.

import { EXAMPLE_ADDRESS } from './address.ts';
import type { Example } from './examples.ts';

/** The first call, and what precedes it. */
export const FIRST_CALL: Example[] = [
  {
    language: 'curl',
    title: 'curl',
    code: `export SNAPSHOTTER_ADDRESS=${EXAMPLE_ADDRESS}
export SNAPSHOTTER_TOKEN=…

curl "$SNAPSHOTTER_ADDRESS/v1/workspaces/getOrCreate" \\
  -H "Authorization: Bearer $SNAPSHOTTER_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{ "name": "notebook" }'`,
  },
  {
    language: 'typescript',
    title: 'TypeScript',
    code: `import { http, SnapshotterClient } from 'sandbox-snapshotter-client';

const url = '${EXAMPLE_ADDRESS}';
const token = process.env['SNAPSHOTTER_TOKEN'] ?? '';
const snapshotter = new SnapshotterClient(http({ url, token }));

const name = 'notebook';
const workspace = await snapshotter.workspaces.getOrCreate({ name });
const { sandboxId } = workspace;
const ref = await snapshotter.snapshot({ sandboxId });`,
  },
  {
    language: 'cli',
    title: 'Command line',
    code: `export SNAPSHOTTER_ADDRESS=${EXAMPLE_ADDRESS}
export SNAPSHOTTER_TOKEN=…

snapshotter workspace create notebook --or-start
snapshotter snapshot create @notebook --label first`,
  },
];
