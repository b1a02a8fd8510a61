import { answerLost, foreignAnswer, unreachable, unsendable } from '../failures.ts';
import { isSnapshotterError, type SnapshotterError } from '../errors.ts';
import { asSnapshotterError } from '../recognize.ts';
import type { Call, Transport } from './transport.ts';

/** Where the HTTP API is, and how it is opened. */
export interface HttpOptions {
  /** Such as `https://snapshotter.example.workers.dev`: all that comes before `/v1`. */
  url: string;
  /** The `API_TOKEN` of the deployment. */
  token: string;
  /** In place of the platform's own `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** What Node says of a connection that never was. Browsers and Workers do not tell. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Calls the HTTP API: each operation is `POST <url>/v1/<operation>`.
 *
 * @throws TypeError for a URL or a token that can't be used.
 */
export function http({
  url,
  token,
  fetch = (...request) => globalThis.fetch(...request),
}: HttpOptions): Transport {
  const base = new URL(url).href.replace(/\/+$/, '');
  // What is missing in the environment is `undefined`, whatever its type says.
  if (typeof token !== 'string' || token.trim() === '') throw new TypeError('`token` is missing.');
  const headers = new Headers({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });

  async function post({ operation, options, signal, repeatable }: Call): Promise<Response> {
    const init = { method: 'POST', headers, body: json(options), redirect: 'manual' as const };
    try {
      return await fetch(`${base}/v1/${operation}`, signal ? { ...init, signal } : init);
    } catch (thrown) {
      const { cause } = Object(thrown) as { cause?: { code?: unknown } };
      throw NEVER_CONNECTED.has(cause?.code) ? unreachable(base, thrown) : answerLost(thrown, repeatable);
    }
  }

  return {
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

function json(options: unknown): string {
  try {
    return JSON.stringify(options);
  } catch (thrown) {
    throw unsendable(thrown);
  }
}

/** The body, if it is JSON. */
async function read(response: Response): Promise<unknown> {
  const mediaType = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (mediaType === 'application/json' || mediaType === 'application/problem+json') return response.json();
  await response.body?.cancel();
  return undefined;
}

function failure(response: Response, body: unknown, where: string, { repeatable }: Call): SnapshotterError {
  const known = isSnapshotterError(body) ? asSnapshotterError(body) : undefined;
  if (known) return known;
  const { status } = response;
  const type = response.headers.get('content-type') ?? 'no content type';
  const what = `the status was ${status}, with ${type}`;
  if (status === 429) return unreachable(where, what);
  return status >= 500 ? answerLost(what, repeatable) : foreignAnswer(where, what);
}
