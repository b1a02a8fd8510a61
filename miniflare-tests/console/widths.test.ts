// Tests of the pages at the widths of phones, tablets and screens.

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import type { Tree, TreeSandbox } from '../../client/src/index.ts';
import { ConsoleFixture, type Tab } from './browser.ts';

const fixture = new ConsoleFixture();

/** A lineage of 8 generations, each sandbox with the id that its restore gave it. */
const lineage: Tree = { root: generation(0, 'agent-arja02apdc'), sandboxes: 8, truncated: false };

function generation(at: number, sandboxId: string): TreeSandbox {
  const derived = at < 7 ? [generation(at + 1, `${sandboxId.slice(0, 40)}-branch-0000000${at}`)] : [];
  const state = at === 3 ? 'deleted' : 'ready';
  const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString();
  return {
    sandboxId,
    running: at % 2 === 0,
    ...(at > 0 && { lineage: at % 2 === 0 ? 'branch' : 'restored' }),
    snapshots: [
      {
        snapshotId: `snap-${at}`,
        label: `snap-20261130-14374${at}`,
        state,
        cause: 'beforeRollback',
        pinned: false,
        dependents: [],
        sizeBytes: 94_000,
        createdAt: '2026-11-20T12:00:00Z',
        expiresAt,
        derived,
      },
    ],
  };
}

/** An expression: the texts of badges that are not visible. */
const HIDDEN_WORDS = `[...document.querySelectorAll('.tree .badge')].filter((badge) =>
  ![...badge.querySelectorAll('bdi')].some((text) => text.clientWidth > 20 || text.getBoundingClientRect().width > 20)
).map((badge) => badge.textContent)`;

/** An expression: for each row, whether its signs are below its name. */
const LAYOUTS = `[...document.querySelectorAll('.tree .face')].map((face) => {
  const name = face.querySelector('.name').getBoundingClientRect();
  return face.querySelector('.badge').getBoundingClientRect().top >= name.bottom;
})`;

/** An expression: the ends of the names that are visible. */
const ENDS = `[...document.querySelectorAll('.tree .row.sandbox .tail')].map((end) => {
  const { right } = end.closest('.row').getBoundingClientRect();
  return end.getBoundingClientRect().right <= right ? end.textContent : '';
})`;

async function atTree(width: number): Promise<Tab> {
  const tab = await fixture.signedIn(undefined, { viewport: { width, height: 1000 } });
  await tab.page.route('**/v1/lineage', (route) => route.fulfill({ json: lineage }));
  await tab.sandbox('agent-arja02apdc');
  return tab;
}

for (const width of [320, 360, 768, 1024, 1440])
  describe(`at ${width} pixels`, () => {
    test('every sign of the tree has its words, and all rows have the same layout', async () => {
      await using tab = await atTree(width);
      assert.deepEqual(await tab.evaluate(HIDDEN_WORDS), []);
      assert.equal(new Set(await tab.evaluate<boolean[]>(LAYOUTS)).size, 1);
    });

    test('a long name in the tree shows its beginning and its end', async () => {
      await using tab = await atTree(width);
      const ends = await tab.evaluate<string[]>(ENDS);
      assert.deepEqual(ends.slice(1), [
        '-00000000',
        '-00000001',
        '-00000002',
        '-00000003',
        '-00000004',
        '-00000005',
        '-00000006',
      ]);
      const name = tab.page.locator('.tree .row.sandbox .name').last();
      assert.match((await name.getAttribute('title')) ?? '', /^agent-arja02apdc.*-branch-00000006$/);
      const head = await name.locator('.head').boundingBox();
      assert.ok(head && head.width > 40, `${head?.width} pixels of the beginning`);
    });
  });

describe('the buttons of a workspace', () => {
  before(() => fixture.createWorkspaces('wide', ['desk']));

  for (const width of [320, 360, 768])
    test(`have no row with only the deletion at ${width} pixels`, async () => {
      await using tab = await fixture.signedIn('#/workspaces/wide/desk', {
        viewport: { width, height: 800 },
      });
      const tops = await Promise.all(
        ['Fork desk…', 'Promote to desk…', 'Delete desk…'].map(
          async (name) => (await tab.button(name).boundingBox())?.y,
        ),
      );
      assert.equal(new Set(tops).size, 1, tops.join(' '));
      const first = await tab.link('Files and commands').boundingBox();
      const fork = await tab.button('Fork desk…').boundingBox();
      assert.equal(fork?.x, first?.x);
    });
});

describe('the list of workspaces', () => {
  before(async () => {
    await fixture.createWorkspaces('dense', ['a-workspace-of-a-team']);
    const desk = fixture.world.workspace('a-workspace-of-a-team', 'dense');
    await desk.stop();
    await desk.start();
  });

  for (const width of [961, 1000, 1100])
    test(`fits an active workspace that was restored at ${width} pixels`, async () => {
      await using tab = await fixture.signedIn('#/workspaces/dense', { viewport: { width, height: 800 } });
      await tab.page.getByText(', restored').waitFor();
      const table = await tab.page.locator('.workspaces').boundingBox();
      assert.ok(
        table && table.x + table.width <= width - 20,
        `${(table?.x ?? 0) + (table?.width ?? 0)} pixels`,
      );
    });
});

test('the pages of a tenant have the link to its workspaces marked', async () => {
  await using tab = await fixture.signedIn('#/usage/default');
  await tab.page.locator('.top nav [aria-current=true]').getByText('Workspaces').waitFor();
});

for (const width of [360, 1440])
  test(`the deletion of a snapshot is next to another button at ${width} pixels`, async () => {
    const tenant = `beside-${width}`;
    await fixture.createWorkspaces(tenant, ['desk']);
    const taken = await fixture.world.snapshot(await fixture.world.workspace('desk', tenant).sandboxId());
    const { originId: sandboxId, snapshotId } = taken.ref;
    const address = `#/workspaces/${tenant}/desk?sandbox=${sandboxId}&snapshot=${snapshotId}`;
    await using tab = await fixture.signedIn(address, { viewport: { width, height: 900 } });
    const buttons = [
      tab.details.getByRole('button', { name: 'Label…' }),
      tab.details.getByRole('button', { name: 'Delete…' }),
    ];
    const [label, deletion] = await Promise.all(buttons.map((button) => button.boundingBox()));
    assert.ok(label && label.y === deletion?.y);
  });
