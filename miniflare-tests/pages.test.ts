// The pages that the Worker serves to a browser.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from './world.ts';

let world: World;

before(async () => {
  world = await World.start({ snapshotter: { port: 0 } });
});
after(() => world[Symbol.asyncDispose]());

const get = async (path: string, init: RequestInit = {}) => fetch(await world.url(path), init);

/** Sends a request, and returns the problem in the response. */
async function getProblem(path: string, method = 'GET') {
  const response = await get(path, { method });
  const body = (await response.json()) as Record<
    'code' | 'message' | 'remediation' | 'correlationId',
    string
  >;
  return { status: response.status, headers: response.headers, body };
}

describe('a page', () => {
  for (const [path, type] of [
    ['/', 'text/html; charset=utf-8'],
    ['/docs', 'text/html; charset=utf-8'],
    ['/docs/snapshots', 'text/html; charset=utf-8'],
    ['/docs/errors', 'text/html; charset=utf-8'],
    ['/docs/reference.js', 'text/javascript; charset=utf-8'],
    ['/openapi.json', 'application/json'],
  ] as const) {
    test(`at ${path} requires no token`, async () => {
      const response = await get(path);
      assert.deepEqual([response.status, response.headers.get('content-type')], [200, type]);
      assert.ok((await response.text()).length > 100);
    });
  }

  test('has a policy that allows its own origin only, and no frames', async () => {
    const policy = (await get('/')).headers.get('content-security-policy') ?? '';
    const directives = Object.fromEntries(
      policy.split(';').map((directive) => {
        const [name = '', ...sources] = directive.trim().split(' ');
        return [name, sources.join(' ')];
      }),
    );
    assert.deepEqual(directives, {
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    });
  });

  test('loads only what the Worker serves', async () => {
    for (const path of ['/', '/docs', '/docs/snapshots']) {
      const html = await (await get(path)).text();
      for (const [, link = ''] of html.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)) {
        if (!link.startsWith('data:')) assert.equal((await get(link)).status, 200, `${path}: ${link}`);
      }
    }
  });

  test('is not sent again for a matching ETag', async () => {
    const etag = (await get('/')).headers.get('etag') ?? '';
    const again = await get('/', { headers: { 'if-none-match': `"other", W/${etag}` } });
    assert.deepEqual([again.status, await again.text()], [304, '']);
    assert.equal((await get('/', { headers: { 'if-none-match': '"other"' } })).status, 200);
    assert.equal((await get('/', { headers: { 'if-none-match': '*' } })).status, 304);
  });

  test('answers HEAD with the same headers', async () => {
    const [whole, head] = [await get('/docs'), await get('/docs', { method: 'HEAD' })];
    assert.deepEqual([head.status, await head.text()], [200, '']);
    assert.equal(head.headers.get('etag'), whole.headers.get('etag'));
  });

  test('refuses every other method than GET and HEAD', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      for (const path of ['/', '/docs', '/docs/snapshots', '/openapi.json', '/healthz']) {
        const { status, headers, body } = await getProblem(path, method);
        assert.deepEqual([status, body.code], [405, 'METHOD_NOT_ALLOWED'], `${method} ${path}`);
        assert.equal(headers.get('allow'), 'GET, HEAD');
        assert.equal(headers.get('x-correlation-id'), body.correlationId);
        assert.match(body.remediation, new RegExp(`GET ${path}\\.$`));
      }
    }
  });

  test('redirects a path with a trailing slash', async () => {
    for (const [path, location] of [
      ['/docs/', '/docs'],
      ['/docs/?a=b', '/docs?a=b'],
      ['/docs/snapshots/', '/docs/snapshots'],
      ['/healthz/', '/healthz'],
    ] as const) {
      const { status, headers } = await get(path, { redirect: 'manual' });
      assert.deepEqual([status, headers.get('location')], [308, location]);
    }
    for (const path of ['/docs//', '/other/']) assert.equal((await getProblem(path)).status, 404);
  });

  test('that does not exist is a page with links for a browser', async () => {
    for (const method of ['GET', 'HEAD']) {
      const response = await get('/docs/nope', { method, headers: { accept: 'text/html,*/*;q=0.8' } });
      assert.deepEqual(
        [response.status, response.headers.get('content-type'), response.headers.get('vary')],
        [404, 'text/html; charset=utf-8', 'Accept'],
      );
      assert.equal((await response.text()).includes('href="/docs"'), method === 'GET');
    }
    for (const path of ['/not-found', '/docs/not-found'])
      assert.equal((await get(path, { headers: { accept: 'text/html' } })).status, 404, path);
  });

  test('that does not exist is an error for programs, and at the paths of the API', async () => {
    for (const [path, accept] of [
      ['/docs/nope', '*/*'],
      ['/docs/nope', 'application/json'],
      ['/v1/nope', 'text/html'],
      ['/v1', 'text/html'],
    ] as const) {
      const response = await get(path, { headers: { accept } });
      assert.match(response.headers.get('content-type') ?? '', /json/, `${path} for ${accept}`);
      assert.ok(response.status >= 400);
    }
  });

  test('that does not exist fails with an error that shortens its path', async () => {
    const { status, body } = await getProblem(`/${'x'.repeat(5000)}`);
    assert.deepEqual([status, body.code], [404, 'ROUTE_NOT_FOUND']);
    assert.match(body.message, /^There is no route "\/x+"…\.$/);
    assert.ok(body.message.length < 200);
  });
});

test('the pages are served over a service binding', async () => {
  const { status, headers } = await world.fetch('/openapi.json', { method: 'GET' });
  assert.deepEqual([status, headers['content-type']], [200, 'application/json']);
});
