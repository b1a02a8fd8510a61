/** The output of a command while it runs: server-sent events, as `execStream` of the Sandbox SDK 0.12 returns them. */
import type { ExecOptions } from './process.ts';
import { limited, open, sh } from './process.ts';

/** The options of `execStream`. */
export interface StreamOptions extends ExecOptions {
  /** The `lastChange` of the state of the container. In another container, the call fails. Without it: the one that runs, or a new one. */
  expectedLastChange?: number;
}

/** An event: a part of an output as text, the end, or the failure of the call. */
type Event =
  | { type: 'start'; command: string }
  | { type: 'stdout' | 'stderr'; data: string }
  | { type: 'complete'; exitCode: number }
  | { type: 'error'; error: string };

/** Starts a command, and returns the stream of its events. `ended` is called when it has ended, or when the stream is closed. */
export async function streamCommand(
  container: Container,
  command: string,
  shell: string,
  { cwd = '/', env = {}, timeout }: ExecOptions,
  ended: () => void,
): Promise<ReadableStream<Uint8Array>> {
  // `pkill -f` in the command would find the command in the arguments of `timeout`.
  const argv = sh(`cd -- "$1" || exit 126; set -- "$(cat)"; exec </dev/null; ${shell}`, cwd);
  const stdin = new Response(command).body;
  const process = await open(container, limited(argv, timeout), { env, stdin } as ContainerExecOptions);
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const send = (event: Event) => writer.write(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
  const forward = async (type: 'stdout' | 'stderr') => {
    const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
    for await (const bytes of process[type] as ReadableStream<Uint8Array>) {
      const data = decoder.decode(bytes, { stream: true });
      if (data) await send({ type, data });
    }
  };
  const work = async () => {
    await send({ type: 'start', command });
    await Promise.all([forward('stdout'), forward('stderr')]);
    await send({ type: 'complete', exitCode: await process.exitCode });
  };
  void work()
    .catch((thrown: unknown) => send({ type: 'error', error: String(thrown) }))
    .then(() => writer.close())
    .catch(() => {}) // The stream is closed.
    .finally(ended);
  return readable;
}
