// A container with files, by plain calls of `ctx.container` and a program: the baseline of starts in the column `container`. It
// checks nothing: neither the archive, nor the free space, nor the container, nor the platform snapshot.

import { DurableObject } from 'cloudflare:workers';

const ARCHIVE = '/var/backups/archive';

export class RawContainer extends DurableObject<{ BACKUP_BUCKET: R2Bucket }> {
  /** Starts the container from its image, and waits for it. */
  async start(): Promise<void> {
    this.#start({ image: this.ctx.container!.images['base'] });
    await this.run(['true']);
  }

  /** Starts the container from its image, and unpacks an archive of squashfs from the bucket into `/workspace`. */
  async restore(key: string): Promise<void> {
    this.#start({ image: this.ctx.container!.images['base'] });
    const archive = await this.env.BACKUP_BUCKET.get(key);
    await this.run(['/bin/sh', '-c', `cat >${ARCHIVE}`], archive!.body);
    await this.run(['unsquashfs', '-f', '-no-progress', '-d', '/workspace', ARCHIVE]);
    await this.run(['rm', ARCHIVE]);
  }

  /** Starts the container from a platform snapshot. */
  async startFrom(id: string): Promise<void> {
    this.#start({ containerSnapshot: { id } });
    await this.run(['true']);
  }

  /** Takes a platform snapshot, and returns its id. */
  async snapshot(): Promise<string> {
    return (await this.ctx.container!.snapshotContainer({})).id;
  }

  #start(source: object) {
    this.ctx.container!.start({ ...source, enableInternet: true } as ContainerStartupOptions);
  }

  /** Runs a program, and returns its output. Throws if it fails. */
  async run(argv: string[], stdin?: ReadableStream): Promise<string> {
    const process = await this.ctx.container!.exec(argv, { ...(stdin && { stdin }) });
    const { exitCode, stdout, stderr } = await process.output();
    if (exitCode !== 0) throw new Error(`${argv[0]}: ${new TextDecoder().decode(stderr)}`);
    return new TextDecoder().decode(stdout);
  }

  destroy(): Promise<void> {
    return this.ctx.container!.destroy();
  }
}
