/** The part of Docker's HTTP API that workerd uses to run containers. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { BaseContainer } from './base-container.ts';
import { Container, type Host } from './container.ts';
import { Tunnel } from './tunnel.ts';

/** The suffix of the container through which workerd reaches another one, and the port that workerd expects it to have. */
const PROXY = '-proxy';
const PROXY_PORT = '39001/tcp';

/** The fields of `POST /containers/create` that the engine uses. */
interface CreateBody {
  Image?: string;
  Labels?: Record<string, string>;
  Env?: string[];
}

class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** All containers of an engine, and the HTTP server that lets workerd manage them. */
export class DockerApi {
  readonly server: Server;
  readonly #containers = new Map<string, BaseContainer>();
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
    this.server = createServer((request, response) => {
      this.#handle(request).then(
        ([status, body]) => reply(response, status, body),
        (error: Error) => {
          if (!(error instanceof ApiError)) console.error(`local-engine: ${request.url}: ${error.message}`);
          reply(response, error instanceof ApiError ? error.status : 500, { message: error.message });
        },
      );
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
    const url = new URL(request.url ?? '/', 'http://docker');
    const path = url.pathname.replace(/^\/v\d[\d.]*(?=\/)/, '');
    const [, name, action = ''] = /^\/containers\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
    if (name === undefined) return [200, engineInfo(path)];
    if (name === 'json') return [200, this.#list(url)];
    if (name === 'create') {
      const body = (await readJson(request)) as CreateBody;
      return [201, { Id: this.#create(url.searchParams.get('name') ?? randomUUID(), body).id, Warnings: [] }];
    }
    request.resume();
    const container = this.#find(decodeURIComponent(name));
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
        throw new ApiError(501, `${request.method} ${path} is not part of the local engine`);
    }
  }

  #create(name: string, { Image = '', Labels = {}, Env = [] }: CreateBody): BaseContainer {
    if (this.#containers.has(name)) throw new ApiError(409, `The container name ${name} is already in use`);
    const spec = { name, image: Image, labels: Labels, env: Env };
    const socket = () => {
      const target = this.#containers.get(name.slice(0, -PROXY.length));
      return target instanceof Container && target.state === 'running' ? target.socket : undefined;
    };
    const container = name.endsWith(PROXY) ? new Tunnel(spec, socket) : new Container(spec, this.#host);
    this.#containers.set(name, container);
    return container;
  }

  #find(nameOrId: string): BaseContainer {
    const container =
      this.#containers.get(nameOrId) ?? [...this.#containers.values()].find(({ id }) => id === nameOrId);
    if (!container) throw new ApiError(404, `No such container: ${nameOrId}`);
    return container;
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

/** Returns the answer to a request about the engine itself. Every image exists: sandboxes use the programs of the machine. */
function engineInfo(path: string): unknown {
  if (path.startsWith('/images/')) return { Id: `sha256:${'0'.repeat(64)}`, RepoTags: [], Config: {} };
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
