/** The Worker of the container tests: a Durable Object that uses `ctx.container`, as an application's own class does. */
import { DurableObject } from 'cloudflare:workers';

interface Env {
  Box: DurableObjectNamespace<Box>;
}

/** The result of a command. */
export interface Ran {
  exitCode: number;
  stdout: string;
  stderr: string;
}

const decode = (bytes: ArrayBuffer) => new TextDecoder().decode(bytes);

export class Box extends DurableObject<Env> {
  #container = this.ctx.container!;

  start(options?: ContainerStartupOptions): boolean {
    this.#container.start(options);
    return this.#container.running;
  }

  async run(argv: string[], options?: ContainerExecOptions): Promise<Ran> {
    const process = await this.#container.exec(argv, options);
    const { exitCode, stdout, stderr } = await process.output();
    return { exitCode, stdout: decode(stdout), stderr: decode(stderr) };
  }

  /** Returns the number of bytes of the output, read as a stream, and the exit code. */
  async count(argv: string[]): Promise<[bytes: number, exitCode: number]> {
    const process = await this.#container.exec(argv);
    let bytes = 0;
    for await (const chunk of process.stdout as ReadableStream<Uint8Array>) bytes += chunk.byteLength;
    return [bytes, await process.exitCode];
  }

  /** Passes a stream of zeros to a command. */
  async feed(argv: string[], bytes: number): Promise<Ran> {
    const stdin = new Blob([new Uint8Array(bytes)]).stream();
    return this.run(argv, { stdin } as ContainerExecOptions);
  }

  /** Aborts a command with a signal of its own, or sends it a signal. Returns its exit code. */
  async interrupt(argv: string[], by: 'abort' | number): Promise<number> {
    const abort = new AbortController();
    const process = await this.#container.exec(argv, { signal: abort.signal });
    setTimeout(() => (by === 'abort' ? abort.abort() : process.kill(by)), 200);
    return process.exitCode;
  }

  /** Runs a command with a terminal, whose size changes. */
  async terminal(argv: string[]): Promise<string> {
    const process = await this.#container.exec(argv, { pty: { cols: 100, rows: 30 } });
    setTimeout(() => process.resize(50, 20), 500);
    return decode((await process.output()).stdout);
  }

  /** Waits for the end of the container. Returns the exit code with which the wait failed. */
  async monitor(): Promise<{ exitCode?: number; message: string } | null> {
    return this.#container.monitor().then(
      () => null,
      (error: Error & { exitCode?: number }) => ({
        message: error.message,
        ...(error.exitCode !== undefined && { exitCode: error.exitCode }),
      }),
    );
  }

  async destroy(): Promise<Awaited<ReturnType<Box['monitor']>>> {
    const ended = this.monitor();
    await this.#container.destroy();
    return ended;
  }

  async signal(number: number): Promise<Awaited<ReturnType<Box['monitor']>>> {
    const ended = this.monitor();
    this.#container.signal(number);
    return ended;
  }

  /** Returns the id of the Durable Object, in hex. */
  objectId(): string {
    return this.ctx.id.toString();
  }

  inspect(): Promise<ContainerInfo | null> {
    return this.#container.inspect();
  }

  snapshot(name?: string): Promise<ContainerSnapshot> {
    return this.#container.snapshotContainer(name === undefined ? {} : { name });
  }

  running(): boolean {
    return this.#container.running;
  }
}

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [name, method, args] = (await request.json()) as [string, string, unknown[]];
    try {
      return Response.json({
        result: await (env.Box.getByName(name) as unknown as Methods)[method]!(...args),
      });
    } catch (error) {
      return Response.json({ error: (error as Error).message });
    }
  },
};
