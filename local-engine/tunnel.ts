/**
 * The connection from workerd to a container. In Docker it is a second container, NAME-proxy, which shares the network of
 * the container NAME and publishes a port. Here it is only the port, connected to the Unix socket of the sandbox.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { BaseContainer, type Spec } from './base-container.ts';

/** The port of the Sandbox class's control server. No other port of a sandbox is reachable from outside. */
const CONTROL_PORT = 3000;

/** A tunnel, as an entry in the list of containers. */
export class Tunnel extends BaseContainer {
  readonly #socket: () => string | undefined;
  // workerd sets the target of outgoing requests (PUT /egress) and reads a certificate authority (GET /ca). Sandboxes here
  // use the host's network, so neither has an effect.
  readonly #server = createServer((request, response) => {
    request.resume();
    response.end(request.url === '/ca' ? '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n' : '');
  });

  /** `socket` returns the path of the sandbox's socket at the time of a connection. */
  constructor(spec: Spec, socket: () => string | undefined) {
    super(spec);
    this.#socket = socket;
    this.#server.on('connect', (request, client, head) => this.#connect(request, client, head));
  }

  /** The port of the host on which the tunnel listens. */
  get port(): number | undefined {
    return (this.#server.address() as AddressInfo | null)?.port;
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.state = 'running';
  }

  async kill(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    this.state = 'exited';
    this.end();
  }

  #connect(request: IncomingMessage, client: Duplex, head: Buffer): void {
    client.on('error', () => {});
    const port = Number(/:(\d+)$/.exec(String(request.headers['x-dst-addr']))?.[1]);
    const path = port === CONTROL_PORT ? this.#socket() : undefined;
    const refuse = () => client.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
    if (path === undefined) return void refuse();
    const upstream = connect({ path, allowHalfOpen: true });
    upstream.once('error', refuse);
    upstream.once('connect', () => {
      upstream.off('error', refuse).on('error', () => client.destroy());
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.end());
  }
}
