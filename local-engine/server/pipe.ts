/** Pipes for the output of programs. What Node itself gives to children are sockets, which `>/dev/stderr` cannot open. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';

/** The two output streams of a program that is about to be spawned. */
export interface Output {
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** For the `stdio` of `spawn`; to be closed here once the program has them. */
  readonly ends: [stdout: number, stderr: number];
  close(): void;
}

/** Makes a pair of pipes. */
export function openOutput(): Output {
  const paths = [`/run/${randomUUID()}`, `/run/${randomUUID()}`];
  const { status, stderr } = spawnSync('mkfifo', paths);
  if (status !== 0) throw new Error(`mkfifo: ${stderr}`);
  const [stdout, errors] = paths.map((path) => {
    // In this order, since neither end may wait for the other.
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
