/** Pipes for the output of programs. Node gives sockets to children, which `>/dev/stderr` cannot open. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';

/** The two output streams of a program that is about to be spawned. */
export interface Output {
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** For the `stdio` of `spawn`. Call {@link close} after the spawn. */
  readonly ends: [stdout: number, stderr: number];
  close(): void;
}

/** Makes a pair of pipes. Their names are in a folder until this returns. */
export function openOutput(folder = '/run'): Output {
  const paths = [`${folder}/${randomUUID()}`, `${folder}/${randomUUID()}`];
  const { status, stderr } = spawnSync('mkfifo', paths);
  if (status !== 0) throw new Error(`mkfifo: ${stderr}`);
  const [stdout, errors] = paths.map((path) => {
    // The order matters: opening the write end first would block.
    const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const write = openSync(path, constants.O_WRONLY);
    unlinkSync(path);
    return { socket: new Socket({ fd: read, readable: true, writable: false }), write };
  });
  const ends: Output['ends'] = [stdout!.write, errors!.write];
  return {
    stdout: stdout!.socket,
    stderr: errors!.socket,
    ends,
    close: () => ends.forEach((end) => closeSync(end)),
  };
}
