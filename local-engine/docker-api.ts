/** The part of Docker's HTTP API that workerd uses to run containers. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.ts';
import type { BaseContainer } from './base-container.ts';
import { Container, type Host } from './container.ts';
import { ExecApi } from './exec-api.ts';
import type { ExecRequest } from './exec.ts';
import { Images } from './images.ts';
import { Tunnel } from './tunnel.ts';

/** The suffix of the container through which workerd reaches another one, and the port that workerd expects it to have. */
const PROXY = '-proxy';
const PROXY_PORT = '39001/tcp';

/** The fields of `POST /containers/create` that the engine uses. */
interface CreateBody {
  Image?: string;
  Labels?: Record<string, string>;
  Env?: string[];
  Entrypoint?: string[] | null;
  Cmd?: string[] | null;
}

/** All containers of an engine, and the HTTP server that lets workerd manage them. */
export class DockerApi {
  readonly server: Server;
  readonly images: Images;
  readonly #containers = new Map<string, BaseContainer>();
  readonly #execs = new ExecApi();
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
    this.images = new Images(host.folder);
    this.server = createServer((request, response) => {
      this.#handle(request).then(
        ([status, body]) => reply(response, status, body),
        (error: Error) => reply(response, statusOf(request, error), { message: error.message }),
      );
    });
    this.server.on('upgrade', (request, socket: Duplex, head) => {
      const [, id = ''] = /^\/exec\/([^/]+)\/start$/.exec(parse(request).path) ?? [];
      this.#execs.upgrade(id, request, socket, head).catch((error: Error) => {
        const body = JSON.stringify({ message: error.message });
        const status = statusOf(request, error);
        socket.end(`HTTP/1.1 ${status} Error\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      });
    });
  }

  /** Returns the running sandboxes. */
  running(): Container[] {
    return [...this.#containers.values()].filter(
      (container) => container instanceof Container && container.state === 'running',
    ) as Container[];
  }

  /** Kills all containers, and closes the server. */
  async close(): Promise<void> {
    await Promise.all([...this.#containers.values()].map((container) => container.kill()));
    this.server.close();
    this.server.closeAllConnections();
  }

  async #handle(request: IncomingMessage): Promise<[status: number, body?: unknown]> {
    const { url, path } = parse(request);
    const [, kind, name = '', action = ''] = /^\/(\w+)(?:\/(.+?))??(?:\/(\w+))?$/.exec(path) ?? [];
    switch (kind) {
      case 'containers':
        return this.#handleContainer(request, url, decodeURIComponent(name || action), name && action);
      case 'exec':
        return this.#handleExec(request, url, name, action);
      case 'images':
        request.resume();
        return [200, this.images.describe(decodeURIComponent(name))];
      case 'commit': {
        request.resume();
        const container = this.#findRunning(url.searchParams.get('container') ?? '');
        await container.announce('container.commit');
        return [201, { Id: await this.images.commit(container, url.searchParams.get('repo') ?? '') }];
      }
      default:
        return [200, engineInfo(path)];
    }
  }

  async #handleExec(
    request: IncomingMessage,
    url: URL,
    id: string,
    action: string,
  ): Promise<[status: number, body?: unknown]> {
    request.resume();
    switch (`${request.method} ${action}`) {
      case 'POST start':
        this.#execs.startDetached(id);
        return [200];
      case 'POST resize':
        this.#execs.resize(id, url.searchParams);
        return [200];
      case 'GET json':
        return [200, this.#execs.describe(id)];
      default:
        throw unsupported(request);
    }
  }

  async #handleContainer(
    request: IncomingMessage,
    url: URL,
    name: string,
    action: string,
  ): Promise<[status: number, body?: unknown]> {
    if (name === 'json') return [200, this.#list(url)];
    if (name === 'create') {
      const body = (await readJson(request)) as CreateBody;
      return [201, { Id: this.#create(url.searchParams.get('name') ?? randomUUID(), body).id, Warnings: [] }];
    }
    if (action === 'exec') {
      const body = (await readJson(request)) as ExecRequest;
      return [201, { Id: this.#execs.create(this.#findRunning(name), body) }];
    }
    request.resume();
    const container = this.#find(name);
    switch (`${request.method} ${action}`) {
      case 'GET json':
        return [200, describe(container)];
      case 'POST start':
        await container.start();
        return [204];
      case 'POST wait':
        await container.ended;
        return [200, { StatusCode: container.exitCode }];
      case 'POST stop':
      case 'POST kill': {
        if (container.state !== 'running')
          throw new ApiError(409, `Container ${container.spec.name} is not running`);
        const signal = url.searchParams.get('signal') ?? (action === 'stop' ? 'TERM' : 'KILL');
        await container.kill(/^(9|(SIG)?KILL)$/.test(signal) ? 'SIGKILL' : 'SIGTERM');
        return [204];
      }
      case 'DELETE ':
        await container.kill();
        this.#containers.delete(container.spec.name);
        return [204];
      case 'PUT archive':
        return [200, {}];
      default:
        throw unsupported(request);
    }
  }

  #create(name: string, body: CreateBody): BaseContainer {
    const { Image = '', Labels = {}, Env = [], Entrypoint, Cmd } = body;
    if (this.#containers.has(name)) throw new ApiError(409, `The container name ${name} is already in use`);
    const entrypoint = [...(Entrypoint ?? []), ...(Cmd ?? [])];
    const spec = { name, image: Image, labels: Labels, env: Env, entrypoint };
    const socket = () => {
      const target = this.#containers.get(name.slice(0, -PROXY.length));
      return target instanceof Container ? target.socket : undefined;
    };
    const container = name.endsWith(PROXY)
      ? new Tunnel(spec, socket)
      : new Container(spec, this.images.get(Image), this.#host);
    this.#containers.set(name, container);
    return container;
  }

  #find(nameOrId: string): BaseContainer {
    const container =
      this.#containers.get(nameOrId) ?? [...this.#containers.values()].find(({ id }) => id === nameOrId);
    if (!container) throw new ApiError(404, `No such container: ${nameOrId}`);
    return container;
  }

  #findRunning(nameOrId: string): Container {
    const container = this.#find(nameOrId);
    if (container instanceof Container && container.state === 'running') return container;
    throw new ApiError(409, `Container ${nameOrId} is not running`);
  }

  #list(url: URL): unknown[] {
    const { label = [] } = JSON.parse(url.searchParams.get('filters') ?? '{}') as { label?: string[] };
    return [...this.#containers.values()]
      .filter(({ spec: { labels } }) =>
        label.every(
          (filter) => filter in labels || Object.entries(labels).some((pair) => pair.join('=') === filter),
        ),
      )
      .map(({ id, state, spec }) => ({
        Id: id,
        Names: [`/${spec.name}`],
        Image: spec.image,
        Labels: spec.labels,
        State: state,
      }));
  }
}

function describe(container: BaseContainer): unknown {
  const port = container instanceof Tunnel ? container.port : undefined;
  return {
    Id: container.id,
    Name: `/${container.spec.name}`,
    Config: { Image: container.spec.image, Labels: container.spec.labels },
    State: { Status: container.state, Running: container.state === 'running', ExitCode: container.exitCode },
    NetworkSettings: {
      Ports: port ? { [PROXY_PORT]: [{ HostIp: '127.0.0.1', HostPort: String(port) }] } : {},
    },
  };
}

function parse(request: IncomingMessage): { url: URL; path: string } {
  const url = new URL(request.url ?? '/', 'http://docker');
  return { url, path: url.pathname.replace(/^\/v\d[\d.]*(?=\/)/, '') };
}

function unsupported({ method, url }: IncomingMessage): ApiError {
  return new ApiError(501, `${method} ${url} is not part of the local engine`);
}

/** Returns the status of an error, and prints an error that the engine did not expect. */
function statusOf({ url }: IncomingMessage, error: Error): number {
  if (error instanceof ApiError) return error.status;
  console.error(`local-engine: ${url}: ${error.message}`);
  return 500;
}

/** Returns the answer to a request about the engine itself. */
function engineInfo(path: string): unknown {
  const answers: Record<string, unknown> = {
    '/_ping': 'OK',
    '/version': { Version: '27.0.0', ApiVersion: '1.47', Os: 'linux' },
    '/info': { Name: 'local-engine', OSType: 'linux', SecurityOptions: [] },
    '/volumes': { Volumes: [] },
    '/networks/bridge': {
      Name: 'bridge',
      IPAM: { Config: [{ Subnet: '127.0.0.0/8', Gateway: '127.0.0.1' }] },
    },
  };
  if (!(path in answers)) throw new ApiError(404, `${path} is not part of the local engine`);
  return answers[path];
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return JSON.parse(text || '{}');
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'Content-Type': 'application/json', 'Api-Version': '1.47' });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
