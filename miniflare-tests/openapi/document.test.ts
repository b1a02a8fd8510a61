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

  describe('serves the pages of the document', () => {
    const PAGES = ['/docs', ...DOCUMENT.tags.map(({ name }) => `/docs/${name}`), '/docs/errors'];
    const pages = new Map<string, { html: string; ids: string[] }>();

    before(async () => {
      for (const path of PAGES) {
        const answer = await fetch(await world.url(path));
        const type = answer.headers.get('content-type');
        assert.deepEqual([answer.status, type], [200, 'text/html; charset=utf-8']);
        const html = await answer.text();
        pages.set(path, { html, ids: [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? '') });
      }
    });

    test('with unique ids, and without scripts and styles in the HTML', () => {
      for (const [path, { html, ids }] of pages) {
        assert.doesNotMatch(html, /<script(?! type="module" src="\/docs\/reference.js"><\/script>)/, path);
        assert.doesNotMatch(html, /<style| style=| on\w+=/, path);
        assert.equal(new Set(ids).size, ids.length, path);
      }
    });

    test('with valid links', async () => {
      const others = new Set<string>();
      for (const [page, { html }] of pages)
        for (const [, link = ''] of html.matchAll(/ href="([^"]+)"/g)) {
          const [path, id] = link.split('#');
          const target = pages.get(path || page);
          if (!target) others.add(link);
          else if (id !== undefined) assert.ok(target.ids.includes(id), `${page}: ${link}`);
        }
      for (const link of others) assert.equal((await fetch(await world.url(link))).status, 200, link);
    });

    test('with every operation on the page of its group, and in the list of the start page', () => {
      for (const { path, route } of OPERATIONS) {
        const id = path.slice(1).replaceAll('/', '-');
        assert.ok(pages.get(`/docs/${route.tags[0]}`)?.html.includes(`</span> ${path}</a>`), path);
        assert.ok(pages.get('/docs')?.html.includes(`<a href="/docs/${route.tags[0]}#${id}">`), path);
      }
    });

    test('with every error code', () => {
      const codes: string[] = DOCUMENT.components['schemas']?.['Code']?.['enum'];
      for (const code of codes) assert.ok(pages.get('/docs/errors')?.ids.includes(code), code);
    });

    test('with the permitted selections of a snapshot in words', () => {
      const [, html = ''] =
        /<section id="v1-restore"([^]*?)<\/section>/.exec(pages.get('/docs/snapshots')?.html ?? '') ?? [];
      const text = html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
      assert.match(text, /Pass exactly one of: ref sandboxId and snapshotId sandboxId and label /);
    });
  });
});
