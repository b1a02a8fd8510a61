// Places, and their addresses.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { win } from './page.ts';

const { go, href, place, read } = await import('../src/routes.ts');
type Place = ReturnType<typeof read>;

const PLACES: [string, Place][] = [
  ['#/workspaces/default', { at: 'workspaces', tenant: 'default' }],
  ['#/workspaces/a%2Fb?prefix=x+y&after=c', { at: 'workspaces', tenant: 'a/b', prefix: 'x y', after: 'c' }],
  ['#/workspaces/default/desk', { at: 'workspace', tenant: 'default', name: 'desk' }],
  ['#/sandboxes/agent%3F%23', { at: 'sandbox', sandboxId: 'agent?#' }],
  [
    '#/sandboxes/agent?sandbox=other&snapshot=snap-1',
    { at: 'sandbox', sandboxId: 'agent', selected: { sandboxId: 'other', snapshotId: 'snap-1' } },
  ],
  [
    '#/workspaces/default/desk?sandbox=other&tab=retention',
    { at: 'workspace', tenant: 'default', name: 'desk', selected: { sandboxId: 'other' }, tab: 'retention' },
  ],
];

describe('an address', () => {
  for (const [address, place] of PLACES)
    test(`${address} is of a place, and leads to it`, () => {
      assert.equal(href(place), address);
      assert.deepEqual(read(address), place);
    });

  for (const address of ['', '#', '#/nowhere', '#/workspaces/%', '#/sandboxes/', '#main'])
    test(`${address || 'that is empty'} is that of the first place`, () =>
      assert.deepEqual(read(address), { at: 'workspaces', tenant: 'default' }));

  test('of a part that does not exist is that of the whole', () =>
    assert.deepEqual(read('#/sandboxes/agent?tab=secrets&token=x'), { at: 'sandbox', sandboxId: 'agent' }));
});

describe('the present place', () => {
  test('is where one goes', () => {
    go({ at: 'sandbox', sandboxId: 'agent' });
    assert.deepEqual(place.value, { at: 'sandbox', sandboxId: 'agent' });
    assert.equal(location.hash, '#/sandboxes/agent');
  });

  test('is where the browser’s buttons lead', () => {
    location.hash = '#/workspaces/default/desk';
    win.dispatchEvent(new Event('hashchange'));
    assert.deepEqual(place.value, { at: 'workspace', tenant: 'default', name: 'desk' });
  });
});
