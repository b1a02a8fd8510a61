/**
 * The container server: accepts the calls of the Sandbox class, inside each sandbox. Replaces the server of the published
 * container image, for the rpc transport only.
 *
 *     main.ts ── rpc.ts ──┬── sessions.ts (commands, utils) ── shell.ts: a session's bash
 *                         ├── files.ts
 *                         ├── backup.ts
 *                         └── processes.ts (processes, git)      all use run.ts, events.ts, errors.ts
 */
import { createServer } from 'node:http';
import { newWebSocketRpcSession } from 'capnweb';
import { WebSocketServer } from 'ws';
import { backup } from './backup.ts';
import { SandboxError } from './errors.ts';
import { files } from './files.ts';
import { git, processes } from './processes.ts';
import { missing, serve } from './rpc.ts';
import { commands, Sessions, utils } from './sessions.ts';

/** The version of @cloudflare/sandbox whose container this server replaces. */
const VERSION = '0.12.10';
const SOCKET = '/opt/local-engine/io/s';

type Message = 'stop' | { call: number; error?: string };

// NODE_EXTRA_CA_CERTS is for this server's own uploads.
const {
  LOCAL_ENGINE_ENV = '[]',
  LOCAL_ENGINE_ASK,
  LOCAL_ENGINE_HIDDEN: _hidden,
  NODE_EXTRA_CA_CERTS: _,
  ...env
} = process.env;
env['SANDBOX_VERSION'] = VERSION; // As in the image.
for (const pair of JSON.parse(LOCAL_ENGINE_ENV) as string[]) {
  const at = pair.indexOf('=');
  if (at > 0) env[pair.slice(0, at)] = pair.slice(at + 1);
}

/** The calls that wait for the engine's `onCall`. */
const pendingCalls = new Map<number, (error?: string) => void>();
let lastCall = 0;

process.on('message', (message: Message) => {
  if (message === 'stop') process.exit(0);
  pendingCalls.get(message.call)?.(message.error);
  pendingCalls.delete(message.call);
});
process.on('disconnect', () => process.exit(0));

function awaitEngine(method: string, [command]: unknown[]): Promise<void> | undefined {
  if (LOCAL_ENGINE_ASK === undefined) return undefined;
  const hasCommand = method.startsWith('commands.') || method === 'processes.startProcess';
  const call = ++lastCall;
  return new Promise((resolve, reject) => {
    pendingCalls.set(call, (error) => {
      if (error === undefined) resolve();
      else reject(new SandboxError('INTERNAL_ERROR', error));
    });
    process.send?.({ call, method, ...(hasCommand && { command }) });
  });
}

const sessions = new Sessions(env);
const api = serve(
  {
    commands: commands(sessions),
    files: files(sessions),
    backup: backup(sessions),
    processes: processes(sessions),
    git: git(sessions),
    utils: utils(sessions, VERSION, env['CLOUDFLARE_PLACEMENT_ID'] ?? ''),
    ports: missing('ports', ['watchPort']),
    watch: missing('watch', ['watch', 'checkChanges']),
    interpreter: missing('interpreter', [
      'createCodeContext',
      'streamCode',
      'runCodeStream',
      'listCodeContexts',
      'deleteCodeContext',
    ]),
    tunnels: missing('tunnels', ['ensureTunnelRun', 'stopTunnelRun', 'listTunnels', 'destroyTunnel']),
  },
  awaitEngine,
);

const server = createServer((_request, response) => void response.end('{"status":"ok"}'));
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 2 ** 30 });
server.on('upgrade', (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (opened) => {
    newWebSocketRpcSession(opened as unknown as WebSocket, api);
  });
});
server.listen(SOCKET, () => process.send?.('ready'));
