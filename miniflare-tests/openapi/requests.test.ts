// Requests that are made up from the API document: whatever is sent, the Worker answers as it says.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { answerFaults, OPERATIONS, type Answered, type Route } from './document.ts';
import { Place, type Sent } from './place.ts';
import { invalid, valid, type Known } from './requests.ts';

/** How many requests are made up for an operation that it takes. */
const COUNT = 5;

let place: Place;
before(async () => {
  place = await Place.start();
});
after(() => place[Symbol.asyncDispose]());

/** Sends a request, whose answer must be as the document says. */
async function sends(path: string, route: Route, sent: Sent, what: string): Promise<Answered> {
  const answer = await place.send(path, sent);
  const about = `${sent.method ?? 'POST'} ${path}, ${what}: ${sent.body?.slice(0, 2_000)}\n→ ${answer.status} ${answer.text}`;
  assert.deepEqual(answerFaults(route.responses, answer), [], about);
  assert.ok(answer.status < 500, about);
  return answer;
}

for (const { path, route } of OPERATIONS) {
  describe(path, () => {
    let known: Known;
    before(async () => {
      known = await place.prepare();
    });

    test('answers what it takes as the document says', async () => {
      const answers: Answered[] = [];
      for (const options of valid(route, known, COUNT))
        answers.push(await sends(path, route, { body: JSON.stringify(options) }, 'valid'));
      const texts = answers.map(({ status, text }) => `${status} ${text}`);
      assert.ok(
        answers.some(({ status }) => status === 200),
        `${path} never came to anything:\n${texts.join('\n')}`,
      );
    });

    test('refuses what it does not take', async () => {
      const [options = {}] = valid(route, known, 1);
      for (const { what, options: wrong } of invalid(route, options)) {
        const { status, text } = await sends(path, route, { body: JSON.stringify(wrong) }, what);
        assert.equal(status, 400, `${path}, ${what}: ${JSON.stringify(wrong)}\n→ ${text}`);
      }
    });

    test('refuses a request that is none of it', async () => {
      const type = { 'content-type': 'application/json' };
      const wrong: Record<string, [number, Sent]> = {
        'no body': [400, {}],
        'half a body': [400, { body: '{"sandboxId":' }],
        'another media type': [
          415,
          { body: '{}', headers: { ...place.authorized, 'content-type': 'text/plain' } },
        ],
        'too large a body': [413, { body: JSON.stringify({ sandboxId: 'x'.repeat(70_000) }) }],
        'no token': [401, { body: '{}', headers: type }],
        'a wrong token': [401, { body: '{}', headers: { ...type, authorization: 'Bearer wrong' } }],
        GET: [405, { method: 'GET' }],
        PUT: [405, { method: 'PUT', body: '{}' }],
        DELETE: [405, { method: 'DELETE' }],
      };
      for (const [what, [status, sent]] of Object.entries(wrong))
        assert.equal((await sends(path, route, sent, what)).status, status, `${path}, ${what}`);
    });
  });
}

describe('the example of', () => {
  /** The operations whose example names nothing that has to be there, but the sandbox. */
  const ALONE = [
    'snapshot',
    'list',
    'lineage',
    'retention',
    'setRetention',
    'applyRetention',
    'rotateKey',
    'sweep',
    'workspaces/create',
    'workspaces/list',
    'checkpoints/create',
    'checkpoints/list',
    'tools/list',
    'tools/call',
    'tools/grant',
    'health',
  ];
  before(() => place.prepare());

  for (const { path, route } of OPERATIONS.filter(({ path }) => ALONE.includes(path.slice('/v1/'.length))))
    test(`${path} is carried out as it stands`, async () => {
      const body = JSON.stringify(route.requestBody?.content['application/json']?.example);
      const { status, text } = await sends(path, route, { body }, 'the example');
      assert.equal(status, 200, text);
    });
});
