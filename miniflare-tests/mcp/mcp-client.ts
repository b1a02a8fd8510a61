// Clients of /mcp for the tests: the official client, and a plain one for requests that the official client never sends.

import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';

import { TOKEN } from '../world.ts';

/** The mode of the official client's version negotiation that results in each protocol version. */
export const PROTOCOL_VERSIONS: Record<string, VersionNegotiationMode> = {
  '2025-11-25': 'legacy',
  '2026-07-28': { pin: '2026-07-28' },
};

/** The official client, connected to /mcp. */
export class McpClient implements AsyncDisposable {
  readonly client: Client;

  private constructor(mode: VersionNegotiationMode) {
    this.client = new Client({ name: 'tests', version: '1.0.0' }, { versionNegotiation: { mode } });
  }

  static async connect(url: URL, mode: VersionNegotiationMode = 'auto', token = TOKEN): Promise<McpClient> {
    const mcp = new McpClient(mode);
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await mcp.client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    return mcp;
  }

  async [Symbol.asyncDispose]() {
    await this.client.close();
  }

  /** The negotiated protocol version. */
  get version(): string | undefined {
    return this.client.getNegotiatedProtocolVersion();
  }

  /** Returns the names of the listed tools. */
  async names(): Promise<string[]> {
    return (await this.client.listTools()).tools.map(({ name }) => name);
  }

  call(name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> {
    return this.client.callTool({ name, arguments: args });
  }

  /** Calls a tool, which must succeed, and returns its data. The client validates the data with the tool's schema. */
  async data(name: string, args: Record<string, unknown> = {}): Promise<any> {
    const { isError, content, structuredContent } = await this.call(name, args);
    if (isError) throw new Error(JSON.stringify(content));
    return structuredContent;
  }
}

/** A response of /mcp. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** The message, if the response has one. */
  body: any;
}

/** A request, as changes of a valid one. Headers that are undefined are omitted. */
export interface HttpRequest {
  method?: string;
  headers?: Record<string, string | undefined>;
  body?: string;
  signal?: AbortSignal;
}

/** Sends a request. */
export async function send(url: URL, { headers, ...init }: HttpRequest): Promise<HttpAnswer> {
  const all = {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  };
  const present = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await fetch(url, { method: 'POST', headers: present, ...init });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/** Builds a request of the protocol versions up to 2025-11-25. */
export function legacyRequest(method: string, params: object = {}): HttpRequest {
  return { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) };
}

/** Builds a request of the protocol version 2026-07-28. */
export function currentRequest(
  method: string,
  params: { name?: string; [member: string]: unknown } = {},
): HttpRequest {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': params.name },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta, ...params } }),
  };
}
