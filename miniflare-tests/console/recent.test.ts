// Tests of the list of recent sandboxes on the start page.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { ConsoleFixture } from './browser.ts';

const fixture = new ConsoleFixture({}, async (world) => {
  for (const sandboxId of ['ada', 'bob']) await world.exec(sandboxId, 'echo x >file');
});

describe('the recent sandboxes', () => {
  test('are those that were opened in this browser, the latest first', async () => {
    await using tab = await fixture.signedIn();
    const recent = tab.page.getByRole('region', { name: 'Recent sandboxes' });
    await recent.getByText('None yet').waitFor();
    await recent.getByText('The Worker does not list sandboxes without a workspace.').waitFor();
    for (const sandboxId of ['ada', 'bob']) await tab.sandbox(sandboxId);
    await tab.visit('#/sandboxes/unknown');
    await tab.page.getByText('The sandbox unknown is not running').waitFor();
    await tab.link('Workspaces').click();
    assert.deepEqual(await recent.getByRole('link').allInnerTexts(), ['bob', 'ada']);
    await tab.page.reload();
    await tab.signIn();
    await recent.getByRole('link', { name: 'ada' }).click();
    await tab.node('Sandbox ada').waitFor();
  });

  test('are removed on request', async () => {
    await using tab = await fixture.atSandbox('ada');
    await tab.link('Workspaces').click();
    await tab.link('ada').waitFor();
    await tab.button('Clear the recent sandboxes').click();
    await tab.page.getByText('None yet').waitFor();
    assert.ok(!(await tab.evaluate<string>('JSON.stringify({ ...localStorage })')).includes('ada'));
  });

  test('are kept for each tab if the browser has an invalid list', async () => {
    await using tab = await fixture.open();
    await tab.evaluate(`localStorage.setItem('snapshotter-recent-sandboxes', '[{"sandboxId": 1}, null]')`);
    await tab.page.reload();
    await tab.signIn();
    await tab.page.getByText('None yet').waitFor();
  });
});
