// Tests of what the console says of files that an earlier start may have lost.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ConsoleFixture } from './browser.ts';

const fixture = new ConsoleFixture();

const WARNING = 'Changes that are in no snapshot may be lost.';

test('a start that may have lost files is a warning with a link, and a remark in the history after a stop', async () => {
  await fixture.createWorkspaces('past', ['desk']);
  const desk = fixture.world.workspace('desk', 'past');
  await desk.exec('echo saved >file');
  await desk.stop();
  await desk.start();
  await desk.exec('echo unsaved >file');
  await desk.endContainer();
  await desk.start();
  await using tab = await fixture.signedIn('#/workspaces/past/desk');
  const warning = tab.page.locator('.remark').filter({ hasText: WARNING });
  await warning.waitFor();
  await warning.getByText('The last start restored').waitFor();
  const { restoredFrom } = await fixture.world.rpc('workspaces/getByName', { tenant: 'past', name: 'desk' });
  const id = restoredFrom?.snapshotId ?? '';
  await warning.getByRole('link', { name: id }).click();
  await tab.details.getByText(id).first().waitFor();

  await desk.stop();
  await tab.page.reload();
  await tab.signIn();
  await tab.visit('#/workspaces/past/desk');
  await tab.page.getByText('Settings and history').click();
  const past = tab.page.getByText('At its last start, files may have been lost: it was restored from');
  await past.getByRole('link', { name: id }).waitFor();
  assert.equal(await warning.count(), 0);
  await tab.visit('#/workspaces/past');
  await tab.page.getByRole('row', { name: /^desk / }).waitFor();
  assert.equal(await tab.page.getByText('may be lost').count(), 0);
});
