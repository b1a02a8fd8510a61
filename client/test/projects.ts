// Temporary projects for tests.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** This package. */
export const PACKAGE = join(ROOT, 'client');

/** The result of a command. */
interface CommandResult {
  status: number | null;
  output: string;
}

/** A temporary project, which is removed on disposal. */
export class Project implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Creates a project in a new directory in `parent`. */
  static async create(parent: string, files: Record<string, string | object>): Promise<Project> {
    const project = new Project(await mkdtemp(join(parent, '.project-')));
    for (const [name, content] of Object.entries(files)) {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      await writeFile(join(project.path, name), text);
    }
    return project;
  }

  /** Runs a command in the project. */
  run(command: string, args: string[]): Promise<CommandResult> {
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

  /** Compiles the project with the compiler of this repository. */
  compile(): Promise<CommandResult> {
    return this.run(join(ROOT, 'node_modules/.bin/tsc'), ['--project', '.']);
  }

  async [Symbol.asyncDispose]() {
    await rm(this.path, { recursive: true });
  }
}
