// Requests that are generated from the API document. The Worker's responses must match the document.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { responseFaults, OPERATIONS, type HttpResponse, type Route } from './document.ts';
import { ApiFixture, type HttpRequest } from './fixture.ts';
import { invalid, valid, type Entities } from './requests.ts';

/** The number of generated valid requests of each operation. */
const COUNT = 5;

/** The largest body of a request. */
const MAX_BODY_BYTES = 65_536;

let api: ApiFixture;
before(async () => {
  api = await ApiFixture.start();
});
after(() => api[Symbol.asyncDispose]());

/** Sends a request, and asserts that the response matches the document. */
async function sendChecked(
  path: string,
  route: Route,
  request: HttpRequest,
  what: string,
): Promise<HttpResponse> {
  const answer = await api.send(path, request);
  const about = `${request.method ?? 'POST'} ${path}, ${what}: ${request.body?.slice(0, 2_000)}\n→ ${answer.status} ${answer.text}`;
  assert.deepEqual(responseFaults(route.responses, answer), [], about);
  assert.ok(answer.status < 500, about);
  return answer;
}

for (const { path, route } of OPERATIONS) {
  describe(path, () => {
    let entities: Entities;
    before(async () => {
      entities = await api.prepare();
    });

    test('answers valid options as the document specifies', async () => {
      const answers: HttpResponse[] = [];
      for (const options of valid(route, entities, COUNT))
        answers.push(await sendChecked(path, route, { body: JSON.stringify(options) }, 'valid'));
      const texts = answers.map(({ status, text }) => `${status} ${text}`);
      assert.ok(
        answers.some(({ status }) => status === 200),
        `${path} never succeeded:\n${texts.join('\n')}`,
      );
    });

    test('refuses invalid options', async () => {
      const [options = {}] = valid(route, entities, 1);
      for (const { what, options: invalidOptions } of invalid(route, options)) {
        const body = JSON.stringify(invalidOptions);
        const { status, text } = await sendChecked(path, route, { body }, what);
        const expected = body.length > MAX_BODY_BYTES ? 413 : 400;
        assert.equal(status, expected, `${path}, ${what}: ${body}\n→ ${text}`);
      }
    });

    test('refuses invalid requests', async () => {
      const type = { 'content-type': 'application/json' };
      const invalidRequests: Record<string, [number, HttpRequest]> = {
        'no body': [400, {}],
        'half a body': [400, { body: '{"sandboxId":' }],
        'another media type': [
          415,
          { body: '{}', headers: { ...api.authorized, 'content-type': 'text/plain' } },
        ],
        'too large a body': [413, { body: JSON.stringify({ sandboxId: 'x'.repeat(70_000) }) }],
        'no token': [401, { body: '{}', headers: type }],
        'a wrong token': [401, { body: '{}', headers: { ...type, authorization: 'Bearer wrong' } }],
        GET: [405, { method: 'GET' }],
        PUT: [405, { method: 'PUT', body: '{}' }],
        DELETE: [405, { method: 'DELETE' }],
      };
      for (const [what, [status, request]] of Object.entries(invalidRequests))
        assert.equal((await sendChecked(path, route, request, what)).status, status, `${path}, ${what}`);
    });
  });
}

describe('the example of', () => {
  /**
   * The operations in the order in which a reader may send their examples after the first call of the reference. The others need
   * an id of an earlier answer, another snapshot, or files of the reader.
   */
  const IN_ORDER = [
    'workspaces/getOrCreate',
    'files/write',
    'files/mkdir',
    'snapshot',
    'list',
    'get',
    'manifest',
    'verify',
    'pin',
    'unpin',
    'lineage',
    'files/list',
    'files/summary',
    'restore',
    'branch',
    'diff',
    'files/move',
    'files/remove',
    'checkpoints/create',
    'checkpoints/list',
    'checkpoints/diff',
    'checkpoints/restore',
    'checkpoints/delete',
    'exec',
    'commands/start',
    'commands/list',
    'workspaces/create',
    'workspaces/getByName',
    'workspaces/list',
    'workspaces/turnEnded',
    'workspaces/stop',
    'workspaces/start',
    'workspaces/fork',
    'workspaces/promote',
    'workspaces/delete',
    'retention',
    'setRetention',
    'applyRetention',
    'rotateKey',
    'sweep',
    'usage',
    'tools/list',
    'tools/call',
    'tools/grant',
    'health',
  ];
  before(() => api.prepare());

  for (const name of IN_ORDER) {
    const { path, route } = OPERATIONS.find(({ path }) => path === `/v1/${name}`)!;
    test(`${path} succeeds`, async () => {
      const body = JSON.stringify(route.requestBody?.content['application/json']?.example);
      const { status, text } = await sendChecked(path, route, { body }, 'the example');
      assert.equal(status, 200, text);
    });
  }
});
