// Who talks to /mcp in the tests: the official client, and whoever sends what that never would.

import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';

import { TOKEN } from '../world.ts';

/** How the official client is told which era of the protocol to use, by the version that comes of it. */
export const ERAS: Record<string, VersionNegotiationMode> = {
  '2025-11-25': 'legacy',
  '2026-07-28': { pin: '2026-07-28' },
};

/** The official client, connected. */
export class Peer implements AsyncDisposable {
  readonly client: Client;

  private constructor(mode: VersionNegotiationMode) {
    this.client = new Client({ name: 'tests', version: '1.0.0' }, { versionNegotiation: { mode } });
  }

  static async connect(url: URL, mode: VersionNegotiationMode = 'auto', token = TOKEN): Promise<Peer> {
    const peer = new Peer(mode);
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await peer.client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    return peer;
  }

  async [Symbol.asyncDispose]() {
    await this.client.close();
  }

  /** The version that both sides have agreed on. */
  get version(): string | undefined {
    return this.client.getNegotiatedProtocolVersion();
  }

  /** The names of the tools that it is offered. */
  async names(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  call(name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> {
    return this.client.callTool({ name, arguments: args });
  }

  /** Calls a tool that succeeds, and answers its data. The client has compared that with the tool's schema. */
  async data(name: string, args: Record<string, unknown> = {}): Promise<any> {
    const { isError, content, structuredContent } = await this.call(name, args);
    if (isError) throw new Error(JSON.stringify(content));
    return structuredContent;
  }
}

/** An answer of /mcp. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** The message, where there is one. */
  body: any;
}

/** A request, and how it differs from one that is right. What is undefined is left out. */
export interface Sent {
  method?: string;
  headers?: Record<string, string | undefined>;
  body?: string;
  signal?: AbortSignal;
}

/** Sends what is given. */
export async function send(url: URL, { headers, ...init }: Sent): Promise<HttpAnswer> {
  const all = {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  };
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, { method: 'POST', headers: given, ...init });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/** A request of the era up to 2025-11-25. */
export function before(method: string, params: object = {}): Sent {
  return { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) };
}

/** A request of 2026-07-28. */
export function now(method: string, params: { name?: string; [member: string]: unknown } = {}): Sent {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': params.name },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta, ...params } }),
  };
}
