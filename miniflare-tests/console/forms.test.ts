// Tests of the errors of invalid fields.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { violations } from './accessibility.ts';
import { ConsoleFixture } from './browser.ts';

const fixture = new ConsoleFixture();

test('an invalid name of a workspace has its error next to the field, until it is valid', async () => {
  await using tab = await fixture.signedIn('#/workspaces/forms');
  await tab.button('New workspace…').click();
  const name = tab.field('Name');
  await name.fill('-bad name');
  await tab.button('Create').click();
  const error = tab.dialog.getByRole('alert');
  assert.equal(await error.innerText(), '“-bad name” is not a valid name.');
  await tab.dialog.getByText('1 to 63 letters').waitFor();
  assert.equal(await name.getAttribute('aria-invalid'), 'true');
  assert.equal(await name.evaluate((at) => at === at.ownerDocument.activeElement), true);
  const [above, below] = [await name.boundingBox(), await error.boundingBox()];
  assert.ok(above && below && below.y >= above.y + above.height && below.y < above.y + above.height + 16);
  assert.deepEqual(await violations(tab, {}), []);
  await name.fill('good');
  await error.waitFor({ state: 'detached' });
  await tab.button('Create').click();
  await tab.page.getByRole('heading', { name: 'good', exact: true }).waitFor();
});

test('an empty field that is required has its error, and the first invalid field has the focus', async () => {
  await fixture.createWorkspaces('forms-2', ['desk']);
  await using tab = await fixture.signedIn('#/workspaces/forms-2/desk');
  await tab.button('Fork desk…').click();
  const amount = tab.field('Number of forks');
  await amount.fill('');
  await tab.button('Fork').click();
  assert.notEqual(await tab.dialog.getByRole('alert').innerText(), '');
  assert.equal(await amount.evaluate((at) => at === at.ownerDocument.activeElement), true);
});
