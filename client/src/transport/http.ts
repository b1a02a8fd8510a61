import { requireOptions } from '../argument-checks.ts';
import { kindOf } from '../arguments.ts';
import { answerLost, foreignAnswer, invalidArgument, unreachable, unsendable } from '../failures.ts';
import { isSnapshotterError, type SnapshotterError } from '../errors.ts';
import { asSnapshotterError } from '../recognize.ts';
import type { Options } from '../operations.ts';
import type { SecretsReport } from '../types.ts';
import type { Call, DownloadCall, ExecCall, Transport } from './transport.ts';

/** The options of the HTTP transport. */
export interface HttpOptions {
  /** The address of the Worker, without `/v1`: `https://snapshotter.example.workers.dev`. */
  url: string;
  /** The `API_TOKEN` of the deployment. */
  token: string;
  /** The function to call instead of the platform's `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The codes of Node for connections that were not established. Browsers and Workers have no such codes. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Returns whether a request may have been sent before its `fetch` threw. `fetch` refuses the ports of some other protocols. */
function wasSent(thrown: unknown): boolean {
  const { cause } = Object(thrown) as { cause?: { code?: unknown; message?: unknown } };
  return !NEVER_CONNECTED.has(cause?.code) && cause?.message !== 'bad port';
}

/**
 * Creates a transport over the HTTP API: each operation is `POST <url>/v1/<operation>`.
 *
 * @throws INVALID_ARGUMENT if the URL or the token is missing or invalid.
 *
 * @example
 * const snapshotter = new SnapshotterClient(http({ url: 'https://sandbox-snapshotter.example.workers.dev', token }));
 */
export function http(given: HttpOptions): Required<Transport> {
  requireOptions('http()', given, () => '{ url: …, token: … }');
  const { url, token, fetch = (...request) => globalThis.fetch(...request) } = given;
  // `localhost:8787` is a URL whose protocol is `localhost:`, and `127.0.0.1:8787` is none.
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw invalidArgument(
      `\`url\` of http() must begin with http:// or https://, got ${url}.`,
      'Pass the address of the Worker, such as https://sandbox-snapshotter.example.workers.dev.',
    );
  const base = parsed.href.replace(/\/+$/, '');
  // A missing environment variable is `undefined`, although its type is `string`.
  if (typeof token !== 'string' || token.trim() === '')
    throw invalidArgument(
      `\`token\` of http() must be a text, got ${typeof token === 'string' ? 'an empty one' : kindOf(token)}.`,
      'Pass the `API_TOKEN` of the deployment, or an access token.',
    );
  const headers = toHeaders(token);

  /** Sends a call. An input is the body of the request, and then the options are in the URL. */
  async function post({ operation, options, input, signal, repeatable }: Call): Promise<Response> {
    const [url, init] = request(operation, options, input);
    try {
      return await fetch(url, signal ? { ...init, signal } : init);
    } catch (thrown) {
      throw wasSent(thrown) ? answerLost(thrown, repeatable) : unreachable(base, thrown);
    }
  }

  async function get({ download, options, signal }: DownloadCall): Promise<Response> {
    const init = { method: 'GET', headers, redirect: 'manual' as const };
    try {
      return await fetch(`${base}/v1/${download}?${query(options)}`, signal ? { ...init, signal } : init);
    } catch (thrown) {
      throw wasSent(thrown) ? answerLost(thrown, true) : unreachable(base, thrown);
    }
  }

  /** Returns the URL and the content of a request. */
  function request(operation: string, options: Options, input: Call['input']): [string, RequestInit] {
    const url = `${base}/v1/${operation}`;
    const init = { method: 'POST', redirect: 'manual' as const };
    if (!input) return [url, { ...init, headers, body: json(options) }];
    const all = new Headers(headers);
    all.set('content-type', 'application/octet-stream');
    const body = { body: input as ReadableStream | Uint8Array<ArrayBuffer>, duplex: 'half' as const };
    return [`${url}?${new URLSearchParams({ options: json(options) })}`, { ...init, headers: all, ...body }];
  }

  /** Starts a command. */
  async function postExec({ options, input, signal }: ExecCall): Promise<Response> {
    const [url, { headers: given, ...init }] = request('exec', options, input);
    const all = new Headers(given);
    all.set('accept', 'text/event-stream');
    return fetch(url, { ...init, headers: all, ...(signal && { signal }) }).catch((thrown: unknown) => {
      throw wasSent(thrown) ? answerLost(thrown, false) : unreachable(base, thrown);
    });
  }

  return {
    async open(call) {
      const response = await get(call);
      const snapshotId = response.headers.get('x-snapshot-id');
      if (!response.ok || snapshotId === null) {
        const body = await read(response).catch((thrown: unknown) => {
          throw answerLost(thrown, true);
        });
        throw failure(response, body, base, { repeatable: true });
      }
      const length = response.headers.get('content-length');
      const body = response.body ?? new ReadableStream({ start: (controller) => controller.close() });
      const download = { snapshotId, etag: response.headers.get('etag') ?? '', body };
      const isFile = call.download === 'files/download' && length !== null;
      const secrets = response.headers.get('x-secrets');
      if (secrets !== null) return { ...download, secrets: JSON.parse(secrets) as SecretsReport };
      return isFile ? { ...download, sizeBytes: Number(length) } : download;
    },
    async openExec(call) {
      const response = await postExec(call);
      const type = response.headers.get('content-type') ?? '';
      if (response.ok && response.body && type.startsWith('text/event-stream')) return response.body;
      const failed: Call = { operation: 'exec', options: call.options, repeatable: false };
      throw failure(response, await read(response), base, failed);
    },
    async send(call) {
      const response = await post(call);
      const body = await read(response).catch((thrown: unknown) => {
        throw answerLost(thrown, call.repeatable);
      });
      if (body !== undefined && response.ok) return body;
      throw failure(response, body, base, call);
    },
  };
}

function toHeaders(token: string): Headers {
  try {
    return new Headers({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
  } catch {
    // The exception contains the token.
    const message = '`token` of http() has a character that a header can not contain, such as a line break.';
    throw invalidArgument(message, 'Pass the `API_TOKEN` of the deployment, or an access token.');
  }
}

/** Returns the options as a query. Options that are not text are JSON. */
function query(options: Options): URLSearchParams {
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
  const parameters = given.map(
    ([name, value]) => [name, typeof value === 'string' ? value : json(value)] as [string, string],
  );
  return new URLSearchParams(parameters);
}

function json(options: unknown): string {
  try {
    return JSON.stringify(options);
  } catch (thrown) {
    throw unsendable(thrown);
  }
}

/** Returns the body if it is JSON. */
async function read(response: Response): Promise<unknown> {
  const mediaType = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (mediaType === 'application/json' || mediaType === 'application/problem+json') return response.json();
  await response.body?.cancel();
  return undefined;
}

function failure(
  response: Response,
  body: unknown,
  where: string,
  { repeatable }: Pick<Call, 'repeatable'>,
): SnapshotterError {
  if (isSnapshotterError(body)) {
    // A page of the server is named by its path.
    const remediation = body.remediation.replaceAll(' /docs/', ` ${where}/docs/`);
    const known = asSnapshotterError({ ...body, remediation });
    if (known) return known;
  }
  const { status } = response;
  const type = response.headers.get('content-type') ?? 'no content type';
  const what = `the status was ${status}, with ${type}`;
  if (status === 429) return unreachable(where, what);
  return status >= 500 ? answerLost(what, repeatable) : foreignAnswer(where, what);
}
