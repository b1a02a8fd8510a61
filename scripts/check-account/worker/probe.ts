// A container of the platform, through the calls that the client's class makes and nothing else.

import { DurableObject } from 'cloudflare:workers';

import type { Monitored, Ran } from './answers.ts';

export class Probe extends DurableObject {
  get #container(): Container {
    return this.ctx.container as Container;
  }

  /** Starts the container, from a snapshot or from its image. Returns whether it counts as running at once, or the error. */
  async start(options: ContainerStartupOptions): Promise<boolean | string> {
    const { base } = this.#container.images;
    const image = options.containerSnapshot || base === undefined ? {} : { image: base };
    try {
      this.#container.start({ ...options, ...image } as ContainerStartupOptions);
      return this.#container.running;
    } catch (error) {
      return String(error);
    }
  }

  async exec(argv: string[]): Promise<Ran> {
    try {
      const { exitCode, stdout } = await (await this.#container.exec(argv)).output();
      return { exitCode, stdout: new TextDecoder().decode(stdout) };
    } catch (error) {
      return { error: String(error) };
    }
  }

  async running(): Promise<boolean> {
    return this.#container.running;
  }

  async inspect(): Promise<unknown> {
    return this.#container.inspect();
  }

  async snapshot(): Promise<{ id: string; size: number }> {
    const { id, size } = await this.#container.snapshotContainer({});
    return { id, size };
  }

  async limitInactivity(milliseconds: number): Promise<void> {
    await this.#container.setInactivityTimeout(milliseconds);
  }

  /** Ends the container, and returns how `monitor()` ended. */
  async end(): Promise<Monitored | 'not running'> {
    if (!this.#container.running) return 'not running';
    const monitored = this.#container.monitor().then(
      () => 'resolved' as const,
      () => 'rejected' as const,
    );
    await this.#container.destroy();
    const timeout = scheduler.wait(10_000).then(() => 'pending' as const);
    return Promise.race([monitored, timeout]);
  }
}
