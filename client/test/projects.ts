// Projects that are made for a test: compiled, run, and gone.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** This package. */
export const PACKAGE = join(ROOT, 'client');

/** What a command came to. */
interface Ran {
  status: number | null;
  output: string;
}

/** A folder with some files in it. */
export class Project implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Makes one, in a folder of its own in `where`. */
  static async make(where: string, files: Record<string, string | object>): Promise<Project> {
    const project = new Project(await mkdtemp(join(where, '.project-')));
    for (const [name, content] of Object.entries(files)) {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      await writeFile(join(project.path, name), text);
    }
    return project;
  }

  /** Runs a command in it. */
  run(command: string, args: string[]): Promise<Ran> {
    const child = spawn(command, args, { cwd: this.path, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    return new Promise((resolve, reject) => {
      child.on('error', reject).on('close', (status) => resolve({ status, output }));
    });
  }

  /** Compiles it, with the compiler of this repository. */
  compile(): Promise<Ran> {
    return this.run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', '.']);
  }

  async [Symbol.asyncDispose]() {
    await rm(this.path, { recursive: true });
  }
}
