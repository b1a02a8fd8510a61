import { answerLost, foreignAnswer, unreachable, unsendable } from '../failures.ts';
import { isSnapshotterError, type SnapshotterError } from '../errors.ts';
import { asSnapshotterError } from '../recognize.ts';
import type { Call, ExecCall, Transport } from './transport.ts';

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

/**
 * Creates a transport over the HTTP API: each operation is `POST <url>/v1/<operation>`.
 *
 * @throws TypeError if the URL or the token is invalid.
 */
export function http({
  url,
  token,
  fetch = (...request) => globalThis.fetch(...request),
}: HttpOptions): Transport {
  const base = new URL(url).href.replace(/\/+$/, '');
  // A missing environment variable is `undefined`, although its type is `string`.
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

  /** Starts a command. An input is the body of the request, and then the options are in the URL. */
  async function postExec({ options, input, signal }: ExecCall): Promise<Response> {
    const all = new Headers(headers);
    all.set('accept', 'text/event-stream');
    if (input) all.set('content-type', 'application/octet-stream');
    const url = `${base}/v1/exec${input ? `?${new URLSearchParams({ options: json(options) })}` : ''}`;
    const body = input ?? json(options);
    const init = { method: 'POST', headers: all, body, redirect: 'manual' as const, duplex: 'half' as const };
    return fetch(url, signal ? { ...init, signal } : init).catch((thrown: unknown) => {
      throw answerLost(thrown, false);
    });
  }

  return {
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

function failure(response: Response, body: unknown, where: string, { repeatable }: Call): SnapshotterError {
  const known = isSnapshotterError(body) ? asSnapshotterError(body) : undefined;
  if (known) return known;
  const { status } = response;
  const type = response.headers.get('content-type') ?? 'no content type';
  const what = `the status was ${status}, with ${type}`;
  if (status === 429) return unreachable(where, what);
  return status >= 500 ? answerLost(what, repeatable) : foreignAnswer(where, what);
}
