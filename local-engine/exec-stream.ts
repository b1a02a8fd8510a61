/** The connection of an exec: raw input from workerd, and the output in frames of Docker's format. */
import { Transform, type Duplex } from 'node:stream';
import type { Started } from './exec.ts';

const STDOUT = 1;
const STDERR = 2;
const HEADER_BYTES = 8;

/** Returns the header of a chunk: the number of its stream, and its length. */
function header(stream: number, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt8(stream, 0);
  bytes.writeUInt32BE(length, 4);
  return bytes;
}

/** Returns a stream that puts a header in front of each chunk. Each frame is one write, so that no other output divides it. */
function framed(stream: number): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, Buffer.concat([header(stream, chunk.length), chunk]));
    },
  });
}

/** Ends the connection of a command that was not started, with a message as its error output. */
export function endFailed(socket: Duplex, message: string): void {
  const bytes = Buffer.from(`${message}\n`);
  socket.on('error', () => {}).resume();
  socket.write(header(STDERR, bytes.length));
  socket.end(bytes);
}

/** Reads the JSON body of a request after its upgrade. Returns the body, and the input that came with it. */
export async function readUpgradeBody(
  socket: Duplex,
  head: Buffer,
  length: number,
): Promise<[body: unknown, input: Buffer]> {
  let bytes = head;
  while (bytes.length < length) {
    const chunk = socket.read() as Buffer | null;
    if (chunk !== null) bytes = Buffer.concat([bytes, chunk]);
    else await new Promise((resolve) => socket.once('readable', resolve));
  }
  return [JSON.parse(bytes.toString('utf8', 0, length) || '{}'), bytes.subarray(length)];
}

/** Connects a process with workerd. Ends the connection when the process has ended and no process has its output open. */
export function connectExec({ child, output }: Started, socket: Duplex, input: Buffer, tty: boolean): void {
  socket.on('error', () => {});
  const { stdin } = child;
  if (stdin) {
    stdin.on('error', () => {}); // The process may end before its input does.
    if (input.length > 0) stdin.write(input);
    socket.pipe(stdin);
  } else {
    socket.resume();
  }
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
  const outputs = output
    ? ([
        [output.stdout, STDOUT],
        [output.stderr, STDERR],
      ] as const)
    : [];
  const written = outputs.map(([stream, number]) => {
    const frames = tty ? stream : stream.pipe(framed(number));
    frames.pipe(socket, { end: false });
    // Without a reader, the process must not block.
    socket.once('close', () => stream.unpipe().resume());
    return new Promise((resolve) => frames.once('end', resolve));
  });
  void Promise.all([ended, ...written]).then(() => socket.end());
}
