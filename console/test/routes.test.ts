// Tests of the pages' addresses.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { win } from './page.ts';

const { go, href, parse, place, placeOf } = await import('../src/routes.ts');
type Place = ReturnType<typeof parse>;

const PLACES: [string, Place][] = [
  ['#/workspaces/default', { at: 'workspaces', tenant: 'default' }],
  ['#/workspaces/a%2Fb?prefix=x+y&after=c', { at: 'workspaces', tenant: 'a/b', prefix: 'x y', after: 'c' }],
  ['#/workspaces/default/desk', { at: 'workspace', tenant: 'default', name: 'desk' }],
  [
    '#/workspaces/default/desk/files?path=src%2Fa.txt',
    { at: 'work', tenant: 'default', name: 'desk', path: 'src/a.txt' },
  ],
  ['#/usage/default', { at: 'usage', tenant: 'default' }],
  ['#/tokens/default', { at: 'tokens', tenant: 'default' }],
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

describe('the address', () => {
  for (const [address, place] of PLACES)
    test(`${address} converts to a page and back`, () => {
      assert.equal(href(place), address);
      assert.deepEqual(parse(address), place);
    });

  for (const address of ['', '#', '#/', '#/workspaces', '#/workspaces/', '#main'])
    test(`${address || '(empty)'} leads to the list of workspaces`, () =>
      assert.deepEqual(parse(address), { at: 'workspaces', tenant: 'default' }));

  for (const address of ['#/nowhere', '#/workspaces/%', '#/sandboxes/', '#/files/agent'])
    test(`${address} is unknown, and stays as it is`, () => {
      assert.deepEqual(parse(address), { at: 'unknown', address });
      assert.equal(href(parse(address)), address);
    });

  test('ignores an unknown tab and unknown parameters', () =>
    assert.deepEqual(parse('#/sandboxes/agent?tab=secrets&token=x'), { at: 'sandbox', sandboxId: 'agent' }));
});

describe('the present page', () => {
  test('changes with go()', () => {
    go({ at: 'sandbox', sandboxId: 'agent' });
    assert.deepEqual(place.value, { at: 'sandbox', sandboxId: 'agent' });
    assert.equal(location.hash, '#/sandboxes/agent');
  });

  test('follows the browser’s history', () => {
    location.hash = '#/workspaces/default/desk';
    win.dispatchEvent(new Event('hashchange'));
    assert.deepEqual(place.value, { at: 'workspace', tenant: 'default', name: 'desk' });
  });
});

describe('the field at the top', () => {
  for (const [text, place] of [
    ['agent-42', { at: 'sandbox', sandboxId: 'agent-42' }],
    ['@desk', { at: 'workspace', tenant: 'present', name: 'desk' }],
    ['@crew/desk', { at: 'workspace', tenant: 'crew', name: 'desk' }],
  ] as [string, Place][])
    test(`opens ${text}`, () => assert.deepEqual(placeOf(text, 'present'), place));
});
