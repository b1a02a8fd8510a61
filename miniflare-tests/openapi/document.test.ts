// The API document: it is complete, valid, and served by the Worker.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';

import { Validator } from '@seriousme/openapi-schema-validator';

import { at } from '../../scripts/setup.mjs';
import { World } from '../world.ts';
import { DOCUMENT, examples, faults, OPERATIONS } from './document.ts';

/** The names of the operations in the clients. */
const NAMES = JSON.parse(readFileSync(at('client/schema.json'), 'utf8')).operations.map(
  ({ name }: { name: string }) => name,
);

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(DOCUMENT)));
    assert.ok(valid, JSON.stringify(errors, null, 2));
    assert.match(DOCUMENT.openapi, /^3\.1\./);
  });

  test('has every operation with a unique name', () => {
    assert.deepEqual(
      OPERATIONS.map(({ path }) => path).sort(),
      NAMES.map((name: string) => `/v1/${name}`).sort(),
    );
    const ids = Object.values(DOCUMENT.paths).flatMap((path) =>
      Object.values(path).map((route) => route.operationId),
    );
    assert.equal(new Set(ids).size, ids.length);
  });

  test('has an example of every request and of every response', () => {
    const all = [...examples()].map(([path]) => path);
    for (const { path } of OPERATIONS)
      for (const part of ['requestBody', 'responses/200'])
        assert.ok(all.includes(`/paths/${path}/post/${part}/content/application/json`), `${path} ${part}`);
    for (const name of Object.keys(DOCUMENT.components['responses'] ?? {}))
      assert.ok(all.includes(`/components/responses/${name}/content/application/problem+json`), name);
  });

  test('has examples that match their schemas', () => {
    for (const [path, schema, example] of examples()) assert.deepEqual(faults(schema, example), [], path);
  });
});

describe('the Worker', () => {
  let world: World;
  before(async () => {
    world = await World.start({ snapshotter: { port: 0 } });
  });
  after(() => world[Symbol.asyncDispose]());

  test('serves the document without a token', async () => {
    const answer = await fetch(await world.url('/openapi.json'));
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/json']);
    assert.deepEqual(await answer.json(), DOCUMENT);
  });

  test('serves the page of the document without scripts and with valid links', async () => {
    const answer = await fetch(await world.url('/docs'));
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
    const html = await answer.text();
    assert.doesNotMatch(html, /<script|<style| style=| on\w+=/);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, 'every id is unique');
    for (const [, link] of html.matchAll(/ href="#([^"]+)"/g)) assert.ok(ids.includes(link), link);
    for (const { path } of OPERATIONS) assert.ok(html.includes(`</span> ${path}</a>`), path);
    for (const [, link] of html.matchAll(/ href="(\/[^"]*)"/g))
      assert.equal((await fetch(await world.url(link ?? ''))).status, 200, link);
  });
});
