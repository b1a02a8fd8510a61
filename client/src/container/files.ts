/** The files of a container, by commands that read and write them. */

import { decode, sh } from './process.ts';

/** Runs a program without a shell, with a path as its last argument. Returns its output, and fails where the program does. */
export type RunOnFile = (argv: string[], path: string, stdin?: ReadableStream) => Promise<ArrayBuffer>;

export class Files {
  readonly #run: RunOnFile;

  constructor(run: RunOnFile) {
    this.#run = run;
  }

  async writeFile(path: string, content: string | ReadableStream) {
    const stream = typeof content === 'string' ? new Blob([content]).stream() : content;
    await this.#run(sh('cat >"$1"'), path, stream);
    return { success: true as const, path };
  }

  async readFile(path: string) {
    const content = decode(await this.#run(['cat', '--'], path));
    return { success: true as const, path, content };
  }

  async exists(path: string) {
    const { byteLength } = await this.#run(sh('if [ -e "$1" ]; then echo 1; fi'), path);
    return { success: true as const, path, exists: byteLength > 0 };
  }

  async mkdir(path: string, { recursive = false } = {}) {
    await this.#run(['mkdir', ...(recursive ? ['-p'] : []), '--'], path);
    return { success: true as const, path };
  }

  async deleteFile(path: string) {
    await this.#run(['rm', '--'], path);
    return { success: true as const, path };
  }
}
