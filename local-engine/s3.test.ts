/** Requests that the S3 endpoint refuses. production.test.ts verifies that it serves signed requests. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type RequestOptions } from 'node:https';
import { after, before, test } from 'node:test';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { startS3, type S3 } from './index.ts';
import { CREDENTIALS } from './production.ts';

let s3: S3;
before(async () => {
  s3 = await startS3(CREDENTIALS, () => undefined);
});
after(() => s3.close());

async function answer(
  query: Record<string, string>,
  options: RequestOptions = {},
): Promise<[number, string]> {
  const url = new URL(`${s3.origin}/bucket/key`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(`X-Amz-${name}`, value);
  const [response] = (await once(get(url, { ca: s3.certificate, ...options }), 'response')) as [
    IncomingMessage,
  ];
  const code = /<Code>(\w+)<\/Code>/.exec(await text(response))?.[1] ?? '';
  return [response.statusCode ?? 0, code];
}

const now = () => new Date().toISOString().replaceAll(/[:-]|\.\d+/g, '');
const signed = (date = now(), key = CREDENTIALS.accessKeyId) => ({
  Algorithm: 'AWS4-HMAC-SHA256',
  Credential: `${key}/${date.slice(0, 8)}/auto/s3/aws4_request`,
  Date: date,
  Expires: '60',
  SignedHeaders: 'host',
  Signature: '0'.repeat(64),
});

test('the endpoint refuses a request without a signature', async () => {
  assert.deepEqual(await answer({}), [403, 'AccessDenied']);
  assert.deepEqual(await answer({}, { headers: { authorization: 'Bearer x' } }), [403, 'AccessDenied']);
});

test('the endpoint refuses a request with a wrong signature', async () => {
  assert.deepEqual(await answer(signed()), [403, 'SignatureDoesNotMatch']);
  assert.deepEqual(await answer(signed(now(), 'other')), [403, 'InvalidAccessKeyId']);
});

test('the endpoint refuses an expired request', async () => {
  assert.deepEqual(await answer(signed('20261120T050000Z')), [403, 'ExpiredRequest']);
  assert.deepEqual(await answer({ ...signed(), Expires: 'soon' }), [403, 'ExpiredRequest']);
});

test('the endpoint has a self-signed certificate', async () => {
  await assert.rejects(answer({}, { ca: [] }), /self-signed certificate/);
});
