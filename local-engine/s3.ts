/**
 * The S3 endpoint of production mode: sandboxes upload and download their archives here by signed URLs, as they do with
 * R2. It serves HTTPS on loopback, verifies the signature of each request, and passes the request on to the S3 API of
 * Miniflare's R2 simulation. It signs the request again, because the path differs there.
 *
 *     container: curl, uploadParts ──┐
 *     workerd: multipart uploads ────┴─ HTTPS, /bucket/key ──▶ s3.ts ── HTTP ──▶ Miniflare: R2
 */
import { execFileSync } from 'node:child_process';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** The credentials that sign requests. */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

/** A running endpoint. */
export interface S3 {
  /** For `BACKUP_BUCKET_ENDPOINT`. */
  readonly origin: string;
  /** The certificate that clients must trust, in PEM. Each endpoint has its own. */
  readonly certificate: string;
  close(): void;
}

/** The path at which Miniflare serves the buckets whose binding has `dev.experimentalS3Credentials`. */
const MINIFLARE_S3 = '/cdn-cgi/local/r2/s3';
const ALGORITHM = 'AWS4-HMAC-SHA256';
const UNSIGNED = 'UNSIGNED-PAYLOAD';

/** Starts an endpoint. `miniflare` returns the address of the Miniflare whose buckets it serves. */
export async function startS3(
  credentials: Credentials,
  miniflare: () => Promise<URL> | undefined,
): Promise<S3> {
  const { key, certificate } = makeCertificate();
  const server = createServer({ key, cert: certificate }, (request, response) => {
    serve(request, response).catch((error: Error) => {
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'InternalError', error.message);
    });
  });

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', `https://${request.headers.host}`);
    // A signature in the header covers the body. Only the Worker's requests have one, and these are small.
    const body = request.headers.authorization === undefined ? undefined : await buffer(request);
    const refusal = verify(request, url, body, credentials);
    if (refusal !== undefined) return refuse(response, 403, ...refusal);
    const address = await miniflare();
    if (address === undefined)
      return refuse(response, 503, 'ServiceUnavailable', 'Miniflare is not running.');
    const { method } = request;
    const upstream = send(presign(method, url, address, credentials), {
      method,
      headers: pickHeaders(request, ['content-length', 'content-type', 'range']),
    });
    const [answer] = await Promise.all([
      once(upstream, 'response') as Promise<[IncomingMessage]>,
      body === undefined ? pipeline(request, upstream) : void upstream.end(body),
    ]);
    response.writeHead(answer[0].statusCode ?? 502, answer[0].headers);
    await pipeline(answer[0], response);
  };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `https://localhost:${(server.address() as AddressInfo).port}`, certificate, close };
}

/** Makes a key and a self-signed certificate for this machine. */
function makeCertificate(): { key: string; certificate: string } {
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '30',
  ];
  args.push('-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  const pem = execFileSync('openssl', [...args, '-keyout', '-', '-out', '-'], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
  const [key, certificate] = pem.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n/g) ?? [];
  if (key === undefined || certificate === undefined) throw new Error(`openssl made no certificate: ${pem}`);
  return { key, certificate };
}

/** Verifies the signature of a request. Returns an S3 error code and a message if it is invalid, undefined if it is valid. */
function verify(
  request: IncomingMessage,
  url: URL,
  body: Buffer | undefined,
  credentials: Credentials,
): [code: string, message: string] | undefined {
  const given = signatureOf(request, url);
  if (given === undefined) return ['AccessDenied', 'The request is not signed.'];
  const [accessKeyId, ...scope] = given.credential.split('/');
  if (accessKeyId !== credentials.accessKeyId) return ['InvalidAccessKeyId', 'The access key id is unknown.'];
  const age = Date.now() - dateOf(given.date);
  if (!(age > -60_000 && age < given.seconds * 1000)) return ['ExpiredRequest', 'Request has expired'];
  const hash = createHash('sha256');
  const payload = request.headers['x-amz-content-sha256'] ?? hash.update(body ?? '').digest('hex');
  const canonical = [
    request.method,
    url.pathname,
    canonicalQuery(url),
    ...given.signedHeaders.split(';').map((name) => `${name}:${request.headers[name]}`),
    '',
    given.signedHeaders,
    payload,
  ];
  const expected = sign(canonical, given.date, scope.join('/'), credentials);
  const same = given.signature.length === expected.length;
  if (same && timingSafeEqual(Buffer.from(given.signature), Buffer.from(expected))) return undefined;
  return ['SignatureDoesNotMatch', 'The signature does not match the request.'];
}

/** Returns the parts of a signature, from the query (a signed URL) or from the header. */
function signatureOf(request: IncomingMessage, url: URL) {
  const query = (name: string) => url.searchParams.get(`X-Amz-${name}`) ?? '';
  if (query('Signature') !== '') {
    return {
      credential: query('Credential'),
      signedHeaders: query('SignedHeaders'),
      signature: query('Signature'),
      date: query('Date'),
      seconds: Number(query('Expires')),
    };
  }
  const { authorization = '', 'x-amz-date': date } = request.headers;
  const fields = /^AWS4-HMAC-SHA256 Credential=([^,]+), *SignedHeaders=([^,]+), *Signature=(\w+)$/.exec(
    authorization,
  );
  const [, credential, signedHeaders, signature] = fields ?? [];
  if (credential === undefined || signedHeaders === undefined || signature === undefined) return undefined;
  return { credential, signedHeaders, signature, date: String(date), seconds: 900 };
}

/** Returns the signed URL of the same object, or part, at Miniflare. */
function presign(
  method: string | undefined,
  { pathname, searchParams }: URL,
  address: URL,
  credentials: Credentials,
): URL {
  const url = new URL(MINIFLARE_S3 + pathname, address);
  for (const [name, value] of searchParams) if (!name.startsWith('X-Amz-')) url.searchParams.set(name, value);
  const date = new Date().toISOString().replaceAll(/[:-]|\.\d+/g, '');
  const scope = `${date.slice(0, 8)}/auto/s3/aws4_request`;
  const signature = {
    Algorithm: ALGORITHM,
    Credential: `${credentials.accessKeyId}/${scope}`,
    Date: date,
    Expires: '900',
    SignedHeaders: 'host',
  };
  for (const [name, value] of Object.entries(signature)) url.searchParams.set(`X-Amz-${name}`, value);
  const canonical = [method, url.pathname, canonicalQuery(url), `host:${url.host}`, '', 'host', UNSIGNED];
  url.searchParams.set('X-Amz-Signature', sign(canonical, date, scope, credentials));
  return url;
}

/** Computes the Signature Version 4 of the lines of a canonical request. */
function sign(canonical: unknown[], date: string, scope: string, { secretAccessKey }: Credentials): string {
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const hashed = createHash('sha256').update(canonical.join('\n')).digest('hex');
  return hmac(key, [ALGORITHM, date, scope, hashed].join('\n')).toString('hex');
}

function canonicalQuery({ searchParams }: URL): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replaceAll(
      /[!'()*]/g,
      (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  return [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join('&');
}

/** Parses a date such as `20261120T050000Z`. */
function dateOf(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

function pickHeaders({ headers }: IncomingMessage, names: string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'Content-Type': 'application/xml' });
  response.end(
    `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  );
}
