// Who calls: Durable Objects of an application, over the service binding, over HTTP, and by the tools for language models.

import { TOKEN, type World } from '../miniflare-tests/world.ts';
import type { Answer, Step, Thrown } from '../miniflare-tests/caller/steps.ts';
import type { Judge } from './judge.ts';

/** How a call is made. */
export type Way = 'rpc' | 'http';

/** The snapshotter's word that something was not done. */
export class Refusal extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly operation: string;
  readonly thrown: Thrown;

  constructor(operation: string, thrown: Thrown) {
    super(`${operation}: ${thrown.message}`);
    this.operation = operation;
    this.thrown = thrown;
    this.code = thrown.code ?? '';
    this.retryable = thrown.retryable === true;
  }
}

/** The call was cut off: what came of it is not known. */
export class NoAnswer extends Error {}

/** Makes calls, and has each failure judged. */
export class Callers {
  readonly #world: World;
  readonly #judge: Judge;
  /** How many operations were asked for. */
  operations = 0;
  /** How many of them were refused, or failed. */
  refusals = 0;

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  /** Calls an operation as the Durable Object `caller`. Throws a {@link Refusal} or {@link NoAnswer}. With `signal`, {@link abort} ends it. */
  async call(caller: string, way: Way, operation: string, options: object, signal = false): Promise<any> {
    this.operations += 1;
    const step: Step =
      way === 'rpc' ? { do: 'rpc', method: operation, options, signal } : post(`/v1/${operation}`, options);
    const { value, error } = await this.#perform(step, caller);
    if (error) throw this.#refusal(operation, error, way);
    if (way === 'rpc') return value;
    const { status, body } = value as { status: number; body: string };
    const answer: unknown = JSON.parse(body);
    if (status !== 200) throw this.#refusal(operation, answer as Thrown, way);
    return answer;
  }

  /** Fires the AbortSignal of a Durable Object: what it has asked for with `signal` is to end. */
  async abort(caller: string) {
    await this.#perform({ do: 'abort' }, caller);
  }

  /** Calls a tool over MCP with a token that was granted for it, and answers its data. */
  async tool(caller: string, workspaces: object[], name: string, args: object): Promise<any> {
    const { token } = await this.call(caller, 'rpc', 'tools/grant', { workspaces, expirationSeconds: 600 });
    this.operations += 1;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta, name, arguments: args } };
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    };
    const { value, error } = await this.#perform(post('/mcp', message, token, headers), caller);
    if (error) throw new NoAnswer(error.message);
    const { result } = JSON.parse((value as { body: string }).body);
    if (!result.isError) return result.structuredContent;
    throw this.#refusal(name, result._meta['sandbox-snapshotter/error'], 'http');
  }

  #refusal(operation: string, thrown: Thrown, way: Way): Refusal {
    this.refusals += 1;
    this.#judge.failure(thrown, operation, way);
    return new Refusal(operation, thrown);
  }

  async #perform(step: Step, caller: string): Promise<Answer> {
    try {
      return await this.#world.perform(step, caller);
    } catch (error) {
      throw new NoAnswer((error as Error).message);
    }
  }
}

function post(path: string, body: object, token = TOKEN, headers: Record<string, string> = {}): Step {
  const all = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
  return { do: 'fetch', path, init: { method: 'POST', headers: all, body: JSON.stringify(body) } };
}
