// The callers: Durable Objects of an application, over the service binding and over HTTP, and language models with tools.

import { TOKEN, type World } from '../miniflare-tests/world.ts';
import type { Answer, Step, Thrown } from '../miniflare-tests/caller/steps.ts';
import type { Violations } from './violations.ts';

/** The transport of a call. */
export type Transport = 'rpc' | 'http';

/** An error that the snapshotter returned. */
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

/** A call without an answer. Its outcome is unknown. */
export class NoAnswer extends Error {}

/** Makes calls, and checks every error. */
export class Callers {
  readonly #world: World;
  readonly #violations: Violations;
  /** The number of called operations. */
  operations = 0;
  /** The number of calls that failed with an error of the snapshotter. */
  refusals = 0;

  constructor(world: World, violations: Violations) {
    this.#world = world;
    this.#violations = violations;
  }

  /**
   * Calls an operation as the Durable Object `caller`. Throws {@link Refusal} or {@link NoAnswer}. With `signal`, {@link abort}
   * cancels the call.
   */
  async call(
    caller: string,
    transport: Transport,
    operation: string,
    options: object,
    signal = false,
  ): Promise<any> {
    this.operations += 1;
    const step: Step =
      transport === 'rpc'
        ? { do: 'rpc', method: operation, options, signal }
        : post(`/v1/${operation}`, options);
    const { value, error } = await this.#runStep(step, caller);
    if (error) throw this.#refusal(operation, error, transport);
    if (transport === 'rpc') return value;
    const { status, body } = value as { status: number; body: string };
    const answer: unknown = JSON.parse(body);
    if (status !== 200) throw this.#refusal(operation, answer as Thrown, transport);
    return answer;
  }

  /** Fires the AbortSignal of a Durable Object's calls with `signal`. */
  async abort(caller: string) {
    await this.#runStep({ do: 'abort' }, caller);
  }

  /** Calls a tool over MCP with a granted token, and returns its structured content. */
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
    const { value, error } = await this.#runStep(post('/mcp', message, token, headers), caller);
    if (error) throw new NoAnswer(error.message);
    const { result } = JSON.parse((value as { body: string }).body);
    if (!result.isError) return result.structuredContent;
    throw this.#refusal(name, result._meta['sandbox-snapshotter/error'], 'http');
  }

  #refusal(operation: string, thrown: Thrown, transport: Transport): Refusal {
    this.refusals += 1;
    this.#violations.checkError(thrown, operation, transport);
    return new Refusal(operation, thrown);
  }

  async #runStep(step: Step, caller: string): Promise<Answer> {
    try {
      return await this.#world.runStep(step, caller);
    } catch (error) {
      throw new NoAnswer((error as Error).message);
    }
  }
}

function post(path: string, body: object, token = TOKEN, headers: Record<string, string> = {}): Step {
  const all = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers };
  return { do: 'fetch', path, init: { method: 'POST', headers: all, body: JSON.stringify(body) } };
}
